"""Exports of a widget from Python: the counterparts of the page's menu.

Long because each method says all that `help` is asked for.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from attn_widget.checks import check_choice, check_count, check_number
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.host.files import destination, write
from attn_widget.protocol.selection import LARGEST_HEIGHT, Selection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from attn_widget.export.text import Table
    from attn_widget.figures.arrays import Float32
    from attn_widget.influence.targets import Target
    from attn_widget.page.engine.options import Assets, Engine
    from attn_widget.protocol.source import Source

WIDTHS = range(320, 4001)  # CSS px: what the page can lay out
SCALES = (0.5, 8.0)  # pixels to a CSS pixel
PICTURE_THEMES = ("light", "dark")
PAPERS = ("A4", "Letter")
PAPER_WIDTH = 700  # CSS px: between the margins of both; the page's print.css has the same


class Exports:
    """Methods of a widget that write what it shows; all follow its selection (traits)."""

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

    def to_csv(
        self, path: str | os.PathLike[str] | None = None, view: str | None = None
    ) -> str | None:
        """The table of a view as CSV: what "CSV" in the menu of the page saves.

        Parameters
        ----------
        path : str or path, optional
            A file that ends with ``.csv``; without it the text is returned.
        view : str, optional
            The view that is chosen by default.

        Returns
        -------
        str or None
            The text when `path` is None: RFC 4180, all digits of every number, N/A an empty field.
            A text that a spreadsheet would take for a formula gets a single quote in front.

        Raises
        ------
        InputError
            An unknown view, a missing folder or another suffix.
        NotAvailableError
            The view has no numbers for this run.

        Examples
        --------
        >>> from attn_widget import show
        >>> w = show("the cat sat", layer=3, head=5, progress=False)
        >>> w.to_csv().splitlines()[0]
        'query,key,query_token,key_token,weight,score'
        >>> w.close()
        """
        from attn_widget.export.text import to_csv

        target = None if path is None else destination(path, ".csv")
        return self._give(to_csv(self._table(self._view(view))), target)

    def to_json(
        self, path: str | os.PathLike[str] | None = None, view: str | None = None
    ) -> str | None:
        """The table of a view with its caption as JSON: what "JSON" in the menu of the page saves.

        ``view, model, revision, text, text_pair, masked, profile, layer, head, definition, options,
        versions, columns, rows``; N/A is null.

        Parameters
        ----------
        path : str or path, optional
            A file that ends with ``.json``; without it the text is returned.
        view : str, optional
            The view that is chosen by default.

        Raises
        ------
        InputError, NotAvailableError
            As in `to_csv`.
        """
        from attn_widget.export.text import to_json

        target = None if path is None else destination(path, ".json")
        name = self._view(view)
        return self._give(to_json(self._caption(name), self._table(name)), target)

    def to_dataframe(self, view: str | None = None) -> Any:
        """The table of a view as a pandas DataFrame; N/A is NaN (needs the extra ``pandas``).

        Parameters
        ----------
        view : str, optional
            The view that is chosen by default.

        Raises
        ------
        InputError
            An unknown view.
        NotAvailableError
            pandas is not installed, or the view has no numbers for this run.
        """
        from attn_widget.host.frames import dataframe

        table = self._table(self._view(view))
        rows = ([math.nan if cell is None else cell for cell in row] for row in table.rows)
        records = (dict(zip(table.columns, row, strict=True)) for row in rows)
        return dataframe(records).reindex(columns=list(table.columns))

    def to_numpy(self) -> Float32:
        """The matrix of the Attention view, float32 [m, m]: rows are queries, columns keys.

        The `quantity` (weights by default) of the selected layer and head, between the tokens or
        words that are shown (`words`, `special`); NaN where the model's mask forbids a cell.

        Raises
        ------
        NotAvailableError
            Scores are selected, and this head or selection has none.

        Examples
        --------
        >>> from attn_widget import show
        >>> w = show("the cat sat", layer=3, head=5, progress=False)
        >>> w.to_numpy().shape
        (5, 5)
        >>> w.special = False
        >>> w.to_numpy().shape
        (3, 3)
        >>> w.close()
        """
        from attn_widget.export.matrix import shown_values

        analysis = self.source.analysis
        if analysis is None:
            raise NotAvailableError("A profile has no matrix: its heads are over many texts.")
        return shown_values(analysis, self.selection)

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
        """Save the drawing of a view with its caption as SVG, where the view is drawn in lines.

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

    def to_html(
        self,
        path: str | os.PathLike[str],
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        views: Sequence[str] | None = None,
        title: str | None = None,
        why: Sequence[Target] | None = None,
        *,
        engine: Engine = False,
        assets: Assets = "inside",
        max_bytes: int | None = None,
    ) -> Path:
        """Save a page that stays alive without a kernel and without a network.

        One file with everything in it; whatever needs another pass of the model says so there.
        `attn_widget.to_html` puts several widgets into one page.

        Parameters
        ----------
        path : str or path
            Replaced in one step: a page that cannot be finished leaves the old one.
        layers, heads : sequence of int, optional
            Whose weights are included, 0-based; by default all. Not of a profile, which has none.
        views : sequence of str, optional
            Names of the tabs to keep, such as ``["attention", "tree"]``; by default all.
        title : str, optional
            Of the page.
        why : sequence of Target, optional
            What the view Why explains, by all methods, with their tests and the effects of heads. By default
            the chosen target; without one, what the text proposes, by the quick methods.
        engine : bool or "light"
            Include the model (50 MB for the embedded one), which runs in the page: every text that is typed there,
            masks, heads switched off. For BERT, with or without a masked-LM head or a classifier of texts, in all
            views but why; weights of more than float16 are rounded, and the page says what that moves.
            ``"light"`` halves the size by matrices of 8 bits, and the page says how far its figures are off.
        assets : "inside", "beside", or a folder
            Where the weights of an engine are: in the page, or in a script that the page loads when it is first
            typed into, from the folder of the page or another one. Pages of one model share it. Move the page and the
            script together.
        max_bytes : int, optional
            Size of the page at most, its code (0.5 MB) included. The selected head goes first, then its layer, then the
            layers around it, in codes as fine as there is room for; figures and thumbnails of all heads always
            go along. A warning, and the page, say what was left out.

        Returns
        -------
        Path

        Raises
        ------
        InputError
            A closed widget; a layer, head or view that does not exist; fewer bytes than the smallest page takes, or
            ``max_bytes`` of a page with an engine; a missing folder, or a file
            that cannot be written, of which nothing is left half-written.
        NotAvailableError
            A model that the engine cannot run.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from attn_widget import show
        >>> w = show("the cat sat", progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     w.to_html(pathlib.Path(folder) / "cat.html", views=["attention"]).name
        'cat.html'
        >>> w.close()
        """
        from attn_widget.page.engine.options import check_engine
        from attn_widget.page.page import save
        from attn_widget.page.saved_run import ExportOptions

        kept = ExportOptions(layers, heads, views, title, why)
        options = check_engine(engine, assets, destination(path))
        if options is not None:
            from attn_widget.page.engine.live import save_live

            if max_bytes is not None:
                raise InputError(
                    "A page with an engine has the size of its model.",
                    "Leave max_bytes or engine out.",
                )

            return save_live(path, [(self.source, self.selection)], kept, options)
        return save(path, [(self.source, self.selection)], kept, max_bytes)

    def as_html(self, height: int = 900, title: str | None = None) -> str:
        """The page of `to_html` in a frame, as HTML: for pages that are put together elsewhere.

        The frame is sandboxed: its script runs and offers downloads, and reaches nothing around it.
        In a notebook, ``IPython.display.HTML(w.as_html())`` shows it, and every export keeps it.

        Parameters
        ----------
        height : int
            Of the frame, px.
        title : str, optional
            Of the page and the frame; by default the text.

        Raises
        ------
        InputError
            A closed widget, or a height that is no positive int.
        InputTypeError
            A title that is no str.

        Examples
        --------
        >>> from attn_widget import show
        >>> w = show("the cat sat", progress=False)
        >>> w.as_html(height=600).startswith("<iframe sandbox=")
        True
        >>> w.close()
        """
        from attn_widget.page.page import frame
        from attn_widget.page.saved_run import ExportOptions, saved_run

        height = check_count(height, "height", 1, LARGEST_HEIGHT, "CSS px.")
        run = saved_run(self.source, self.selection, ExportOptions(title=title))
        return frame(run, height, title)

    # -- how -----------------------------------------------------------------------------------

    def _view(self, view: str | None) -> str:
        from attn_widget.export.caption import DEFINITIONS

        if view is None:
            return str(self.view)
        return check_choice(view, "view", DEFINITIONS)

    def _caption(self, view: str) -> dict[str, Any]:
        from attn_widget.export.caption import caption
        from attn_widget.protocol.pack import unpack

        return caption(unpack(self._paint())[0], self.selection, view)

    def _table(self, view: str) -> Table:
        from attn_widget.export.tables import table

        return table(self.source, self.selection, view)

    def _paint(self) -> bytes:
        _ = self.source  # refuses a closed widget
        return self.first_paint

    def _give(self, text: str, target: Any) -> str | None:
        if target is None:
            return text
        write(target, text.encode("utf-8"))
        return None

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
