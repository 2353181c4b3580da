"""Texts, names, titles and paths."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from attn_widget.checks.words import short_repr
from attn_widget.errors import InputError, InputTypeError


def check_characters(text: str, name: str) -> str:
    """``text``, if it can be written: a lone surrogate is half of a character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has a lone surrogate, U+{ord(text[error.start]):04X}, at character {error.start}: "
            "half of a character, which cannot be written as UTF-8.",
            'Repair it with text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").',
        ) from None
    return text


def check_name(value: Any, name: str, what: str = "a str") -> str:
    """``value`` as a str; ``what`` says of what.

    Raises `InputTypeError`: no str. Raises `InputError`: a lone surrogate.
    """
    if not isinstance(value, str):
        raise InputTypeError(
            f"{name} is {short_repr(value)}, expected {what}.", f"For example {name}='a name'."
        )
    return check_characters(value, name)


def check_title(title: object) -> str | None:
    """``title``, if a page can have it; None is no title.

    Raises `InputTypeError`: no str. Raises `InputError`: a lone surrogate, which has no place in a file.
    """
    if title is None:
        return None
    if not isinstance(title, str):
        raise InputTypeError(
            f"title is a {type(title).__name__}, expected a str.", "title='a title'"
        )
    check_characters(title, "title")
    return title


def check_path(value: Any, name: str) -> Path:
    """``value`` as a path that a disk can have, ``~`` expanded."""
    try:
        given = os.fspath(value)
    except TypeError:
        given = None
    if not isinstance(given, str):
        raise InputTypeError(
            f"{name} is a {type(value).__name__}, expected a str or a path.",
            f"{name}='folder/name'",
        )
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        raise InputError(
            f"The path {short_repr(given)} has characters that no file's name can have here.",
            "Give another name.",
        ) from None
    if "\0" in given:
        raise InputError(f"The path {short_repr(given)} has a NUL character.", "Leave it out.")
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:  # ~name of an unknown user
        raise InputError(
            f"The home folder in {short_repr(given)} is not known.", "Write it out."
        ) from error
    try:
        path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"The path {given[:40]!r}... has {len(given):,} characters, more than the disk takes.",
                "Give a shorter name.",
            ) from None
    return path
