"""Threads: of our own, where the interpreter has them, and one for numpy's linear algebra.

A browser's kernel (Pyodide) has none: work is then done by the one who asks for it. BLAS splits products that are too small for it, and its threads then wait for each other by spinning: for a
head of 512 tokens that costs four times the processor time, and more as soon as something else runs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

HAS_THREADS = sys.platform != "emscripten"
_lock = threading.Lock()
_asking: list[Any] = []  # one for each that is inside; the first holds what was before


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
        _asking.append(_asking[0] if _asking else _blas().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limits = _asking.pop()
            if not _asking:
                limits.restore_original_limits()


def in_background(work: Callable[..., None], *args: Any, name: str) -> threading.Thread | None:
    """Do ``work`` on a daemon thread; at once, and with None as the thread, where there are none."""
    if not HAS_THREADS:
        work(*args)
        return None
    thread = threading.Thread(target=work, args=args, name=name, daemon=True)
    thread.start()
    return thread


def pool(workers: int) -> Executor:
    """An executor with so many threads, or without any where there are none."""
    return ThreadPoolExecutor(workers) if HAS_THREADS else _AtOnce()


class _AtOnce(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@cache
def _blas() -> ThreadpoolController:
    """The libraries that are loaded, numpy's among them; to look for them takes longer than a small product."""
    import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]  # so that its BLAS is among them

    return ThreadpoolController()
