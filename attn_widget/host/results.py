"""Results that a notebook displays: the top of the package names the widget, so that rooms below know none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attn_widget.host.notice import notebook_shell

_widget_of: Callable[[Any, dict[str, Any]], Any] | None = None


def display_by(widget_of: Callable[[Any, dict[str, Any]], Any]) -> None:
    """Let ``widget_of(result, traits)`` make the widget of every `Displayed` result."""
    global _widget_of
    _widget_of = widget_of


class Displayed:
    """A result with a view of its own."""

    def show(self, **traits: Any) -> Any:
        """Display it in the running cell; also returned, so that Python can read and set what is selected.

        Parameters
        ----------
        **traits
            Initial values of the widget's traits, such as ``words``, ``theme``, ``height``.
        """
        widget = self._widget(traits)
        widget.display()
        return widget

    def to_html(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Save its view as one page that stays interactive without a kernel; see `attn_widget.to_html`.

        Parameters
        ----------
        path : str or path
            A file that ends with ``.html``.
        **options
            As in `attn_widget.to_html`.
        """
        widget = self._widget({})
        try:
            return widget.to_html(path, **options)
        finally:
            widget.close()

    def _widget(self, traits: dict[str, Any]) -> Any:
        assert _widget_of is not None  # set by the package's own __init__
        return _widget_of(self, traits)

    def _ipython_display_(self) -> None:
        if notebook_shell() is None:  # a terminal: its repr
            raise NotImplementedError
        self.show()
