"""Base of all widgets, whatever their source: the page's code, slices, display and exports."""

from __future__ import annotations

import math
import os
import sys
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traitlets as t
from anywidget.experimental import command
from ipywidgets.widgets.widget import widget_serialization

from attn_widget.checks import check_choice, check_count, check_number
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.exports.browser import draw
from attn_widget.features.exports.caption import caption
from attn_widget.features.exports.matrix import shown_values
from attn_widget.features.exports.tables import table
from attn_widget.features.exports.text import Table, to_csv, to_json
from attn_widget.figures.arrays import Float32, Head
from attn_widget.figures.catalog.choices import THEMES, Theme
from attn_widget.host.files import destination, write
from attn_widget.host.frames import dataframe
from attn_widget.page.page import frame, page_html
from attn_widget.page.saved_run import ExportOptions, PageOptions, saved_run
from attn_widget.page.saving import save_page
from attn_widget.protocol.answer import Reply, replied
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.request import addressed, check_request
from attn_widget.protocol.selection import LARGEST_HEIGHT, Selection
from attn_widget.protocol.source import Answers, Source
from attn_widget.widget.code import PageCode
from attn_widget.widget.display import DisplayOnce, saved_outputs
from attn_widget.widget.traits import CheckedWidget, Int, Trait, page_traits, synced

if TYPE_CHECKING:
    from typing_extensions import Unpack

WIDTHS = range(320, 4001)  # CSS px: what the page can lay out
SCALES = (0.5, 8.0)  # pixels to a CSS pixel
PICTURE_THEMES = ("light", "dark")
PAPERS = ("A4", "Letter")
PAPER_WIDTH = 700  # CSS px: between the margins of both; the page's print.css has the same


