"""Files written whole or not at all, to paths that are checked before anything is drawn."""

from __future__ import annotations

import difflib
import os
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from attn_widget.checks import check_path
from attn_widget.errors import InputError


def destination(path: str | os.PathLike[str], suffix: str | None = None) -> Path:
    """``path`` as a file that can be written.

    ``path``: ``~`` is the home folder. ``suffix``: what its name must end with: ``".png"``. Raises
    `InputTypeError`: no str or path. Raises `InputError`: another suffix, a folder that does not exist (the nearest
    one is named), a folder or a device, or a name that no file can have.

    >>> destination("head.jpg", ".png")
    Traceback (most recent call last):
    attn_widget.errors.InputError: 'head.jpg' ends with '.jpg', expected '.png'. Use 'head.png'.
    """
    target = check_path(path, "path")
    if suffix is not None and target.suffix.lower() != suffix:
        ending = f"ends with {target.suffix!r}" if target.suffix else "has no suffix"
        better = target.with_suffix(suffix).name if target.name else f"picture{suffix}"
        raise InputError(f"{str(path)!r} {ending}, expected {suffix!r}.", f"Use {better!r}.")
    folder = target.parent
    with named_failures(target):  # a name can be too long to be looked up
        if not folder.is_dir():
            raise InputError(f"The folder {str(folder)!r} does not exist.", nearest_folder(folder))
        if target.is_dir():
            raise InputError(f"{str(target)!r} is a folder.", "Give the name of a file in it.")
        if target.exists() and not target.is_file():  # it would be replaced by a file
            raise InputError(f"{str(target)!r} is not a regular file.", "Give the name of a file.")
    return target


def nearest_folder(folder: Path) -> str:
    """Remedy for a missing folder."""
    missing = folder
    while not missing.parent.is_dir():
        missing = missing.parent
    siblings = [entry.name for entry in missing.parent.iterdir() if entry.is_dir()]
    close = difflib.get_close_matches(missing.name, siblings, n=1)
    if close:
        return f"Did you mean {str(missing.parent / close[0])!r}?"
    return "Create it first, or give another one."


def write(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``; see `write_parts`."""
    write_parts(path, [data])


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """Write ``parts`` to ``path``: all of them, or nothing and the old file stays.

    They go to a file next to it, which takes its place and its permissions when it is complete. A link
    stays, and what it names is written. An exception of whoever makes the parts is passed on as it is.

    Raises `InputError`: the file cannot be written; the message says why.
    """
    path = Path(os.path.realpath(path))
    new = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.part")
    with named_failures(path):
        file = new.open("xb")
    try:
        for part in parts:
            with named_failures(path):
                file.write(part)
        with named_failures(path):
            file.close()  # what is still buffered may not fit on the disk
            if path.exists():
                new.chmod(path.stat().st_mode & 0o777)
            new.replace(path)
    finally:
        with suppress(OSError):
            file.close()
        with suppress(OSError):
            new.unlink(missing_ok=True)


@contextmanager
def named_failures(path: Path) -> Generator[None]:
    """Say which file the system refused, and why."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
