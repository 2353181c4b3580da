"""Counts, indices, slices, numbers, seeds, yes or no, kinds, choices, and values that JSON can say."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import numpy as np

from attn_widget.checks.words import MAX_NAMED, nearest, short_repr
from attn_widget.errors import InputError, InputTypeError

P = ParamSpec("P")
R = TypeVar("R")

LARGEST_SEED = 2**32 - 1  # numpy and scikit-learn take no larger one
LARGEST_COUNT = 1_000_000  # of anything that a user counts
LARGEST_INT = 2**53  # the largest that JavaScript counts to
MAX_ENTRIES = 10_000  # of a list or an object


def as_int(value: Any) -> int | None:
    """An int of whatever is one by ``__index__``; None of anything else, of bools and of arrays.

    >>> as_int(np.int64(3)), as_int(True), as_int(np.array(3)), as_int("3")
    (3, None, None, None)
    """
    if isinstance(value, (bool, np.bool_)) or hasattr(type(value), "__len__"):
        return None
    try:
        return operator.index(value)
    except Exception:  # of its own __index__, too
        return None


def check_count(value: Any, name: str, low: int, high: int = LARGEST_COUNT, hint: str = "") -> int:
    """``value`` as an int from ``low`` to ``high``; ``hint`` goes into what is raised.

    >>> check_count(3, "top_k", 1, 5)
    3
    """
    number = as_int(value)
    if number is None:
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected an int.", hint)
    if not low <= number <= high:
        raise InputError(f"{name} is {short_repr(number)}, expected {low} to {high:,}.", hint)
    return number


def index_in(value: Any, size: int, name: str) -> int:
    """``value`` as an index of something of ``size`` parts.

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


def check_number(value: Any, name: str, low: float, high: float, hint: str = "") -> float:
    """``value`` as a float from ``low`` to ``high``, which NaN is not.

    >>> check_number(2, "scale", 0.5, 8)
    2.0
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected a number.", hint)
    if not low <= value <= high:
        raise InputError(f"{name} is {short_repr(value)}, expected {low:g} to {high:g}.", hint)
    return float(value)


def check_seed(seed: Any) -> int:
    """``seed`` as an int that every generator of random numbers takes.

    Raises `InputTypeError`: no int. Raises `InputError`: not in 0 .. 2**32 - 1.
    """
    return check_count(seed, "seed", 0, LARGEST_SEED, "For example seed=0.")


def check_flag(value: Any, name: str) -> bool:
    """``value`` as a bool; ``"no"`` would count as yes."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(
            f"{name} is {short_repr(value)}, expected True or False.",
            f"Pass {name}=True or leave it out.",
        )
    return bool(value)


def check_callable(value: Any, name: str) -> None:
    """Refuse anything but a function or None; calling a class would only make an object."""
    if value is not None and (not callable(value) or isinstance(value, type)):
        raise InputTypeError(
            f"{name} is {short_repr(value)}, expected a function or None.", f"Leave {name} out."
        )


def check_kind(value: Any, kind: type[Any], name: str, hint: str) -> None:
    """Refuse what is no ``kind``, a class of this package or of a library."""
    if not isinstance(value, kind):
        what = kind.__name__
        raise InputTypeError(
            f"{name} is {short_repr(value)}, expected {'an' if what[0] in 'AEIO' else 'a'} {what}.",
            hint,
        )


def check_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """``value``, if it is one of ``choices``; the nearest one is named.

    >>> check_choice("masked", "mode", ("as_is", "masked"))
    'masked'
    """
    options = list(choices)
    named = ", ".join(map(repr, options[:MAX_NAMED])) + (
        ", ..." if len(options) > MAX_NAMED else ""
    )
    if not isinstance(value, str):
        raise InputTypeError(f"{name} is {short_repr(value)}, expected one of {named}.")
    if value not in options:
        raise InputError(
            f"{name} is {short_repr(value)}, expected one of {named}.", nearest(value, options)
        )
    return value


def is_plain(value: Any, deepest: int) -> bool:
    """True if a value is what JSON can say, or bytes, in at most ``deepest`` levels of lists and objects.

    >>> is_plain({"layer": [1, 2]}, 2), is_plain([[[]]], 2), is_plain(10**5000, 1)
    (True, False, False)
    """
    if isinstance(value, (list, tuple, dict)):
        keys, entries = (value, value.values()) if isinstance(value, dict) else ((), value)
        return (
            deepest > 0
            and all(isinstance(key, str) for key in keys)
            and len(entries) <= MAX_ENTRIES
            and all(is_plain(entry, deepest - 1) for entry in entries)
        )
    if isinstance(value, int):
        return abs(value) <= LARGEST_INT
    return value is None or isinstance(value, (float, str, bytes))


def check_keywords(given: Iterable[str], names: Iterable[str], of: str) -> None:
    """Refuse keywords that ``of`` does not know, naming the nearest one."""
    options = list(names)
    for name in given:
        if name not in options:
            listed = f"Options: {', '.join(options)}."
            raise InputTypeError(
                f"{of} has no option {short_repr(name)}.", nearest(name, options) or listed
            )


def known_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse unknown keywords with the nearest known one, as `check_keywords` does.

    Raises `InputTypeError`: by the decorated function.

    >>> @known_keywords
    ... def half(number, *, digits=2):
    ...     return round(number / 2, digits)
    >>> half(3, digit=1)
    Traceback (most recent call last):
        ...
    attn_widget.errors.InputTypeError: half() has no option 'digit'. Did you mean 'digits'?
    """
    names = [*signature(function).parameters]

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        check_keywords(options, names, f"{function.__name__}()")
        return function(*args, **options)

    return checked
