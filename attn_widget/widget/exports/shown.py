"""Base of the exports: what a widget shows, as a source and a selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attn_widget.checks import check_choice
from attn_widget.protocol.selection import Selection

if TYPE_CHECKING:
    from attn_widget.protocol.source import Source


class Shown:
    """The source, selection and view behind a widget's traits."""

    if TYPE_CHECKING:
        view: Any
        theme: Any
        first_paint: Any

    @property
    def source(self) -> Source:
        """The source behind the widget.

        Raises
        ------
        InputError
            The widget was closed.
        """
        raise NotImplementedError

    @property
    def selection(self) -> Selection:
        """The visible part: the traits as one value."""
        return Selection.of(self, self.source.options)

    def _view(self, view: str | None) -> str:
        from attn_widget.export.caption import DEFINITIONS

        if view is None:
            return str(self.view)
        return check_choice(view, "view", DEFINITIONS)

    def _paint(self) -> bytes:
        _ = self.source  # refuses a closed widget
        return self.first_paint
