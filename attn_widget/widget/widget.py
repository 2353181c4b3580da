"""AttentionWidget: the selection as traits, the first paint as bytes, slices on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast, get_args

import traitlets as t

from attn_widget.analysis import Analysis
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.checks import check_choice, check_flag, check_kind, short_repr
from attn_widget.errors import InputTypeError, SliceError
from attn_widget.features import declared, loaded, with_features
from attn_widget.figures.catalog.choices import (
    QUANTITIES,
    SCALES,
    VIEWS,
    Quantity,
    Scale,
    ViewName,
)
from attn_widget.model.encoder import HeadAddress
from attn_widget.model.families import Part
from attn_widget.protocol.initial_payload import first_paint, opening_of, without_other_parts
from attn_widget.protocol.request import integer
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import (
    NAMES,
    SHADES,
    Selection,
)
from attn_widget.protocol.tasks import Tasks
from attn_widget.widget import actions
from attn_widget.widget.actions import Analyze, Work
from attn_widget.widget.base import RunWidget, in_range
from attn_widget.widget.code import page_code
from attn_widget.widget.interventions import ACTIONS, INTERVENTIONS, check_part, values_of
from attn_widget.widget.open_widgets import OPEN, warn_of_many
from attn_widget.widget.runs import PLACES, HeadChoice, Runs
from attn_widget.widget.traits import (
    Int,
    Name,
    RunTraits,
    Trait,
    as_trait_error,
    check_traits,
    synced,
)

Status = Literal["ready", "loading", "running", "closed", "error"]
Saved = Literal["page", "full", "picture", "none"]
STATUSES: tuple[Status, ...] = get_args(Status)
SAVED: tuple[Saved, ...] = get_args(Saved)
REPR_CHARACTERS = 40


class Opens(Protocol):
    """Function that a feature's ``opened`` name: what to do once a run has opened on a view."""

    def __call__(self) -> None: ...


class Beside(Protocol):
    """Answers requests of the addresses of a feature, for one widget."""

    def at(self, address: str) -> Tasks: ...

    def close(self) -> None: ...


class AnswersBeside(Protocol):
    """Function that a feature's ``addresses`` name; ``runs`` gives the widget's run, and what runs another text (None where nothing can)."""

    def __call__(self, runs: Callable[[], tuple[Analysis, Analyze | None]], /) -> Beside: ...


if TYPE_CHECKING:
    from attn_widget.features.public import OfRuns  # pyright: ignore[reportMissingModuleSource]
else:
    OfRuns = with_features("traits", RunTraits)


