"""Pictures of a view, drawn in a headless browser: PNG, SVG, PDF."""

from __future__ import annotations

import os
from typing import Any

from attn_widget.checks import check_choice, check_count, check_number
from attn_widget.host.files import destination, write
from attn_widget.widget.exports.shown import Shown

WIDTHS = range(320, 4001)  # CSS px: what the page can lay out
SCALES = (0.5, 8.0)  # pixels to a CSS pixel
PICTURE_THEMES = ("light", "dark")
PAPERS = ("A4", "Letter")
PAPER_WIDTH = 700  # CSS px: between the margins of both; the page's print.css has the same


class PictureExports(Shown):
    """Methods of a widget that save a view as a picture or on paper."""

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
        """Save the drawing of a view with its caption as SVG, if the view is a line drawing.

        Parameters
        ----------
        path : str or path
            A file that ends with ``.svg``.
        view : str, optional
            The view that is chosen by default.
        width : int
            Of the view in CSS px, 320 to 4000.

        Raises
        ------
        InputError, NotAvailableError
            As in `save_png`; also where the view is drawn in pixels.
        """
        width = check_count(width, "width", WIDTHS[0], WIDTHS[-1], "CSS px.")
        target = destination(path, ".svg")
        write(target, self._draw("svg", view, width, 1, None))

    def save_pdf(
        self, path: str | os.PathLike[str], view: str | None = None, *, paper: str = "A4"
    ) -> None:
        """Save a view on pages for printing, drawn in a headless browser as the page prints it.

        The whole text, the heads, the view with all rows of its tables, and a caption; no controls,
        in light colors. Text stays text: it can be searched and copied. What the browser needs is what
        `save_png` needs.

        Parameters
        ----------
        path : str or path
            A file that ends with ``.pdf``.
        view : str, optional
            The view that is chosen by default.
        paper : {"A4", "Letter"}

        Raises
        ------
        InputError
            A path, view or paper that cannot be used.
        NotAvailableError
            playwright or a browser is missing, or there is nothing to draw.
        """
        check_choice(paper, "paper", PAPERS)
        target = destination(path, ".pdf")
        write(target, self._draw("pdf", view, PAPER_WIDTH, 1, "light", paper=paper))

    def _draw(
        self,
        format: str,  # noqa: A002
        view: str | None,
        width: int,
        scale: float,
        theme: str | None,
        *,
        paper: str | None = None,
    ) -> bytes:
        from attn_widget.export.browser import draw
        from attn_widget.widget.traits import page_traits

        name = self._view(view)
        if theme is not None:
            check_choice(theme, "theme", PICTURE_THEMES)
        paint = self._paint()
        shown = theme or (self.theme if self.theme in PICTURE_THEMES else "light")
        asked: dict[str, Any] = {
            "view": name, "theme": shown, "chrome": paper is not None, "status": "ready",
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
            paper=paper,
        )

    def _answer(self, name: str, request: object) -> tuple[object, list[bytes]]:
        if name != "slice":
            return {"ok": False, "error": "A picture starts nothing.", "hint": ""}, []
        return self.source.answer(request)  # a picture waits for all that belongs into it
