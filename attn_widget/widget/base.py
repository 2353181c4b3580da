"""Base of all widgets, whatever their source: the page's code, slices, display and exports."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import traitlets as t
from anywidget.experimental import command
from ipywidgets.widgets.widget import widget_serialization

from attn_widget.checks import check_count
from attn_widget.errors import InputError
from attn_widget.features import with_features
from attn_widget.figures.arrays import Head
from attn_widget.figures.catalog.choices import THEMES, Theme
from attn_widget.host.installed import imported
from attn_widget.page.saving import framed, save_page
from attn_widget.page.shown import Shown, ShownSource
from attn_widget.page.spec import PageOptions, PageSpec
from attn_widget.protocol.answer import Answers, Reply, replied
from attn_widget.protocol.request import addressed, check_request
from attn_widget.protocol.selection import LARGEST_HEIGHT, Selection
from attn_widget.protocol.source import Source
from attn_widget.protocol.tasks import Tasks
from attn_widget.widget import captured
from attn_widget.widget.actions import kind_of
from attn_widget.widget.code import PageCode
from attn_widget.widget.display import (
    DisplayOnce,
    boxes_show,
    inside,
    lose_outputs_of_cell,
    saved_outputs,
)
from attn_widget.widget.jobs import Jobs
from attn_widget.widget.runs import SHOWN
from attn_widget.widget.traits import CheckedWidget, Int, Trait, synced

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from attn_widget.features.public import OfWidgets  # pyright: ignore[reportMissingModuleSource]
else:
    OfWidgets = with_features("widgets", CheckedWidget)


J = TypeVar("J", bound=Jobs)


class SourceWidget(OfWidgets):
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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # The page asks for "slice": the methods have an underscore, so that Tab does not offer them.
        cls._anywidget_commands = {
            name.removeprefix("_"): of for name, of in cls._anywidget_commands.items()
        }

    def __init__(self, **traits: Any) -> None:
        if imported("shinywidgets") is not None:  # which gives a widget without a height 400 px
            traits.setdefault("layout", {"height": "max-content"})
        self._once = DisplayOnce()
        super().__init__(**traits)
        boxes_show(self._outputs_in)

    @abstractmethod
    def _open_source(self) -> Source | None:
        """The analysis or profile shown; None once the widget is closed."""

    @property
    def _shown_source(self) -> Source:
        """The source behind the widget. Raises `InputError`: it was closed."""
        source = self._open_source()
        if source is None:
            raise InputError("This widget is closed.", "Call show() again to make a new one.")
        return source

    @property
    def selection(self) -> Selection:
        """The visible part: the traits as one value."""
        return Selection.of(self, self._shown_source.options)

    @property
    def _shown(self) -> Shown:
        """Content of a page or an output of this widget."""
        return ShownSource(self._shown_source, self.selection)

    def display(self) -> None:
        """Display the widget in the running notebook cell; its value adds no second copy."""
        self._once.display(self)

    def _saved_outputs(self) -> dict[str, str]:
        """Content of an output for readers without a kernel; none of a closed widget."""
        if captured.takes(self, self._outputs):
            return {}
        return self._outputs()

    def _outputs(self) -> dict[str, str]:
        saved: str = getattr(self, "saved", "page")
        return {} if self._open_source() is None else saved_outputs(self._shown, saved)

    @command
    def _slice(self, request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Answer a slice request of the page; see `attn_widget.protocol.answer`."""

        def reply() -> Reply:
            address, asked = addressed(check_request(request))
            return self._source_at(address).reply(asked)

        return replied(reply, request)

    @command
    def _echo(self, _request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Answer at once: all that the page sent before has been received."""
        return {"ok": True}, []

    @abstractmethod
    def _source_at(self, address: object) -> Answers:
        """The source that requests of this address are about (docs/protocol.md, "Slices"), also of a closed widget.

        Raises `SliceError`: there is no run of that address.
        """

    @t.validate("layer")
    def _valid_layer(self, proposal: Any) -> int:
        return in_range("layer", proposal["value"], self._shown_source.shape[0])

    @t.validate("head")
    def _valid_head(self, proposal: Any) -> int | str:
        value = proposal["value"]
        return value if value == "mean" else in_range("head", value, self._shown_source.shape[1])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return bundle
        data, metadata = bundle
        return {**data, **self._saved_outputs()}, metadata

    @staticmethod
    def _outputs_in(box: Any) -> dict[str, str]:
        """Content of a container's output for readers without a kernel: our widgets in it, one below the other."""
        ours = [widget for widget in inside(box) if isinstance(widget, SourceWidget)]
        if not ours:
            return {}
        lose_outputs_of_cell()  # those of the widgets themselves: this one takes their place
        found: list[dict[str, str]] = []
        for widget in ours:
            found.append(widget._saved_outputs())
            widget._once.boxed = bool(found[-1])
        kinds = dict.fromkeys(kind for output in found for kind in output)
        return {
            kind: "\n".join(output[kind] for output in found if kind in output)
            if kind == "text/html"
            else next(output[kind] for output in found if kind in output)
            for kind in kinds
        }

    def _ipython_display_(self) -> None:
        """Skip the automatic display if `show()` has already displayed the widget; else leave it to the mimebundle."""
        if not self._once.takes():
            raise NotImplementedError

    # -- exports ------------------------------------------------------------------------------

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
        return save_page([self._shown], path, PageSpec.of(options))

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
        return framed(self._shown, height, title)


class RunWidget(SourceWidget, Generic[J]):
    """A widget that shows another result once a run, which Python or the page starts, has made it."""

    _ANOTHER: ClassVar[str]  # the call that shows another text, for messages

    text: Trait[str] = synced(t.Unicode(""))
    """The text, the first of two, or the query. Read-only; `run` shows another one."""
    text_pair: Trait[str | None] = synced(t.Unicode(None, allow_none=True))
    """The second text, or None. Read-only, like ``text``."""
    progress: Trait[dict[str, Any]] = synced(t.Dict())
    """``{"label", "done", "total"}`` of a run that the page started, or ``{}``."""

    # A widget that cannot be made is closed all the same.
    _runs: J | None = None
    _tasks: Tasks | None = None

    def cancel(self) -> None:
        """Cancel a run that the page has started; the current picture stays."""
        self._require_runs().cancel()

    @command
    def _act(self, request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Start an action that the page requests; see `attn_widget.widget.actions`."""

        def start() -> Reply:
            kind, asked = kind_of(request)
            if kind == "cancel":
                self.cancel()
            else:
                self._begin(kind, asked)
            return {"ok": True, "data": {}, "arrays": []}, []

        return replied(start, request)

    @abstractmethod
    def _begin(self, kind: str, asked: Any) -> None:
        """Start the run of an action, one of `KINDS` but ``"cancel"``.

        Raises `AttnWidgetError`: the action is not one of this widget, or its request cannot be used.
        """

    def _require_runs(self) -> J:
        assert self._runs is not None  # set before any trait
        return self._runs

    @t.validate(*SHOWN)
    def _valid_shown(self, proposal: Any) -> Any:
        name = proposal["trait"].name
        if proposal["value"] != self._require_runs().shown[name]:
            raise t.TraitError(
                f"{name} is set by a run and cannot be changed here. {self._ANOTHER}."
            )
        return proposal["value"]


def in_range(name: str, value: int, size: int) -> int:
    """``value`` as a trait that counts something of ``size`` parts."""
    if not 0 <= value < size:
        raise t.TraitError(f"{name} is {value}, expected 0 to {size - 1} (0-based).")
    return value
