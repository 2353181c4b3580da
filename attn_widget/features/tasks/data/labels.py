"""Labels as someone wrote them, to classes 0 to c - 1; texts that are texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_several, short_repr
from attn_widget.errors import InputError, InputTypeError

WHOLE = re.compile(r"[+-]?\d+")


def check_texts(texts: Sequence[Any], rows: Sequence[str]) -> list[str]:
    """The texts, if each is a string that says something.

    ``rows``: what to call a row in a message.
    """
    if not texts:
        raise InputError("There are no rows.", "Give a table with texts and labels.")
    for text, where in zip(texts, rows, strict=True):
        if is_missing(text) or (isinstance(text, str) and not text.strip()):
            raise InputError(f"The text of {where} is empty.", "Leave such rows out.")
        if not isinstance(text, str):
            raise InputTypeError(
                f"The text of {where} is of type {type(text).__name__}, expected str.",
                "Name the column with the texts: text=...",
            )
    return [str(text) for text in texts]


def encode(
    values: Sequence[Any], rows: Sequence[str], classes: Sequence[str] | None = None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Classes of labels: by the names given, by number, or by the sorted names that occur.

    ``rows``: what to call a row in a message. ``classes``: names; the labels are then these, or 0 to c - 1.
    ``labels``: int64 ndarray [n].

    >>> encode([2, 1, 3], ["row 0", "row 1", "row 2"])
    (array([1, 0, 2]), ('1', '2', '3'))
    >>> encode(["no", "yes"], ["row 0", "row 1"], ("yes", "no"))
    (array([1, 0]), ('yes', 'no'))
    """
    for value, where in zip(values, rows, strict=True):
        if is_missing(value) or (isinstance(value, str) and not value.strip()):
            raise InputError(f"The label of {where} is missing.", "Leave such rows out.")
    written = [_written(value) for value in values]
    if classes is None:
        labels, names = _by_themselves(written, rows)
    else:
        names = _checked_names(classes)
        labels = _by_name(written, rows, names)
    present = sorted(set(labels))
    if len(names) < 2 or len(present) < 2:
        only = names[present[0]] if present else "none"
        raise InputError(
            f"All {len(values)} texts have the same label ({only!r}), expected two classes or more.",
            "Name the column with the labels: label=...",
        )
    for k, name in enumerate(names):
        if k not in present:
            raise InputError(
                f"The class {name!r} has no text; there are {[names[f] for f in present]}.",
                "Leave it out of classes=..., or give texts of it.",
            )
    return np.array(labels, dtype=np.int64), names


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA, which is not even equal to itself in a bool."""
    if value is None:
        return True
    try:
        return not bool(value == value)
    except TypeError:
        return True


def _written(value: Any) -> str:
    """A label as text; 1.0, as data frames write whole numbers next to missing ones, as "1"."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _by_themselves(
    written: Sequence[str], rows: Sequence[str]
) -> tuple[list[int], tuple[str, ...]]:
    if all(WHOLE.fullmatch(label) for label in written):
        numbers_ = [int(label) for label in written]
        present = sorted(set(numbers_))
        start = present[0]
        if start not in (0, 1):
            raise InputError(
                f"The labels begin at {start} ({rows[numbers_.index(start)]}), expected 0 or 1.",
                "Texts without a label have to be left out; other numbers can be named: "
                f"classes={[str(number) for number in present[:5]]}.",
            )
        missing = sorted(set(range(start, present[-1] + 1)) - set(present))[:5]
        if missing:
            raise InputError(
                f"The labels are {present[:20]}: {missing} do not occur, expected whole numbers without a "
                "gap.",
                f"Renumber them, or name them: classes={[str(number) for number in present[:5]]}.",
            )
        return [number - start for number in numbers_], tuple(str(number) for number in present)
    for label, where in zip(written, rows, strict=True):
        if re.fullmatch(r"[+-]?\d*\.\d+(e[+-]?\d+)?", label, re.IGNORECASE):
            raise InputError(
                f"The label of {where} is {label}, expected a class: a name or a whole number.",
                "Cut ratings into classes first.",
            )
    names = tuple(sorted(set(written)))
    place = {name: k for k, name in enumerate(names)}
    return [place[label] for label in written], names


def _by_name(written: Sequence[str], rows: Sequence[str], names: tuple[str, ...]) -> list[int]:
    place = {name: k for k, name in enumerate(names)}
    strangers = [k for k, label in enumerate(written) if label not in place]
    if strangers:
        place = {str(k): k for k in range(len(names))}
        others = [k for k, label in enumerate(written) if label not in place]
        if others:
            row = strangers[0] if len(strangers) <= len(others) else others[0]
            raise InputError(
                f"The label of {rows[row]} is {written[row]!r}, expected one of {list(names)} or 0 to "
                f"{len(names) - 1}.",
                "Correct it, or add it to classes=...",
            )
    return [place[label] for label in written]


def _checked_names(classes: Sequence[str]) -> tuple[str, ...]:
    given = check_several(classes, "classes", "names")
    if not all(isinstance(name, str) for name in given):
        raise InputTypeError(
            f"classes is {short_repr(given)}, expected several names.",
            "For example classes=('bad', 'good').",
        )
    names = tuple(name.strip() for name in given)
    if len(set(names)) < len(names) or "" in names:
        raise InputError(
            f"classes={names!r}: a name is empty or given twice.", "Name each class once."
        )
    return names
