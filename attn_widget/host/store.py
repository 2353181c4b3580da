"""Folders that keep work: one process at a time, of one identity, each part whole or absent, with checksums."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from attn_widget.errors import InputError, ModelLoadError
from attn_widget.host.files import write
from attn_widget.host.json_file import parsed_object

LOCK = ".lock"
SUMS = "sha256.json"  # of every other file in a part
LEFT_OVER = re.compile(r"\..+\.part")  # by a call that was killed
HASHED_AT_ONCE = 2**20
ASK_AGAIN = 0.1  # seconds
BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)


@contextmanager
def locked(folder: Path, option: str, *, wait: bool = False) -> Generator[None]:
    """Make a folder if it is missing, and keep other calls out of it until the block ends.

    The operating system releases the lock of a process that dies.

    ``option``: the argument that named the folder, for messages. ``wait``: wait while another call works in it,
    instead of refusing.
    """
    shown = f"{option}={str(folder)!r}"
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{shown} is a file.", "Give a folder of its own.")
        folder.mkdir(parents=True, exist_ok=True)
        file = _acquired(folder / LOCK, shown, wait)
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


def check_identity(
    stored: Mapping[str, Any], identity: Mapping[str, Any], message: str, hint: str
) -> None:
    """Refuse work that depends on something else: ``message`` says of what it is.

    >>> check_identity({"seed": 1}, {"seed": 2}, "This is of another run", "Give another folder.")
    Traceback (most recent call last):
    attn_widget.errors.InputError: This is of another run: it was made with seed 1 (now 2). Give another folder.
    """
    other = [key for key, value in identity.items() if stored.get(key) != value]
    if other:
        was = ", ".join(f"{key} {stored.get(key)!r} (now {identity[key]!r})" for key in other)
        raise InputError(f"{message}: it was made with {was}.", hint)


def write_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """A folder with checksums that appears only once complete (atomic rename), in place of an earlier one, which stays on failure."""
    part, old = (target.with_name(f".{secrets.token_hex(4)}.part") for _ in range(2))
    try:
        part.mkdir()
        fill(part)
        write_json(part / SUMS, _sums(part))
        if target.exists():
            target.rename(old)
        part.rename(target)
    finally:
        if old.exists() and not target.exists():  # interrupted between the two
            old.rename(target)
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def remove_left_overs(folder: Path) -> None:
    """Remove what calls left in ``folder`` that were killed. The caller holds its lock."""
    for path in folder.glob(".*"):
        if LEFT_OVER.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


def check_sums(folder: Path, hint: str, of: tuple[str, ...] = ()) -> None:
    """Refuse a folder with a file that has changed since it was written. Earlier versions wrote no sums.

    ``hint``: what to do. ``of``: the files that are checked; all of them unless given.
    """
    if not (folder / SUMS).is_file():
        return
    now = _sums(folder)
    for name, written in read_json(folder / SUMS, hint).items():
        if name in (of or (name,)) and now.get(name) != written:
            raise ModelLoadError(
                f"The folder {str(folder)!r} is damaged: {name} is not what was written.", hint
            )


def _sums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {name: checksum(path) for name, path in names.items() if name != SUMS}


def checksum(path: Path) -> str:
    """SHA-256 of a file, which need not fit into memory."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(HASHED_AT_ONCE):
            total.update(block)
    return total.hexdigest()


def read_json(path: Path, hint: str) -> dict[str, Any]:
    """The object in a file that `write_json` wrote."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelLoadError(
            f"{str(path)!r} cannot be read: {error.strerror or error}.", hint
        ) from error
    data = parsed_object(content)
    if data is None:
        raise ModelLoadError(
            f"{str(path)!r} is damaged: it is not what was written.",
            hint,
        )
    return data


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """An object as JSON, whole or not at all."""
    write(path, (json.dumps(data, indent=1) + "\n").encode())


def _acquired(path: Path, shown: str, wait: bool) -> IO[str]:
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
            if wait:
                time.sleep(ASK_AGAIN)
                continue
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
elif sys.platform == "emscripten":  # one process, without locks

    def _lock(file: IO[str]) -> None:
        del file
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
