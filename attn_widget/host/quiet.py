"""When nobody waits for a run: the time for work that can be done later."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

CHECK_S = 0.1


class Quiet:
    """Counts the runs in hand, of all threads.

    Examples
    --------
    >>> quiet = Quiet()
    >>> with quiet.broken():
    ...     quiet.wait(0.0, at_most=0.05)
    False
    >>> quiet.wait(0.0, at_most=60)
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs = 0
        self._ended = time.monotonic()

    @contextmanager
    def broken(self) -> Generator[None]:
        """Somebody waits for what is done in here."""
        with self._lock:
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                self._ended = time.monotonic()

    def wait(self, seconds: float, *, at_most: float) -> bool:
        """Until it has been quiet for ``seconds``; False where that did not come ``at_most`` seconds from now."""
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


quiet = Quiet()
