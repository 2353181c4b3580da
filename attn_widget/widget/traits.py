"""What every widget does with traits that users give: one check, before traitlets looks at them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import traitlets as t

from attn_widget.checks import check_keywords, shown
from attn_widget.errors import bounded

LARGEST_INT = 2**53  # what JavaScript counts to
LONGEST_TEXT = 200  # characters of the name of a view, a metric, a theme
MOST_ENTRIES = 10_000  # of a list
OF_THE_HOST = ("layout", "tabbable", "tooltip")  # of ipywidgets


class CheckedTraits:
    """Mixin of a widget: unknown keywords, values of no possible kind, and messages without end.

    traitlets compares and prints whatever it is given: an array compares itself with no bool, a list
    of a thousand lists cannot be printed. Such a value is refused here, as a `traitlets.TraitError`.
    """

    CHECKED: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.CHECKED and not is_plain(value):
            raise t.TraitError(f"{name} is {shown(value)}, which it cannot be.")
        try:
            super().__setattr__(name, value)
        except t.TraitError as error:
            raise short(error) from error.__cause__


def check_traits(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Refuse keywords that are no public trait.

    Raises
    ------
    InputTypeError
        The message names the nearest real one.
    """
    check_keywords([name for name in given if name not in OF_THE_HOST], known, of)


def is_plain(value: Any) -> bool:
    """Whether a public trait could be this: nothing, yes or no, a number, a name, or a list of those."""
    if isinstance(value, (list, tuple)):
        return len(value) <= MOST_ENTRIES and all(
            not isinstance(entry, (list, tuple)) and is_plain(entry) for entry in value
        )
    if isinstance(value, int):
        return abs(value) <= LARGEST_INT
    return (
        value is None
        or isinstance(value, float)
        or (isinstance(value, str) and len(value) <= LONGEST_TEXT)
    )


def short(error: t.TraitError) -> t.TraitError:
    """The same error with a message that can be read."""
    said = str(error)
    return error if bounded(said) == said else t.TraitError(bounded(said))
