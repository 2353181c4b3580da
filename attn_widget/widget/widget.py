"""AttentionWidget: the selection as traits, the first paint as bytes, slices on request."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import traitlets as t

from attn_widget.analysis import Analysis
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.analysis.opening import Opening
from attn_widget.checks import check_kind, nearest, shown
from attn_widget.errors import AttnWidgetError, InputTypeError
from attn_widget.influence.methods import METHODS
from attn_widget.influence.targets import Target
from attn_widget.protocol.answer import Reply
from attn_widget.protocol.aside import Aside
from attn_widget.protocol.paint import first_paint, opening, opening_of
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import (
    LARGEST_DEPTH,
    LARGEST_TOP_K,
    NAMES,
    QUANTITIES,
    SCALES,
    SHADES,
    VIEWS,
    Selection,
)
from attn_widget.protocol.slices.influence import as_target, canonical, plain
from attn_widget.widget.actions import Analyze
from attn_widget.widget.base import SourceWidget, in_range
from attn_widget.widget.code import page_code
from attn_widget.widget.running import RunningWidget
from attn_widget.widget.traits import Int, check_traits

if TYPE_CHECKING:
    from attn_widget.comparison.comparison import Comparison
    from attn_widget.figures.arrays import Head
    from attn_widget.trace.forward import Progress
    from attn_widget.widget.comparing import Comparing

SAVED = ("page", "full", "engine", "picture", "none")
MANY_OPEN = 50  # widgets; each holds its run's tensors until it is closed
REPR_CHARACTERS = 40
TWO_RUNS = ("compared", "patched", "recovery", "uncompare")  # kinds of slices

_open: weakref.WeakSet[AttentionWidget] = weakref.WeakSet()
_many_told = False


def about_two_runs(request: object) -> bool:
    """Whether a request is of a comparison, or of its second run."""
    if not isinstance(request, Mapping):
        return False
    about = request.get("of") if request.get("kind") == "drop" else request
    kinds = (request.get("kind"), about.get("kind") if isinstance(about, Mapping) else None)
    return "run" in request or any(isinstance(kind, str) and kind in TWO_RUNS for kind in kinds)


def close_all() -> None:
    """Close every open widget and free the memory of their runs in the kernel and in the page."""
    for widget in list(_open):
        widget.close()


def tell_of_many() -> None:
    """Warn of many open widgets, and again only after half of them were closed."""
    global _many_told
    if len(_open) < MANY_OPEN // 2:
        _many_told = False
    if len(_open) < MANY_OPEN or _many_told:
        return
    _many_told = True
    # A ResourceWarning would say it better, but Python shows none unless asked to.
    warnings.warn(
        f"{len(_open)} attention widgets are open, and each keeps its run's tensors; "
        "free them with widget.close() or attn_widget.close_all().",
        UserWarning,
        stacklevel=4,  # the caller of show()
    )


class AttentionWidget(SourceWidget, RunningWidget):
    """An interactive view of a model's run on one text.

    Made by `attn_widget.show`; `analysis` holds the figures.

    Parameters
    ----------
    analysis : Analysis
        What to show.
    analyze : callable, optional
        Lets `run` and the page show another text; see `attn_widget.widget.actions.Analyze`.
    **traits
        Initial values of the public traits below.

    Raises
    ------
    traitlets.TraitError
        A trait outside its range; the message names what is allowed. The widget keeps its state.
    """

    INSTEAD = "Save it with w.to_html(path), or its figures with w.to_json()."

    layer = Int(0).tag(sync=True)
    """Selected layer, 0-based. By default that of the most informative head on the text."""
    head = t.Union([Int(), t.Enum(["mean"])], default_value=0).tag(sync=True)
    """Selected head, 0-based, or ``"mean"``: the layer's mean matrix. By default the most informative one
    on the text: it has the largest mean weight, beyond 1/n, between different words more than two words
    apart, minus the mean of its layer's other heads."""
    token = Int(None, allow_none=True).tag(sync=True)
    """Focus token (a query row), or None. By default, if no head was given, the query of the head's
    strongest link between words."""
    pair = t.List(Int(), default_value=None, allow_none=True, minlen=2, maxlen=2).tag(sync=True)
    """Pinned ``[query, key]``, or None. Default None."""
    metric = t.Unicode("thumbnails").tag(sync=True)
    """Shading of the head grid: ``"thumbnails"`` (default), ``"role"``, or the key of a metric, a
    specialization or a pattern."""
    view = t.Enum(VIEWS, "attention").tag(sync=True)
    """The open view: the name of a tab, in lower case. Default ``"attention"``."""
    quantity = t.Enum(QUANTITIES, "weights").tag(sync=True)
    """Quantity of the matrix: ``"weights"`` (default), ``"scores"``, ``"rollout"``; for what attention carries,
    ``"norms"``, ``"mixing"``, ``"alti"``, ``"value_zeroing"``; and the rollouts of these, such as ``"alti_rollout"``."""
    group = t.List(Int()).tag(sync=True)
    """Tokens gathered for a sum. Default none."""
    top_k = Int(3, min=1, max=LARGEST_TOP_K).tag(sync=True)
    """Children of each token in the tree, 1 to 10. Default 3."""
    depth = Int(3, min=1, max=LARGEST_DEPTH).tag(sync=True)
    """Levels of the tree below its root, 1 to 6. Default 3."""
    special = t.Bool(True).tag(sync=True)
    """Whether special tokens are shown. Default True."""
    words = t.Bool(False).tag(sync=True)
    """Whether subwords are merged into words. Default False."""
    scale = t.Enum(SCALES, "words").tag(sync=True)
    """The ramp: ``"words"`` (default; 0 to the largest weight between words, special tokens beyond it
    hatched), ``"head"`` (0 to this head's maximum), ``"unit"`` (0 to 1) or ``"sqrt"`` (square root, to this
    head's maximum)."""
    target: Any = t.Instance(dict, allow_none=True).tag(sync=True)
    """Number that the view Why explains: None (default; derived from the text) or a target from `attn_widget.target`.
    It is stored as a dict of its fields by ids, which ``target(**w.target)`` turns into a target again."""
    method = t.Enum(METHODS, "decomposition").tag(sync=True)
    """Method of the contributions that color the text in Why; see `Analysis.contributions`."""
    _compared = Int(0).tag(sync=True)
    saved = t.Enum(SAVED, "page")
    """Content of the output for readers without a kernel: ``"page"`` (default; a small live page and a
    picture), ``"full"`` (all that `to_html` keeps), ``"engine"`` (also a link to a page with an engine, which is
    written to the folder ``attn-widget-pages``, with its 49 MB of weights once for all cells), ``"picture"`` or ``"none"``.
    Not synced; read when the widget is displayed."""

    def __init__(
        self, analysis: Analysis, *, analyze: Analyze | None = None, **traits: Any
    ) -> None:
        self._aside = Aside()  # first of all: a widget that cannot be made is closed all the same
        self._comparing: Comparing | None = None
        hint = "show(text) runs a model and shows it; analyze(text) gives an Analysis."
        check_kind(analysis, Analysis, "analysis", hint)
        if analyze is not None and not callable(analyze):
            raise InputTypeError(
                f"analyze is {shown(analyze)}, expected a callable.", "Leave it out."
            )
        check_traits(traits, (*NAMES, "saved"), "AttentionWidget()")
        chosen = traits.get("target")
        if isinstance(chosen, Target):
            traits["target"] = plain(chosen)
        self._opened: Opening | None = None  # what was chosen and not asked for
        super().__init__(analysis, analyze=analyze, **page_code(), **traits)
        asked = ("layer", "head", "token", "pair", "group")
        opened = opening_of(analysis, Selection.of(self, [n for n in asked if n in traits]))
        self._opened = None if {"layer", "head"} & traits.keys() else opened
        streamed = comes_in_layers(analysis.trace)
        paint = first_paint(analysis, opened.layer, opened.head, streamed=streamed, live=True)
        self._tell(
            self._set(layer=opened.layer, head=opened.head, token=opened.token, first_paint=paint)
        )
        _open.add(self)
        tell_of_many()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, plain(value) if isinstance(value, Target) else value)

    def close(self) -> None:
        """Free the run's tensors here and in the page. The traits stay readable."""
        _open.discard(self)
        self._aside.close()
        if self._comparing is not None:
            self._comparing.close()
        super().close()

    def _open_source(self) -> RunSource | None:
        return None if self._analysis is None else RunSource(self._analysis)

    def _reply(self, request: object) -> Reply:
        if self._analysis is not None and about_two_runs(request):
            reply = self._two_runs().answer(request)
            if reply is not None:
                return reply
        return self._aside.answer(self._analysis, request)

    def _two_runs(self) -> Comparing:
        """The comparison of this widget; its code is loaded when the page first asks for one."""
        if self._comparing is None:
            from attn_widget.widget.comparing import Comparing

            self._comparing = Comparing(lambda: (self.analysis, self._analyze))
        return self._comparing

    def _show_compared(self, comparison: Comparison) -> None:
        """Let the page open a comparison of this widget's run."""
        self._two_runs().show(comparison, comparison.b)
        self._compared += 1

    def _open_in(self, analysis: Analysis, same: bool, progress: Progress) -> Opening:
        return (
            self._kept_in(analysis)
            if same or self._left()
            else opening(analysis, progress=progress)
        )

    def _kept_in(self, analysis: Analysis) -> Opening:
        """The selected head, or the nearest one that ``analysis`` has."""
        head = self.head if self.head == "mean" else min(self.head, analysis.n_heads - 1)
        return Opening(min(self.layer, analysis.n_layers - 1), cast("Head", head), None)

    def _left(self) -> bool:
        """Whether another head was chosen than the one that the widget opened on by itself."""
        opened = self._opened
        return opened is None or (self.layer, self.head) != (opened.layer, opened.head)

    def _selection_in(self, analysis: Analysis, opened: Opening, same: bool) -> dict[str, Any]:
        if same or self._left():  # while it ran a reader may have gone to another head
            opened = self._kept_in(analysis)
        else:
            self._opened = opened
        dropped = {} if same else {"token": opened.token, "pair": None, "group": [], "target": None}
        return {"layer": opened.layer, "head": opened.head, **dropped}

    @t.observe("status")
    def _hold_stream(self, change: Any) -> None:
        self._aside.hold(change["new"] == "running")

    # -- what is allowed ---------------------------------------------------------------------

    @t.validate("token")
    def _valid_token(self, proposal: Any) -> int | None:
        value = proposal["value"]
        return None if value is None else in_range("token", value, self.analysis.n_tokens)

    @t.validate("pair")
    def _valid_pair(self, proposal: Any) -> list[int] | None:
        value = proposal["value"]
        if value is None:
            return None
        return [in_range("pair", item, self.analysis.n_tokens) for item in value]

    @t.validate("group")
    def _valid_group(self, proposal: Any) -> list[int]:
        return [in_range("group", i, self.analysis.n_tokens) for i in proposal["value"]]

    @t.validate("target")
    def _valid_target(self, proposal: Any) -> dict[str, Any] | None:
        value = proposal["value"]
        if value is None:
            return None
        try:
            return canonical(self.analysis, as_target(value))
        except AttnWidgetError as error:
            raise t.TraitError(f"target: {error}") from error

    @t.validate("metric")
    def _valid_metric(self, proposal: Any) -> str:
        value: str = proposal["value"]
        if value not in SHADES:
            raise t.TraitError(
                f"metric is {value!r}, expected one of {', '.join(SHADES)}. {nearest(value, SHADES)}".strip()
            )
        return value

    # -- how it prints -----------------------------------------------------------------------

    def __repr__(self) -> str:
        if self._analysis is None:
            return "<AttentionWidget, closed>"
        text = self.text if len(self.text) <= REPR_CHARACTERS else f"{self.text[:REPR_CHARACTERS]}…"
        head = "mean" if self.head == "mean" else f"H{self.head}"
        return f"<AttentionWidget {text!r}, {self.analysis.n_tokens} tokens, L{self.layer} {head}>"
