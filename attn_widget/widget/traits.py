"""Traits that are checked before traitlets sees them, and that change together."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import Any, TypeAlias, TypeVar

import anywidget
import traitlets as t

from attn_widget.analysis import Analysis
from attn_widget.checks import as_int, check_keywords, check_name, is_plain, short_repr
from attn_widget.errors import AttnWidgetError, NotPickled, truncate

T = TypeVar("T")
Trait: TypeAlias = t.TraitType[T, T]  # read and set as the same type

DEEPEST = 3  # a list of dicts of str
OF_THE_HOST = ("layout", "tabbable", "tooltip")  # of ipywidgets
OF_THE_KERNEL = ("status", "error", "progress")  # what it tells the page


def synced(trait: t.TraitType[Any, Any]) -> Any:
    """A trait that the page has too. It is declared with its type, which traitlets cannot infer for names and lists.

    Tagged with ``plain``, a function, it takes what that makes of a value.
    """
    return trait.tag(sync=True)


class Int(t.Int):  # pyright: ignore[reportMissingTypeArgument]
    """An int that is no bool: layer True would be layer 1."""

    def validate(self, obj: Any, value: Any) -> Any:
        if isinstance(value, bool):
            self.error(obj, value)
        return super().validate(obj, value)


class Name(t.Unicode):  # pyright: ignore[reportMissingTypeArgument]
    """A str or None, which is validated like any other value: traitlets takes a None that it allows without asking."""

    def validate(self, obj: Any, value: Any) -> Any:
        return None if value is None else super().validate(obj, value)


class TraitBatch:
    """Changes several traits of a widget in one message to the page, from any thread.

    `ipywidgets.Widget.hold_sync` is no help here: what it holds back is kept on the widget, for all threads at once.

    ``lock``: held while traits change, so that the page and a run's thread do so one after the other; never while
    observers are called, which may wait for anything.
    """

    def __init__(self, widget: anywidget.AnyWidget) -> None:
        self._widget = widget
        self.lock = threading.RLock()
        self._gathered = threading.local()

    @contextmanager
    def update(self) -> Generator[Callable[..., None]]:
        """Lock, and give the function that sets traits by name; observers are called once nothing is locked any more."""
        changes: list[Any] = []
        with self.lock:
            yield partial(self._set, changes)
            names = {change["name"] for change in changes}
            if names and self._widget.comm is not None:
                self._widget.send_state(names)
        for change in changes:
            t.HasTraits.notify_change(self._widget, change)

    def _set(self, changes: list[Any], **values: Any) -> None:
        self._gathered.changes = changes
        try:
            for name, value in values.items():
                setattr(self._widget, name, value)
        finally:
            self._gathered.changes = None

    def gathers(self, change: Any) -> bool:
        """True if `update` makes this change, and sends it later."""
        gathered: list[Any] | None = getattr(self._gathered, "changes", None)
        if gathered is not None:
            gathered.append(change)
        return gathered is not None


class CheckedWidget(NotPickled, anywidget.AnyWidget):
    """A widget that refuses unknown keywords and values of no possible kind, with messages of bounded length.

    traitlets compares and prints whatever it is given: an array compares itself with no bool, a list
    of a thousand lists cannot be printed. Such a value is refused here, as a `traitlets.TraitError`.
    """

    error: Trait[dict[str, str]] = synced(t.Dict())
    """``{"message", "hint"}`` of the last failure, or ``{}``; shown in the widget."""

    @cached_property
    def _batch(self) -> TraitBatch:
        return TraitBatch(self)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            self._assign(name, self._plain_value(name, value))
        except t.TraitError as error:
            raise truncated_error(error) from error.__cause__

    def _plain_value(self, name: str, value: Any) -> Any:
        """A value of one of our traits, of a kind that traitlets can compare and print."""
        if name in own_traits(type(self)):
            value = getattr(type(self), name).metadata.get("plain", _int_of)(value)
            _check_plain(name, value)
        return value

    def set_trait(self, name: str, value: Any) -> None:
        """As in traitlets, which looks a name up that cannot be hashed, and prints what it refuses whole."""
        try:
            super().set_trait(check_name(name, "name"), self._plain_value(name, value))
        except t.TraitError as error:
            raise truncated_error(error) from error.__cause__

    def _assign(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take changes from the page; one that is not allowed is refused with a message, and undone there."""
        try:
            check_settable(type(self), sync_data)
            for name, value in sync_data.items():
                _check_plain(name, value)  # those of ipywidgets too: it prints what it refuses
            self._take(sync_data)
        except t.TraitError as error:
            self.error = {
                "message": str(truncated_error(error)),
                "hint": "The selection was left as it was.",
            }
            self.send_state([name for name in sync_data if self.has_trait(name)])

    def _take(self, state: dict[str, Any]) -> None:
        """Set traits from the page: all of them, or none."""
        with self._batch.lock:
            super().set_state(state)

    def notify_change(self, change: Any) -> None:
        """Send a change to the page and call its observers; those of a batch come later."""
        if not self._batch.gathers(change):
            super().notify_change(change)


class RunTraits(CheckedWidget):
    """Traits that a feature adds to the widget of a run."""

    @property
    @abstractmethod
    def analysis(self) -> Analysis:
        """The figures of what is shown."""

    def _in_another(self, analysis: Analysis, *, same: bool) -> dict[str, Any]:
        """Values of these traits once another run is shown; ``same``: with the same tokens."""
        del analysis, same
        return {}


def _int_of(value: Any) -> Any:
    number = as_int(value)
    return value if number is None else number


def _check_plain(name: str, value: Any) -> None:
    if not is_plain(value, DEEPEST):
        raise t.TraitError(f"{name} is {short_repr(value)}, which it cannot be.")


def check_traits(given: Iterable[str], names: Iterable[str], of: str) -> None:
    """Refuse keywords that are no public trait.

    Raises `InputTypeError`: the message names the nearest real one.
    """
    check_keywords([name for name in given if name not in OF_THE_HOST], names, of)


def check_settable(widget: type, names: Iterable[str]) -> None:
    """Refuse a state from the page with names that only Python sets, such as the page's own code."""
    settable = {*own_traits(widget), *OF_THE_HOST} - {*OF_THE_KERNEL}
    refused = [name for name in names if name not in settable]
    if refused:
        raise t.TraitError(f"{truncate(', '.join(refused))} cannot be set from the page.")


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


@contextmanager
def as_trait_error(prefix: str = "") -> Generator[None]:
    """Raise an error of ours as a `traitlets.TraitError`."""
    try:
        yield
    except AttnWidgetError as error:
        raise t.TraitError(f"{prefix}{error}") from error


def truncated_error(error: t.TraitError) -> t.TraitError:
    """The same error with a message that can be read."""
    said = str(error)
    return error if truncate(said) == said else t.TraitError(truncate(said))


# Traits of ipywidgets, or sent in another way.
NOT_THE_PAGES = ("layout", "tabbable", "tooltip", "first_paint")


def page_traits(widget: Any) -> dict[str, Any]:
    """The synced traits that the page reads, by name."""
    names = [name for name in widget.trait_names(sync=True) if not name.startswith("_")]
    names += widget.trait_names(sync=True, of_the_page=True)
    return {name: getattr(widget, name) for name in names if name not in NOT_THE_PAGES}
