"""Methods that tables and pictures give every widget: what the page's own menu saves, from Python."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from attn_widget.checks import check_choice, check_count, check_number
from attn_widget.features.exports.browser import draw
from attn_widget.features.exports.tables import Table, table
from attn_widget.host.files import destination, write
from attn_widget.host.frames import dataframe
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source
from attn_widget.widget.traits import CheckedWidget, page_traits

if TYPE_CHECKING:
    from pandas import DataFrame


WIDTHS = range(320, 4001)  # CSS px: what the page can lay out
SCALES = (0.5, 8.0)  # pixels to a CSS pixel
PICTURE_THEMES = ("light", "dark")


class Exports(CheckedWidget):
    """Tables and pictures of what a widget shows."""

    view: Any
    theme: Any
    first_paint: Any

    @property
    @abstractmethod
    def _shown_source(self) -> Source:
        """The source behind the widget."""

    @property
    @abstractmethod
    def selection(self) -> Selection:
        """The visible part."""

    def to_dataframe(self, view: str | None = None) -> DataFrame:
        """The table of a view, which the menu of the page saves as CSV, as a pandas DataFrame (needs the extra ``pandas``).

        Parameters
        ----------
        view : str, optional
            The view that is chosen by default.

        Returns
        -------
        pandas.DataFrame
            All digits of every number; N/A is NaN.

        Raises
        ------
        InputError
            An unknown view, or a closed widget.
        NotAvailableError
            The view has no numbers for this run.

        Examples
        --------
        >>> from attn_widget import show
        >>> w = show("the cat sat", layer=3, head=5, progress=False)
        >>> w.to_dataframe().columns.tolist()
        ['query', 'key', 'query_token', 'key_token', 'weight', 'score']
        >>> w.close()
        """
        shown = self._table(self._view(view))
        rows = ([math.nan if cell is None else cell for cell in row] for row in shown.rows)
        records = (dict(zip(shown.columns, row, strict=True)) for row in rows)
        return dataframe(records).reindex(columns=list(shown.columns))

    def save_png(
        self,
        path: str | os.PathLike[str],
        view: str | None = None,
        *,
        width: int = 1000,
        scale: float = 2,
        theme: str | None = None,
    ) -> None:
        """Save the picture of a view with its caption, drawn in a headless browser as the page draws it.

        Needs the extra ``images`` (``pip install "attn-widget[images]"``) and Chromium, Google Chrome
        or Microsoft Edge; nothing leaves the machine. Works in scripts and in notebooks.

        Parameters
        ----------
        path : str or path
            A file that ends with ``.png``.
        view : str, optional
            The view that is chosen by default.
        width : int
            Of the picture in CSS px, 320 to 4000; the file has ``width * scale`` pixels.
        scale : float
            Pixels to a CSS pixel, 0.5 to 8.
        theme : {"light", "dark"}, optional
            By default the widget's; ``"auto"`` is light.

        Raises
        ------
        InputError
            A path, view or size that cannot be used.
        NotAvailableError
            playwright or a browser is missing, or there is nothing to draw.
        """
        width = check_count(width, "width", WIDTHS[0], WIDTHS[-1], "CSS px.")
        scale = check_number(scale, "scale", *SCALES)
        target = destination(path, ".png")
        write(target, self._draw("png", view, width, scale, theme))

    def save_svg(
        self, path: str | os.PathLike[str], view: str | None = None, *, width: int = 1000
    ) -> None:
        """As `save_png`, as SVG: a file that ends with ``.svg``, of a view that is a line drawing.

        Parameters
        ----------
        path, view, width
            As in `save_png`.

        Raises
        ------
        InputError, NotAvailableError
            As in `save_png`; also where the view is drawn in pixels.
        """
        width = check_count(width, "width", WIDTHS[0], WIDTHS[-1], "CSS px.")
        target = destination(path, ".svg")
        write(target, self._draw("svg", view, width, 1, None))

    def _view(self, view: str | None) -> str:
        if view is None:
            return str(self.view)
        return check_choice(view, "view", self._shown_source.views)

    def _paint(self) -> bytes:
        _ = self._shown_source  # refuses a closed widget
        return self.first_paint

    def _table(self, view: str) -> Table:
        return table(self._shown_source, self.selection, view)

    def _draw(
        self,
        format: str,  # noqa: A002
        view: str | None,
        width: int,
        scale: float,
        theme: str | None,
    ) -> bytes:
        name = self._view(view)
        if theme is not None:
            check_choice(theme, "theme", PICTURE_THEMES)
        paint = self._paint()
        shown = theme or (self.theme if self.theme in PICTURE_THEMES else "light")
        asked: dict[str, Any] = {
            "view": name, "theme": shown, "chrome": False, "status": "ready",
            "error": {}, "progress": {}, "history": [],
        }  # fmt: skip
        traits = page_traits(self)
        traits.update({key: value for key, value in asked.items() if key in traits})
        return draw(
            format,
            view=name,
            traits=traits,
            paint=paint,
            answer=self._answer,
            width=width,
            scale=scale,
        )

    def _answer(self, name: str, request: object) -> tuple[object, list[bytes]]:
        if name != "slice":
            return {"ok": False, "error": "A picture starts nothing.", "hint": ""}, []
        return self._shown_source.answer(request)  # a picture waits for all that belongs into it
