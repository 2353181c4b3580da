"""What saving is given, of the right type: several instead of one, titles that a file can hold."""

from __future__ import annotations

from typing import Any

from attn_widget.errors import InputError, InputTypeError


def several(name: str, given: Any, example: str) -> list[Any] | None:
    """``given`` as a list; None stays.

    Raises
    ------
    InputTypeError
        One value instead of several.
    """
    if given is None:
        return None
    if isinstance(given, (str, bytes)) or not is_iterable(given):
        raise InputTypeError(
            f"{name} is {repr(given)[:80]}, expected several.", f"{name}={example}, for example."
        )
    return list(given)


def is_iterable(given: object) -> bool:
    """Whether a loop takes it: not so an array without a dimension, which says that it is iterable."""
    try:
        iter(given)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except TypeError:
        return False
    return True


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
    try:
        title.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"title has a lone surrogate, U+{ord(title[error.start]):04X}, at character {error.start}.",
            "Give text in Unicode.",
        ) from error
