"""Memory that is free, and work that would not fit into it: refused before it is tried."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from attn_widget.errors import NotEnoughMemoryError

SPARED = 0.95  # of the free memory that one piece of work may take
GIGABYTE = 1e9
CGROUPS = (  # limit and use of this process's group: version 2 and version 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def free_bytes() -> int | None:
    """Bytes that this process can still take; None where the system does not tell (macOS, Windows).

    >>> free = free_bytes()
    >>> free is None or free > 0
    True
    """
    limits: list[int] = []
    for line in read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            limits.append(int(line.split()[1]) * 1024)
    for limit, used in CGROUPS:
        most, now = read(limit).strip(), read(used).strip()
        if most.isdigit() and now.isdigit():
            limits.append(max(int(most) - int(now), 0))
    address_space = _address_space()
    if address_space is not None:
        limits.append(address_space)
    return min(limits) if limits else None


def _address_space() -> int | None:
    """Bytes that ``ulimit -v`` leaves this process; None without such a limit."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    used = next((line for line in read("/proc/self/status").splitlines() if "VmSize:" in line), "")
    return max(limit - int(used.split()[1]) * 1024, 0) if used else None


def read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="ascii")
    except OSError:
        return ""


def check_bytes(what: str, needed: float, instead: str = "") -> None:
    """Refuse work that takes more bytes than are free.

    ``what``: the work, as the beginning of a sentence. ``needed``: bytes. ``instead``: what else can be done.

    >>> check_bytes("A page", 1000)
    """
    free = free_bytes()
    if free is not None and needed > SPARED * free:
        raise NotEnoughMemoryError(
            f"{what} takes some {needed / GIGABYTE:,.1f} GB, and {free / GIGABYTE:,.1f} GB are free.",
            instead,
        )


def check_memory(what: str, needed: Callable[[int], float], n: int, instead: str = "") -> None:
    """Refuse work on ``n`` tokens that the free memory will not do.

    ``what``: the work, as the beginning of a sentence. ``needed``: bytes that it takes for a number of tokens; more
    for more. ``instead``: what else can be done.

    >>> check_memory("A matrix", lambda n: 4 * n**2, 100)
    """
    free = free_bytes()
    if free is None or needed(n) <= SPARED * free:
        return
    fits, beyond = 0, n
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if needed(middle) <= SPARED * free:
            fits = middle
        else:
            beyond = middle
    raise NotEnoughMemoryError(
        f"{what} of {n:,} tokens takes some {needed(n) / GIGABYTE:,.1f} GB, and {free / GIGABYTE:,.1f} GB are free.",
        f"About {fits:,} tokens would fit. {instead}".strip(),
    )
