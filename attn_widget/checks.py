"""What users give, checked: indices, counts, seeds, yes or no, paths."""

from __future__ import annotations

import errno
import operator
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import InputError, InputTypeError

LARGEST_SEED = 2**32 - 1  # numpy and scikit-learn take no larger one


def index_in(value: Any, size: int, name: str) -> int:
    """``value`` as an index of something of ``size`` parts.

    Raises
    ------
    InputError
        No integer, or not in 0 .. size - 1.

    Examples
    --------
    >>> index_in(2, 3, "layer")
    2
    """
    try:
        index = operator.index(value)
    except TypeError:
        index = None
    if index is None or isinstance(value, bool):
        raise InputError(f"{name} is {repr(value)[:80]}, expected an int.")
    if not 0 <= index < size:
        raise InputError(f"{name} is {index}, expected 0 to {size - 1} (0-based).")
    return index


def indices_in(values: Any, size: int, name: str) -> list[int]:
    """``values`` as indices of something of ``size`` parts.

    Raises
    ------
    InputTypeError
        Not several.
    InputError
        As `index_in`.
    """
    found = check_several(values, name, "int")
    return [index_in(value, size, f"an entry of {name}") for value in found]


def as_array(values: Any, name: str, dtype: Any = None) -> NDArray[Any]:
    """``values`` as an array.

    Raises
    ------
    InputTypeError
        Rows of different lengths, or (with ``dtype``) something else than numbers.
    """
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"{name} cannot be read as an array: {str(error)[:200]}.",
            "Give numbers, as many in each row.",
        ) from None


def is_iterable(given: object) -> bool:
    """Whether a loop takes it: not so an array without a dimension, which says that it is iterable."""
    try:
        iter(given)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except TypeError:
        return False
    return True


def check_several(values: Any, name: str, what: str) -> list[Any]:
    """``values`` as a list; ``what`` says of what.

    Raises
    ------
    InputTypeError
        One str, or nothing that holds several.
    """
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise InputTypeError(
            f"{name} is {repr(values)[:80]}, expected several {what}.",
            f"Put it into a list: {name}=[...].",
        )
    return list(values)


def check_characters(text: str, name: str) -> str:
    """``text``, if it can be written: a lone surrogate is half of a character.

    Raises
    ------
    InputError
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has a lone surrogate, U+{ord(text[error.start]):04X}, at character {error.start}: "
            "half of a character, which no tokenizer can read.",
            'Repair it with text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").',
        ) from None
    return text


def check_count(value: Any, name: str, low: int, high: int | None = None, hint: str = "") -> int:
    """``value`` as an int from ``low`` to ``high``; ``hint`` goes into what is raised.

    Raises
    ------
    InputTypeError
        No int.
    InputError
        Out of range.

    Examples
    --------
    >>> check_count(3, "top_k", 1, 5)
    3
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected an int.", hint)
    if value < low or (high is not None and value > high):
        expected = f"at least {low}" if high is None else f"{low} to {high:,}"
        raise InputError(f"{name} is {value}, expected {expected}.", hint)
    return int(value)


def check_seed(seed: Any) -> int:
    """``seed`` as an int that every generator of random numbers takes.

    Raises
    ------
    InputTypeError
        No int.
    InputError
        Not in 0 .. 2**32 - 1.
    """
    return check_count(seed, "seed", 0, LARGEST_SEED, "For example seed=0.")


def check_flag(value: Any, name: str) -> bool:
    """``value`` as a bool; ``"no"`` would count as yes.

    Raises
    ------
    InputTypeError
        Something else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(
            f"{name} is {str(value)[:80]!r}, expected True or False.",
            f"Pass {name}=True or leave it out.",
        )
    return bool(value)


def stands_at(path: Path) -> str:
    """``"folder"``, ``"file"`` or, where there is none, ``""``: also for a name that no disk takes."""
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else ""
    except OSError:
        return ""


def check_title(title: object) -> None:
    """Refuse what no page can have as its title; None is no title.

    Raises
    ------
    InputTypeError
        No str.
    InputError
        A lone surrogate, which has no place in a file.
    """
    if title is None:
        return
    if not isinstance(title, str):
        raise InputTypeError(
            f"title is a {type(title).__name__}, expected a str.", f"title={str(title)[:80]!r}"
        )
    check_characters(title, "title")


def check_path(value: Any, name: str) -> Path:
    """``value`` as a path that a disk can have, ``~`` expanded.

    Raises
    ------
    InputTypeError
        No str and no path.
    InputError
        Characters that no name can have, a name that is too long, ``~`` of nobody.
    """
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
            f"The path {given!r} has characters that no file's name can have here.",
            "Give another name.",
        ) from None
    if "\0" in given:
        raise InputError(f"The path {given!r} has a NUL character.", "Leave it out.")
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:  # ~name of nobody
        raise InputError(f"The home folder in {given!r} is not known.", "Write it out.") from error
    try:
        path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"The path {given[:40]!r}... has {len(given):,} characters, more than the disk takes.",
                "Give a shorter name.",
            ) from None
    return path
