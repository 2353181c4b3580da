"""One thread for the runs that the page starts: the latest one wins."""

from __future__ import annotations

import threading
from collections.abc import Callable

from attn_widget.host.threads import in_background


class LatestWorker:
    """Does one piece of work at a time; work that waits is replaced by what is given after it.

    Its thread starts with the first work and ends when none is left.

    >>> done = threading.Event()
    >>> LatestWorker("example").start(done.set)
    >>> done.wait(10)
    True
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._next: Callable[[], None] | None = None
        self._is_working = False

    def start(self, work: Callable[[], None]) -> None:
        """Do ``work``, which raises nothing, after the work that is being done."""
        with self._lock:
            self._next = work
            if self._is_working:
                return
            self._is_working = True
        in_background(self._run, name=self._name)

    def _run(self) -> None:
        while True:
            with self._lock:
                work, self._next = self._next, None
                if work is None:
                    self._is_working = False
                    return
            work()
            del work  # what it holds may be a run's tensors
