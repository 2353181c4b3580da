"""Files that match a pattern, each folder and each file once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape, glob
from pathlib import Path

ANY_DEPTH = "**"


def matching_files(pattern: str) -> list[str]:
    """The files that ``pattern`` matches, as `glob` does with ``recursive=True``, sorted.

    A link that leads back to a folder above it is followed once; of several names of one file the shortest counts.
    """
    by_file: dict[str, str] = {}
    for name in sorted(_matches(pattern), key=lambda name: (name.count(os.sep), name)):
        if Path(name).is_file():
            by_file.setdefault(os.path.realpath(name), name)
    return sorted(by_file.values())


def _matches(pattern: str) -> Iterator[str]:
    parts = Path(pattern).parts
    if ANY_DEPTH not in parts:
        yield from glob(pattern)  # noqa: PTH207 - `Path.glob` refuses absolute patterns
        return
    at = parts.index(ANY_DEPTH)
    above, below = parts[:at], parts[at + 1 :]
    for start in glob(os.path.join(*above)) if above else [""]:  # noqa: PTH118, PTH207
        for folder in _folders_of(start):
            yield from _matches(os.path.join(escape(folder), *(below or "*")))  # noqa: PTH118


def _folders_of(start: str) -> Iterator[str]:
    """A folder and those below it, links included, each once; hidden ones are left out as `glob` does."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        folder = waiting.pop(
            0
        )  # the nearest first: a folder that a link names again keeps its short name
        real = os.path.realpath(folder)
        if real in seen or not Path(real).is_dir():
            continue
        seen.add(real)
        yield folder
        try:
            names = sorted(
                entry.name for entry in os.scandir(real) if not entry.name.startswith(".")
            )
        except OSError:
            continue  # `glob` passes over folders that cannot be read
        waiting += [os.path.join(folder, name) for name in names]  # noqa: PTH118
