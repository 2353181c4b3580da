"""Results that have a widget: the lines of their features name it, so that rooms below know none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from attn_widget.features import declared, loaded
from attn_widget.host.notice import notebook_shell


class Result:
    """Base of the results that `attn_widget.show` and `attn_widget.to_html` take besides a text and its analysis."""


class MakesWidget(Protocol):
    """Function that a feature's ``results`` name: the widget of a result of that class, not displayed yet."""

    def __call__(self, result: Any, /, **traits: Any) -> Any: ...


def widget_of(result: Result, traits: dict[str, Any]) -> Any:
    """The widget of a result, not displayed yet."""
    makers = dict(declared("results"))
    path = next(makers[cls.__name__] for cls in type(result).__mro__ if cls.__name__ in makers)
    make: MakesWidget = loaded(path)
    return make(result, **traits)


def show_result(result: Result, traits: dict[str, Any]) -> Any:
    """The widget of a result, displayed."""
    widget = widget_of(result, traits)
    widget.display()
    return widget


def save_result(result: Result, path: str | os.PathLike[str], options: dict[str, Any]) -> Path:
    """The page of a result, as its widget saves it."""
    widget = widget_of(result, {})
    try:
        return widget.to_html(path, **options)
    finally:
        widget.close()


class Displayed(Result):
    """A result with a view of its own, which a notebook displays."""

    def show(self, **traits: Any) -> Any:
        """Display it in the running cell; also returned, so that Python can read and set what is selected.

        Parameters
        ----------
        **traits
            Initial values of the widget's traits, such as ``words``, ``theme``, ``height``.
        """
        return show_result(self, traits)

    def to_html(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Save its view as one page that stays interactive without a kernel; see `attn_widget.to_html`.

        Parameters
        ----------
        path : str or path
            A file that ends with ``.html``.
        **options
            As in `attn_widget.to_html`.
        """
        return save_result(self, path, options)

    def _ipython_display_(self) -> None:
        if notebook_shell() is None:  # a terminal: its repr
            raise NotImplementedError
        self.show()
