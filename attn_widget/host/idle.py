"""Idle detection: defers background work until no run is active."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

CHECK_S = 0.1


class KernelActivity:
    """Counts the active runs of all threads.

    >>> activity = KernelActivity()
    >>> with activity.busy():
    ...     activity.wait_until_idle(0.0, at_most=0.05)
    False
    >>> activity.wait_until_idle(0.0, at_most=60)
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs = 0
        self._ended = time.monotonic()

    @contextmanager
    def busy(self) -> Generator[None]:
        """Counts as an active run."""
        with self._lock:
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                self._ended = time.monotonic()

    def wait_until_idle(self, seconds: float, *, at_most: float) -> bool:
        """Block until no run was active for ``seconds``; False if that takes longer than ``at_most`` seconds."""
        until = time.monotonic() + at_most
        while True:
            with self._lock:
                since = 0.0 if self._runs else time.monotonic() - self._ended
                if not self._runs and since >= seconds:
                    return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, CHECK_S))


activity = KernelActivity()
