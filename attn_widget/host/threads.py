"""Threads: of our own, where the interpreter has them, one for numpy's linear algebra, and as many of torch's as the work can feed.

A browser's kernel (Pyodide) has none: work is then done by the one who asks for it. BLAS splits products that are too small for it, and its threads then wait for each other by spinning: for a
head of 512 tokens that costs four times the processor time, and more as soon as something else runs. `activity` lets background work wait until no run is active.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakSet

from threadpoolctl import ThreadpoolController

HAS_THREADS = sys.platform != "emscripten"
_lock = threading.Lock()
_asking: list[Any] = []  # one for each that is inside; the first holds what was before
_counting: list[int] = []  # the same, of torch
_here = threading.local()  # how deep this thread is
ending = threading.Event()  # the process ends: work in the background is to end at its next step
_working: WeakSet[threading.Thread] = WeakSet()  # threads that run a model
LEAVE_S = 3.0  # until the process ends all the same; Jupyter gives a kernel five seconds
CHECK_S = 0.1  # between two looks whether the kernel is idle
SPLIT = 32_768  # numbers that torch gives one thread before it wakes another (ATen's GRAIN_SIZE)


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Hold numpy's BLAS to one thread; the limit is the process's, and goes with the last that asked.

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


@contextmanager
def torch_threads() -> Generator[Callable[[int], None]]:
    """Choose torch's threads by the work: what is yielded takes the numbers in a hidden state, and is called before each pass.

    Threads that wait for each other spin. On a short text that gains nothing, and next to other work it costs several
    times the seconds. Never more threads than there were, which are back at the end; where the environment sets
    their number (``OMP_NUM_THREADS``, ``MKL_NUM_THREADS``), it stays.

    >>> import torch
    >>> before = torch.get_num_threads()
    >>> with torch_threads() as choose:
    ...     choose(20 * 384)
    ...     print(torch.get_num_threads())
    1
    >>> torch.get_num_threads() == before
    True
    """
    if "OMP_NUM_THREADS" in os.environ or "MKL_NUM_THREADS" in os.environ:
        yield lambda _values: None
        return
    import torch

    with _lock:  # a thread that begins takes over what another has chosen for the time being
        _counting.append(_counting[0] if _counting else torch.get_num_threads())
        most, before = _counting[0], torch.get_num_threads()
    _here.deep = deep = getattr(_here, "deep", 0) + 1

    def choose(values: int) -> None:
        threads = min(most, -(-values // SPLIT))
        if threads != torch.get_num_threads():
            torch.set_num_threads(threads)

    try:
        yield choose
    finally:
        _here.deep = deep - 1
        with _lock:
            _counting.pop()
            torch.set_num_threads(before if deep > 1 else most)


def in_background(
    work: Callable[..., None], *args: Any, name: str, waits: bool = False
) -> threading.Thread | None:
    """Do ``work`` on a daemon thread; at once, and with None as the thread, where there are none.

    ``waits``: the end of the process waits for it, as of work that runs a model and looks at `ending` between its steps: a thread that
    comes back from torch's code once the interpreter has gone aborts the process.
    """
    if not HAS_THREADS:
        work(*args)
        return None
    thread = threading.Thread(target=work, args=args, name=name, daemon=True)
    if waits:
        _working.add(thread)
    thread.start()
    return thread


@atexit.register
def _end_work() -> None:
    ending.set()
    until = time.monotonic() + LEAVE_S
    for thread in [*_working]:
        thread.join(max(0.0, until - time.monotonic()))


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
