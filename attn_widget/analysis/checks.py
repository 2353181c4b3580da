"""Indices that users give, checked."""

from __future__ import annotations

import operator
from typing import Any

from attn_widget.errors import InputError


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
        raise InputError(f"{name} is {value!r}, expected an int.")
    if not 0 <= index < size:
        raise InputError(f"{name} is {index}, expected 0 to {size - 1} (0-based).")
    return index