class SourceWidget(CheckedWidget):
    """A widget over a `Source`; subclasses say which, and what can be selected in it."""

    # Declared, because a path on the class would be read when the package is imported.
    _esm = t.Unicode().tag(sync=True)
    _code = t.Instance(PageCode, allow_none=True).tag(sync=True, **widget_serialization)

    layer: Trait[int] = synced(Int(0))
    """Selected layer, 0-based. By default that of the head on which the widget opens."""
    head: Trait[Head] = synced(t.Union([Int(), t.Enum(["mean"])], default_value=0))
    """Selected head, 0-based, or ``"mean"``: the mean of the layer's heads. By default the one on which the widget opens."""
    theme: Trait[Theme] = synced(t.Enum(THEMES, "auto"))
    """``"auto"`` (follows the host), ``"light"`` or ``"dark"``."""
    height: Trait[int | None] = synced(Int(None, allow_none=True, min=1, max=LARGEST_HEIGHT))
    """Height of the open view in px, 1 to 100,000; None (default) fits the content."""
    chrome: Trait[bool] = synced(t.Bool(True))
    """False shows only the open view and its caption, for slides and tutorials. Default True."""
    view: Any
    first_paint: Trait[bytes] = synced(t.Bytes(b""))
    """The packed first paint (see ``docs/protocol.md``)."""

    def __init__(self, **traits: Any) -> None:
        if "shinywidgets" in sys.modules:  # which gives a widget without a height 400 px
            traits.setdefault("layout", {"height": "max-content"})
        self._once = DisplayOnce()
        super().__init__(**traits)

    @abstractmethod
    def _open_source(self) -> Source | None:
        """The analysis or profile shown; None once the widget is closed."""

    @property
    def source(self) -> Source:
        """The source behind the widget.

        Raises
        ------
        InputError
            The widget was closed.
        """
        source = self._open_source()
        if source is None:
            raise InputError("This widget is closed.", "Call show() again to make a new one.")
        return source

    @property
    def selection(self) -> Selection:
        """The visible part: the traits as one value."""
        return Selection.of(self, self.source.options)

    def display(self) -> None:
        """Display the widget in the running notebook cell; its value adds no second copy."""
        self._once.display(self)

    @command
    def slice(self, request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Answer a slice request of the page; see `attn_widget.protocol.answer`."""

        def reply() -> Reply:
            address, asked = addressed(check_request(request))
            return self._source_at(address).answer(asked)

        return replied(reply, request)

    @command
    def echo(self, _request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Answer at once: all that the page sent before has been received."""
        return {"ok": True}, []

    @abstractmethod
    def _source_at(self, address: object) -> Answers:
        """The source that requests of this address are about (docs/protocol.md, "Slices"), also of a closed widget.

        Raises
        ------
        SliceError
            There is no run of that address.
        """

    @t.validate("layer")
    def _valid_layer(self, proposal: Any) -> int:
        return in_range("layer", proposal["value"], self.source.shape[0])

    @t.validate("head")
    def _valid_head(self, proposal: Any) -> int | str:
        value = proposal["value"]
        return value if value == "mean" else in_range("head", value, self.source.shape[1])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        source = self._open_source()
        if bundle is None or source is None:
            return bundle
        data, metadata = bundle
        saved: str = getattr(self, "saved", "page")
        return {**data, **saved_outputs(source, self.selection, saved)}, metadata

    def _ipython_display_(self) -> None:
        """Skip the automatic display if `show()` has already displayed the widget; else leave it to the mimebundle."""
        if not self._once.takes():
            raise NotImplementedError

    # -- exports ------------------------------------------------------------------------------

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
        target = None if path is None else destination(path, ".csv")
        text = to_csv(self._table(self._view(view)))
        if target is None:
            return text
        write(target, text.encode())
        return None

    def to_json(
        self, path: str | os.PathLike[str] | None = None, view: str | None = None
    ) -> str | None:
        """As `to_csv`, with the caption of the view as JSON: what "JSON" in the menu of the page saves.

        ``view, model, revision, text, text_pair, masked, profile, layer, head, definition, options,
        versions, columns, rows``; N/A is null.

        Parameters
        ----------
        path, view
            As in `to_csv`.
        """
        target = None if path is None else destination(path, ".json")
        name = self._view(view)
        shown = caption(unpack(self._paint())[0], self.selection, name)
        text = to_json(shown, self._table(name))
        if target is None:
            return text
        write(target, text.encode())
        return None

    def to_dataframe(self, view: str | None = None) -> Any:
        """The table of `to_csv` as a pandas DataFrame; N/A is NaN (needs the extra ``pandas``).

        Parameters
        ----------
        view
            As in `to_csv`.
        """
        shown = self._table(self._view(view))
        rows = ([math.nan if cell is None else cell for cell in row] for row in shown.rows)
        records = (dict(zip(shown.columns, row, strict=True)) for row in rows)
        return dataframe(records).reindex(columns=list(shown.columns))

    def to_numpy(self) -> Float32:
        """The matrix of the Attention view, float32 [rows, columns]: rows are queries, columns keys.

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

    def save_pdf(
        self, path: str | os.PathLike[str], view: str | None = None, *, paper: str = "A4"
    ) -> None:
        """As `save_png`, on pages for printing: a file that ends with ``.pdf``.

        The whole text, the heads, the view with all rows of its tables, and a caption; no controls,
        in light colors. Text stays text: it can be searched and copied.

        Parameters
        ----------
        path, view
            As in `save_png`.
        paper : {"A4", "Letter"}
        """
        check_choice(paper, "paper", PAPERS)
        target = destination(path, ".pdf")
        write(target, self._draw("pdf", view, PAPER_WIDTH, 1, "light", paper=paper))

    def to_html(self, path: str | os.PathLike[str], **options: Unpack[PageOptions]) -> Path:
        """Save a page that stays interactive without a kernel or a network. See `attn_widget.to_html`.

        Parameters
        ----------
        path, **options
            As in `attn_widget.to_html`.

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
        return save_page([self._entry()], path, options)

    def as_html(self, height: int = 900, title: str | None = None) -> str:
        """The page of `to_html` in a frame, as HTML to put into other pages.

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
        height = check_count(height, "height", 1, LARGEST_HEIGHT, "CSS px.")
        run = saved_run(self.source, self.selection, ExportOptions(title=title))
        return frame(page_html(run, title), title or run.title, height)

    def _entry(self) -> tuple[Source, Selection]:
        """Content of this widget on a page."""
        return self.source, self.selection

    def _view(self, view: str | None) -> str:
        if view is None:
            return str(self.view)
        return check_choice(view, "view", self.source.views)

    def _paint(self) -> bytes:
        _ = self.source  # refuses a closed widget
        return self.first_paint

    def _table(self, view: str) -> Table:
        return table(self.source, self.selection, view)

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


def in_range(name: str, value: int, size: int) -> int:
    """``value`` as a trait that counts something of ``size`` parts."""
    if not 0 <= value < size:
        raise t.TraitError(f"{name} is {value}, expected 0 to {size - 1} (0-based).")
    return value
