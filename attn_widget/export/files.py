"""Where a file goes: checked before anything is drawn, written whole or not at all."""

from __future__ import annotations

import difflib
import os
import secrets
from pathlib import Path

from attn_widget.errors import InputError


def destination(path: str | os.PathLike[str], suffix: str) -> Path:
    """``path`` as a file that can be written.

    Parameters
    ----------
    path : str or path
        ``~`` is the home folder.
    suffix : str
        What its name must end with: ``".png"``.

    Raises
    ------
    InputError
        Another suffix, a folder that is not there (the nearest one is named), or a folder.

    Examples
    --------
    >>> destination("head.jpg", ".png")
    Traceback (most recent call last):
    attn_widget.errors.InputError: 'head.jpg' ends with '.jpg', expected '.png'. Use 'head.png'.
    """
    found = Path(path).expanduser()
    if found.suffix.lower() != suffix:
        given = f"ends with {found.suffix!r}" if found.suffix else "has no suffix"
        better = found.with_suffix(suffix).name if found.name else f"picture{suffix}"
        raise InputError(f"{str(path)!r} {given}, expected {suffix!r}.", f"Use {better!r}.")
    folder = found.parent
    if not folder.is_dir():
        raise InputError(f"The folder {str(folder)!r} does not exist.", nearest_folder(folder))
    if found.is_dir():
        raise InputError(f"{str(found)!r} is a folder.", "Give the name of a file in it.")
    return found


def nearest_folder(folder: Path) -> str:
    """What to do about a folder that is not there."""
    missing = folder
    while not missing.parent.is_dir():
        missing = missing.parent
    siblings = [entry.name for entry in missing.parent.iterdir() if entry.is_dir()]
    close = difflib.get_close_matches(missing.name, siblings, n=1)
    if close:
        return f"Did you mean {str(missing.parent / close[0])!r}?"
    return "Make it first, or give another one."


def write(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``: the whole of it, or nothing and the old file stays.

    Raises
    ------
    InputError
        The folder cannot be written to.
    """
    part = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.part")
    try:
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error
