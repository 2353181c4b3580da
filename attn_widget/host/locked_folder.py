"""A folder for one process at a time."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from attn_widget.errors import InputError

LOCK = ".lock"
BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


@contextmanager
def locked(folder: Path, option: str) -> Generator[None]:
    """Make a folder if it is missing, and keep other calls out of it until the block ends.

    The operating system releases the lock of a process that dies.

    Parameters
    ----------
    folder : Path
    option : str
        The argument that named the folder, for messages.

    Raises
    ------
    InputError
        The folder cannot be made, or another process or thread works in it.
    """
    shown = f"{option}={str(folder)!r}"
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{shown} is a file.", "Give a folder of its own.")
        folder.mkdir(parents=True, exist_ok=True)
        file = _acquired(folder / LOCK, shown)
    except OSError as error:
        raise InputError(
            f"{shown} cannot be made: {error.strerror or error}.",
            "Give a folder that you may write to.",
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):
            (
                folder / LOCK
            ).unlink()  # while it is locked: whoever waits for it finds that it is gone
        file.close()


def _acquired(path: Path, shown: str) -> IO[str]:
    """The open lock file."""
    while True:
        file = path.open("a+", encoding="utf-8")
        try:
            _lock(file)
            at = os.fstat(file.fileno())
            if path.exists() and path.stat().st_ino == at.st_ino:
                file.truncate(0)
                file.write(str(os.getpid()))
                file.flush()
                return file
        except OSError as error:
            file.close()
            if error.errno not in BUSY:
                raise
            raise InputError(
                f"Another call is working in {shown}{_holder(path)}.",
                "Wait until it ends, or give another folder.",
            ) from error
        file.close()  # the holder has removed this file


def _holder(path: Path) -> str:
    try:
        process = path.read_text(encoding="utf-8")
    except OSError:
        return ""
    return f" (process {process})" if process.isdigit() else ""


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
