"""Indices, heads and slices."""

from __future__ import annotations

import operator
from typing import Any

from attn_widget.checks.several import check_several
from attn_widget.checks.words import short_repr
from attn_widget.errors import InputError, InputTypeError


def index_in(value: Any, size: int, name: str) -> int:
    """``value`` as an index of something of ``size`` parts.

    Examples
    --------
    >>> index_in(2, 3, "layer")
    2
    """
    try:
        index = operator.index(value)
    except Exception:  # of an object's own __index__, too
        index = None
    if index is None or isinstance(value, bool):
        raise InputError(f"{name} is {short_repr(value)}, expected an int.")
    if not 0 <= index < size:
        raise InputError(f"{name} is {short_repr(index)}, expected 0 to {size - 1} (0-based).")
    return index


def is_mean(head: Any) -> bool:
    """True if ``head`` is ``"mean"``; an array is not, whatever it compares itself with."""
    return isinstance(head, str) and head == "mean"


def slice_in(value: Any, size: int, name: str) -> slice:
    """``value`` as a slice of ``size`` positions that holds at least one; None is all of them.

    Examples
    --------
    >>> slice_in(None, 8, "rows"), slice_in(slice(2, 5), 8, "rows")
    (slice(None, None, None), slice(2, 5, None))
    """
    if value is None:
        return slice(None)
    held = None
    if isinstance(value, slice):
        try:
            held = range(size)[value]
        except (TypeError, ValueError):  # no int, or a step of 0
            held = None
    if held is None or held.step < 0:  # tensors have none that go backwards
        raise InputTypeError(
            f"{name} is {short_repr(value)}, expected a slice.", f"{name}=slice(2, 5)"
        )
    if not held:
        raise InputError(
            f"{name} is {short_repr(value)}, which holds none of the {size} positions."
        )
    return value


def indices_in(values: Any, size: int, name: str) -> list[int]:
    """``values`` as indices of something of ``size`` parts.

    Raises
    ------
    InputTypeError
        Not several.
    InputError
        As `index_in`.
    """
    checked = check_several(values, name, "int")
    return [index_in(value, size, f"an entry of {name}") for value in checked]


def check_heads(heads: Any, n_layers: int, n_heads: int) -> tuple[tuple[int, int], ...]:
    """``heads`` as (layer, head), in order."""
    pairs: list[tuple[int, int]] = []
    for pair in check_several(heads, "heads", "(layer, head)"):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputTypeError(
                f"An entry of heads is {short_repr(pair)}, expected a layer and a head.",
                "heads=[(3, 5), (4, 0)] switches two heads off.",
            )
        layer, head = pair
        pairs.append((index_in(layer, n_layers, "layer"), index_in(head, n_heads, "head")))
    twice = [pair for pair in pairs if pairs.count(pair) > 1]
    if twice:
        raise InputError(f"Layer {twice[0][0]}, head {twice[0][1]} occurs twice in heads.")
    if len(pairs) == n_layers * n_heads:
        raise InputError(
            f"heads names all {len(pairs)} heads, and then no token would hear of another.",
            "Leave one of them on.",
        )
    return tuple(sorted(pairs))