class AttentionWidget(OfRuns, RunWidget[Runs]):
    """An interactive view of a model's run on one text.

    Made by `attn_widget.show`; `analysis` holds the figures. Without a layer or a head it opens on a link between two words
    that says something of the text, and on the head that gives it: docs/opening.md has the rule.

    Parameters
    ----------
    analysis : Analysis
        What to show. Of an encoder-decoder, the part to begin with.
    analyze : callable, optional
        Lets `run` and the page show another text; see `attn_widget.widget.actions.Analyze`.
    **traits
        Initial values of the public traits below.

    Raises
    ------
    traitlets.TraitError
        A trait outside its range; the message names what is allowed. The widget keeps its state.
    """

    _INSTEAD = "Save it with w.to_html(path), or its numbers with w.to_dataframe()."
    _ANOTHER = "w.run(text) shows another one"

    part: Trait[Part | None] = synced(Name(None))
    """Part of an encoder-decoder: ``"encoder"``, ``"decoder"`` or ``"cross"`` (default: target tokens look at source
    tokens); None where the model reads one text. Layer, head, token, pair, group and quantity are of the part that is shown;
    each keeps its own."""
    token: Trait[int | None] = synced(Int(None, allow_none=True))
    """Focus token (a query row), or None. By default, if no head was given, the query of the link that
    the widget opens on."""
    pair: t.TraitType[list[int] | None, list[int] | tuple[int, int] | None] = synced(
        t.List(Int(), default_value=None, allow_none=True, minlen=2, maxlen=2)
    )
    """Pinned ``[query, key]``, or None. Default None."""
    metric: Trait[str] = synced(t.Unicode("thumbnails"))
    """Shading of the head grid: ``"thumbnails"`` (default), ``"pair"`` (the weight at the pinned pair), ``"role"``, or the
    key of a metric, a specialization or a pattern."""
    view: Trait[ViewName] = synced(t.Enum(tuple(VIEWS), "attention"))
    """The open view: the name of a tab, in lower case. Default ``"attention"``."""
    quantity: Trait[Quantity] = synced(t.Enum(QUANTITIES, "weights"))
    """Quantity of the matrix: ``"weights"`` (default), ``"scores"``, ``"rollout"``; for what attention carries,
    ``"norms"``, ``"mixing"``, ``"alti"``, ``"value_zeroing"``; and the rollouts of these, such as ``"alti_rollout"``."""
    group: t.TraitType[list[int], list[int] | tuple[int, ...]] = synced(t.List(Int()))
    """Tokens gathered for a sum, or a region of a picture. Default none."""
    special: Trait[bool] = synced(t.Bool(True))
    """Show special tokens. Default True."""
    words: Trait[bool] = synced(t.Bool(False))
    """Merge subwords into words. Default False, or True where the link that the widget opens on is between parts of words."""
    scale: Trait[Scale] = synced(t.Enum(SCALES, "words"))
    """The ramp: ``"words"`` (default; 0 to the largest weight between words, special tokens beyond it
    hatched), ``"head"`` (0 to this head's maximum), ``"unit"`` (0 to 1) or ``"sqrt"`` (square root, to this
    head's maximum)."""
    status: Trait[Status] = synced(t.Enum(STATUSES, "ready"))
    """Activity of the kernel for this widget: one of `STATUSES`."""
    history: Trait[list[dict[str, Any]]] = synced(t.List(t.Dict()))
    """``{"text", "text_pair"}`` of the last ten different runs, newest first."""
    masked: t.TraitType[list[int], list[int] | tuple[int, ...]] = synced(t.List(Int()))
    """Tokens that this run reads as the mask token; set it to run again. Default none."""
    heads_off: t.TraitType[list[list[Any]], list[list[Any]] | list[HeadAddress]] = synced(
        t.List(t.List(t.Union([Int(), t.Unicode()]), minlen=2, maxlen=3))
    )
    """``[layer, head]`` of each head that is switched off in this run; set it to run again. Default none. Of an
    encoder-decoder ``[part, layer, head]``; two numbers are a head of the part that is shown."""
    saved: Trait[Saved] = cast("Any", t.Unicode("page"))
    """Content of the output for readers without a kernel: ``"page"`` (default; a small live page and a
    picture), ``"full"`` (all that `to_html` keeps), ``"picture"`` or ``"none"``. Not synced; read when the widget is displayed."""

    # Two runs are compared within one part: it cannot be switched.
    _part_alone: ClassVar[bool] = False
    _beside: Mapping[str, Beside] = MappingProxyType({})
    _tasks_of_parts: Mapping[str, Tasks] = MappingProxyType({})

    def __init__(
        self, analysis: Analysis, *, analyze: Analyze | None = None, **traits: Any
    ) -> None:
        hint = "show(text) runs a model and shows it; analyze(text) gives an Analysis."
        check_kind(analysis, Analysis, "analysis", hint)
        if analyze is not None and not callable(analyze):
            raise InputTypeError(
                f"analyze is {short_repr(analyze)}, expected a callable.", "Leave it out."
            )
        check_traits(traits, (*NAMES, "saved"), "AttentionWidget()")
        part = traits.pop("part", None)
        if part is not None:
            analysis = analysis.of(check_part(analysis, part))
        choice = HeadChoice(lambda: {name: getattr(self, name) for name in (*PLACES, "words")})
        self._runs = runs = Runs(
            self._batch, analysis, analyze, choice, lambda: self.view, self._in_another
        )
        self._tasks = Tasks(lambda: runs.analysis)
        self._tasks_of_parts = {
            name: Tasks(partial(runs.part, name)) for name in analysis.model.parts if name != "self"
        }
        super().__init__(**page_code(), **runs.shown, **values_of(analysis), **traits)
        asked = ("layer", "head", "token", "pair", "group")
        opened = opening_of(analysis, Selection.of(self, [n for n in asked if n in traits]))
        choice.opened = None if {"layer", "head"} & traits.keys() else opened
        streamed = comes_in_layers(analysis.trace)
        paint = first_paint(
            analysis, opened.layer, opened.head, streamed=streamed, live=True, view=self.view
        )
        if self._part_alone:
            paint = without_other_parts(paint)
        with runs.update() as set_traits:
            words = {"words": self.words} if "words" in traits else {}
            set_traits(**{**opened.selected(), **words}, first_paint=paint)
        OPEN.add(self)
        warn_of_many()
        if self.view in (opened := dict(declared("opened"))):
            prepare: Opens = loaded(opened[self.view])
            prepare()

    def _assign(self, name: str, value: Any) -> None:
        if name not in INTERVENTIONS:
            super()._assign(name, value)
            return
        checked = self._checked(name, value)
        if checked == INTERVENTIONS[name].of(self.analysis):  # also when a run sets it
            super()._assign(name, checked)
            return
        work, reported = self._work_with(name, checked), INTERVENTIONS[name].is_pass
        with as_trait_error():
            self._require_runs().run(work, reported=reported)

    def _checked(self, name: str, value: Any) -> Any:
        """The value of an intervention, as its trait has it."""
        value = getattr(type(self), name).validate(self, value)
        analysis = self.analysis
        if value == INTERVENTIONS[name].of(analysis):
            return value
        with as_trait_error():
            return INTERVENTIONS[name].check(analysis, value)

    def _work_with(self, name: str, value: Any) -> Work:
        analysis = self.analysis
        return lambda progress: INTERVENTIONS[name].run(analysis, value, progress)

    def set_trait(self, name: str, value: Any) -> None:
        """As in traitlets; an intervention is run first."""
        if isinstance(name, str) and name in INTERVENTIONS:
            setattr(self, name, value)
        else:
            super().set_trait(name, value)

    @property
    def analysis(self) -> Analysis:
        """The figures of what is shown.

        Raises
        ------
        InputError
            The widget was closed.
        """
        return self._require_runs().require()

    def _open_source(self) -> RunSource | None:
        runs = self._runs
        return None if runs is None or runs.analysis is None else RunSource(runs.analysis)

    # -- runs ----------------------------------------------------------------------------------

    def run(
        self,
        text: str,
        text_pair: str | None = None,
        *,
        output: str | None = None,
        truncation: bool | None = None,
    ) -> None:
        """Run the model on another text and show it here; on failure the old picture stays.

        A run that the page has started is canceled.

        Parameters
        ----------
        text, text_pair : str
        output : str, optional
            What an encoder-decoder writes for the text. By default it writes as many tokens as `show` was given
            (``generate``), or the output that `show` was given.
        truncation : bool, optional
            As in `analyze`; by default what `show` was given.

        Raises
        ------
        AttnWidgetError
            The text cannot be used, there is no model to run it, or the page has replaced or
            canceled this run.
        """
        if truncation is not None:
            truncation = check_flag(truncation, "truncation")
        runs = self._require_runs()
        runs.run(runs.work_of(text, text_pair, truncation, output))

    def close(self) -> None:
        """Free the run's tensors here and in the page. The traits stay readable."""
        OPEN.discard(self)
        for answering in (self._tasks, *self._beside.values(), *self._tasks_of_parts.values()):
            if answering is not None:
                answering.close()
        if self._open_source() is not None:
            self._require_runs().close()
            super().close()

    def _begin(self, kind: str, asked: Any) -> None:
        analysis, runs = self.analysis, self._require_runs()
        if kind == "run":
            texts, cut = actions.texts_of(asked), actions.truncation_of(asked)
            runs.start(runs.work_of(*texts, cut, actions.output_of(asked)))
        elif kind == "continue":
            writing = analysis.model.writing
            position = integer(asked, "position", 0, writing.trace.n_tokens)
            token = integer(asked, "token", 0, writing.model.vocab_size)
            text = writing.model.text_before(position, token)
            output = None if analysis.part == "self" else text
            source = text if output is None else analysis.model.source_text or ""
            runs.start(runs.work_of(source, None, None, output))
        else:
            name, field, items = ACTIONS[kind]
            value = INTERVENTIONS[name].check(analysis, actions.list_of(asked, field, items))
            runs.start(self._work_with(name, value))

    def _take(self, state: dict[str, Any]) -> None:
        """As in the base; a run with another intervention comes once everything has been checked."""
        asked = {name: value for name, value in state.items() if name in INTERVENTIONS}
        for name, value in asked.items():
            self._checked(name, value)
        super()._take({name: value for name, value in state.items() if name not in asked})
        for name, value in asked.items():
            setattr(self, name, value)

    @t.observe("status")
    def _hold_stream(self, change: Any) -> None:
        assert self._tasks is not None
        for tasks in (self._tasks, *self._tasks_of_parts.values()):
            tasks.hold(change["new"] == "running")

    # -- other runs ----------------------------------------------------------------------------

    def _source_at(self, address: object) -> Tasks:
        assert self._tasks is not None
        if address is None or self._open_source() is None:
            return self._tasks
        if isinstance(address, Mapping) and [*address] == ["part"]:
            name = address["part"]
            if isinstance(name, str) and name in self._tasks_of_parts:
                return self._tasks_of_parts[name]
            parts = ", ".join(self._tasks_of_parts)
            raise SliceError(
                f"This run has no part {short_repr(name)}.",
                f"It has {parts}." if parts else "Its model reads one text, and has one part.",
            )
        known = [name for name, _ in declared("addresses")]
        if not isinstance(address, str) or address not in known:
            has = f"It has {' and '.join(known)}." if known else ""
            raise SliceError(f"This widget has no run {short_repr(address)}.", has)
        return self._answering(address).at(address)

    def _answering(self, address: str) -> Any:
        """The object with which a feature answers requests of an address."""
        path = dict(declared("addresses"))[address]
        if path not in self._beside:
            runs = self._require_runs()
            beside: AnswersBeside = loaded(path)
            answering = beside(lambda: (runs.require(), runs.analyze))
            self._beside = {**self._beside, path: answering}
        return self._beside[path]

    # -- what is allowed ---------------------------------------------------------------------

    @t.validate("token")
    def _valid_token(self, proposal: Any) -> int | None:
        value = proposal["value"]
        return None if value is None else in_range("token", value, self.analysis.trace.n_tokens)

    @t.validate("pair")
    def _valid_pair(self, proposal: Any) -> list[int] | None:
        value = proposal["value"]
        if value is None:
            return None
        sizes = self.analysis.trace.n_tokens, self.analysis.trace.n_keys
        return [in_range("pair", item, size) for item, size in zip(value, sizes, strict=True)]

    @t.validate("group")
    def _valid_group(self, proposal: Any) -> list[int]:
        return [in_range("group", i, self.analysis.trace.n_keys) for i in proposal["value"]]

    @t.validate("metric", "saved")
    def _valid_name(self, proposal: Any) -> str:
        name: str = proposal["trait"].name
        with as_trait_error():
            return check_choice(proposal["value"], name, SHADES if name == "metric" else SAVED)

    # -- how it prints -----------------------------------------------------------------------

    def __repr__(self) -> str:
        source = self._open_source()
        if source is None:
            return "<AttentionWidget, closed>"
        text = self.text or source.title
        text = text if len(text) <= REPR_CHARACTERS else f"{text[:REPR_CHARACTERS]}…"
        head = "mean" if self.head == "mean" else f"H{self.head}"
        a = self.analysis
        tokens = (
            f"{a.trace.n_tokens}" if a.trace.square else f"{a.trace.n_tokens} by {a.trace.n_keys}"
        )
        part = "" if self.part is None else f"{self.part} "
        return f"<AttentionWidget {text!r}, {tokens} tokens, {part}L{self.layer} {head}>"
