"""A connection to Ray: the one that is there, a cluster by its address, or one on this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import InputError

WAIT_S = 5.0  # for a port to answer, before Ray itself waits for a minute

STARTS = 5


@contextmanager
def connected(address: str | None, processors: int | None) -> Generator[None]:
    """Ray for the time being; one that the caller has started goes on afterwards.

    ``address``: ``"auto"``, ``"host:6379"``, ``"ray://host:10001"``; None: this machine. ``processors``: least
    number of them on this machine; more where it has more.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would be sent over the network
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    if address is not None:
        check_address(address)
    ours = not ray.is_initialized()
    if ours:
        options: dict[str, Any] = {"address": address}
        if address is None:
            n_cores = (
                len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
            )
            options = {
                "num_cpus": max(processors or 1, n_cores or 1),
                "include_dashboard": False,
                "address": "local",
            }
        try:
            start_ray(options)
        except Exception as error:
            raise InputError(
                f"Ray did not start ({type(error).__name__}: {first_line(error)}).",
                "Check the address; without one Ray runs on this machine."
                if address
                else "Try ray.init() on its own.",
            ) from error
    context = ray.data.DataContext.get_current()
    bars, size = context.enable_progress_bars, context.target_max_block_size
    log = logging.getLogger("ray.data")
    level = log.level
    context.enable_progress_bars = False
    # A block for each chunk: the chunks of one file go to all workers, each as soon as it is read.
    context.target_max_block_size = 1
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars, context.target_max_block_size = bars, size
        log.setLevel(level)
        if ours:
            ray.shutdown()


def start_ray(options: dict[str, Any]) -> None:
    """`ray.init`, again where a busy machine took longer than the 30 s that Ray waits for itself."""
    import psutil  # comes with Ray
    import ray

    before = _processes()
    for left in reversed(range(STARTS)):
        try:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            ray.shutdown()
            for process in _processes() - before:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            if not left or "timed out during startup" not in str(error):
                raise
        else:
            return


def _processes() -> set[Any]:
    """Ray's own processes that this one has started: a start that failed leaves them running."""
    import psutil
    import ray

    home = str(Path(ray.__file__).parent)
    found: set[Any] = set()
    for process in psutil.Process().children():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if any(home in part for part in process.cmdline()):
                found.add(process)
    return found


def check_address(address: str) -> None:
    """Raise an InputError when no port answers there."""
    bare = address.removeprefix("ray://")
    if bare in ("auto", "local"):
        return
    host, _, port = bare.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(
            f"address is {address!r}.", "Give 'auto', 'host:6379' or 'ray://host:10001'."
        )
    try:
        with socket.create_connection((host, int(port)), timeout=WAIT_S):
            pass
    except (OSError, OverflowError) as error:
        raise InputError(
            f"No cluster answers at {address!r} ({first_line(error)}).",
            "Start one with `ray up` or `ray start --head`, or leave address out.",
        ) from error
