"""One thread for numpy's linear algebra, while many small matrices are at work.

BLAS splits products that are too small for it, and its threads then wait for each other by spinning: for a
head of 512 tokens that costs four times the processor time, and more as soon as something else runs.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_asking: list[
    threadpool_limits
] = []  # one for each that is inside; the first holds what was before


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Hold numpy's BLAS to one thread; the limit is the process's, and goes with the last that asked.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_blas_thread():
    ...     {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    {1}
    """
    with _lock:
        _asking.append(_asking[0] if _asking else threadpool_limits(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limits = _asking.pop()
            if not _asking:
                limits.restore_original_limits()
