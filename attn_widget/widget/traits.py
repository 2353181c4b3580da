"""Checks of traits that users give, before traitlets sees them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import traitlets as t

from attn_widget.checks import check_keywords, is_plain, shown
from attn_widget.errors import bounded

DEEPEST = 3  # a list of dicts of str
OF_THE_HOST = ("layout", "tabbable", "tooltip")  # of ipywidgets
OF_THE_KERNEL = ("status", "error", "progress")  # what it tells the page


class Int(t.Int):  # pyright: ignore[reportMissingTypeArgument]
    """An int that is no bool: layer True would be layer 1."""

    def validate(self, obj: Any, value: Any) -> Any:
        if isinstance(value, bool):
            self.error(obj, value)
        return super().validate(obj, value)


class CheckedTraits:
    """Mixin of a widget: unknown keywords, values of no possible kind, and messages without end.

    traitlets compares and prints whatever it is given: an array compares itself with no bool, a list
    of a thousand lists cannot be printed. Such a value is refused here, as a `traitlets.TraitError`.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in own_traits(type(self)):
            _check_plain(name, value)
        try:
            super().__setattr__(name, value)
        except t.TraitError as error:
            raise short(error) from error.__cause__

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take changes from the page, which are checked like those of users."""
        for name, value in sync_data.items():
            _check_plain(name, value)  # those of ipywidgets too: it prints what it refuses
        try:
            super().set_state(sync_data)  # pyright: ignore[reportAttributeAccessIssue]
        except t.TraitError as error:
            raise short(error) from error.__cause__


def _check_plain(name: str, value: Any) -> None:
    if not is_plain(value, DEEPEST):
        raise t.TraitError(f"{name} is {shown(value)}, which it cannot be.")


def check_traits(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Refuse keywords that are no public trait.

    Raises
    ------
    InputTypeError
        The message names the nearest real one.
    """
    check_keywords([name for name in given if name not in OF_THE_HOST], known, of)


def check_settable(widget: type, names: Iterable[str]) -> None:
    """Refuse a state from the page with names that only Python sets, such as the page's own code.

    Raises
    ------
    traitlets.TraitError
    """
    settable = {*own_traits(widget), *OF_THE_HOST} - {*OF_THE_KERNEL}
    refused = [name for name in names if name not in settable]
    if refused:
        raise t.TraitError(f"{bounded(', '.join(refused))} cannot be set from the page.")


@cache
def own_traits(widget: type) -> frozenset[str]:
    """The public traits that this package gives a widget."""
    return frozenset(
        name
        for cls in widget.__mro__
        if cls.__module__.startswith("attn_widget")
        for name, value in vars(cls).items()
        if isinstance(value, t.TraitType) and not name.startswith("_")
    )


def short(error: t.TraitError) -> t.TraitError:
    """The same error with a message that can be read."""
    said = str(error)
    return error if bounded(said) == said else t.TraitError(bounded(said))


# Traits of ipywidgets, or sent in another way.
NOT_THE_PAGES = ("layout", "tabbable", "tooltip", "first_paint")


def page_traits(widget: Any) -> dict[str, Any]:
    """The synced traits that the page reads, by name."""
    synced = widget.trait_names(sync=True)
    names = (name for name in synced if not name.startswith("_") or name == "_compared")
    return {name: getattr(widget, name) for name in names if name not in NOT_THE_PAGES}
