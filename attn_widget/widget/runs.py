"""The run that a widget shows, and its replacement by another: a new text, or the same one with masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import with_comparison_texts
from attn_widget.analysis.comparison_texts import carry_over
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.analysis.opening import Opening, opening
from attn_widget.errors import InputError
from attn_widget.figures.arrays import Head
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.widget.actions import Analyze, Work
from attn_widget.widget.interventions import values_of
from attn_widget.widget.jobs import Job, Jobs
from attn_widget.widget.traits import TraitBatch

if TYPE_CHECKING:
    Computed = tuple[Analysis, Opening, bytes]

PAST_RUNS = 10  # of the history
PLACES = ("layer", "head", "token", "pair", "group", "quantity")  # of one part
SHOWN = ("text", "text_pair", "history", "first_paint")  # of the run: nothing else sets them
OF_EVERY_PART = ("weights", "scores")  # quantities
RUNNING, DRAWING = "Running the model", "Drawing its heads"  # what progress is of


class HeadChoice:
    """The head that another run opens on: the selected one if it was chosen by hand, else a new choice.

    ``selected``: gives the values of the traits `PLACES`, and of ``words``. ``opened``: what the widget opened on
    by itself.
    """

    def __init__(self, selected: Callable[[], dict[str, Any]]) -> None:
        self._selected = selected
        self.opened: Opening | None = None
        self._left_at: dict[str, tuple[dict[str, Any], Opening | None]] = {}  # by part
        self._target_token: dict[str, int | None] = {}  # the focus token of decoder and cross

    def _place(self) -> tuple[int, Head]:
        selected = self._selected()
        return selected["layer"], selected["head"]

    def open_part(self, analysis: Analysis) -> Opening:
        """Opening of another part of the run that is shown: where it was left, or its own."""
        if analysis.part not in self._left_at:
            return opening(analysis)
        selected, _ = self._left_at[analysis.part]
        return Opening(selected["layer"], selected["head"], selected["token"])

    def selection_in_part(self, left: str, analysis: Analysis, opened: Opening) -> dict[str, Any]:
        """The selection of another part; that of the part ``left`` is kept. The target's parts share the focus token."""
        here = {name: value for name, value in self._selected().items() if name in PLACES}
        self._left_at[left] = here, self.opened
        if left != "encoder":
            self._target_token = {"token": here["token"]}
        found, self.opened = self._left_at.get(analysis.part, ({}, opened))
        fresh = opened.selected()
        if here["quantity"] not in OF_EVERY_PART:
            fresh["quantity"] = "weights"
        token = {} if analysis.part == "encoder" else self._target_token
        return {"pair": None, "group": [], **fresh, **found, **token}

    def forget_parts(self) -> None:
        """Forget where the parts were left: the text is another one."""
        self._left_at.clear()
        self._target_token = {}

    def open_in(self, analysis: Analysis, same: bool) -> Opening:
        """Opening of a run; ``same``: its positions are those that are shown."""
        keeps = same or self._is_chosen()
        return self._nearest(analysis) if keeps else opening(analysis)

    def selection_in(self, analysis: Analysis, opened: Opening, same: bool) -> dict[str, Any]:
        """The selection as far as it means something in ``analysis``, which opens on ``opened``."""
        dropped = {} if same else {"pair": None, "group": []}
        if same or self._is_chosen():  # while it ran a reader may have gone to another head
            opened = self._nearest(analysis)
            token = {} if same else {"token": None}
            return {"layer": opened.layer, "head": opened.head, **token, **dropped}
        before, self.opened = self.opened, opened
        is_own = before is not None and self._selected()["words"] == before.words
        words = opened.words if is_own else self._selected()["words"]
        return {**opened.selected(), **dropped, "words": words}

    def _is_chosen(self) -> bool:
        opened = self.opened
        return opened is None or self._place() != (opened.layer, opened.head)

    def _nearest(self, analysis: Analysis) -> Opening:
        """The selected head, or the nearest one that ``analysis`` has."""
        layer, head = self._place()
        nearest = head if head == "mean" else min(head, analysis.trace.n_heads - 1)
        return Opening(min(layer, analysis.trace.n_layers - 1), nearest, None)


class Runs(Jobs):
    """The current run of a widget, and its replacement by another.

    ``batch``: the traits of the widget. ``analyze``: runs another text. ``view``, ``in_another``: give the view,
    and the values of features' traits in another run. ``analysis``, ``analyze``: None once the widget is closed.
    ``shown``: values of the traits in `SHOWN`.
    """

    def __init__(
        self,
        batch: TraitBatch,
        analysis: Analysis,
        analyze: Analyze | None,
        choice: HeadChoice,
        view: Callable[[], str],
        in_another: Callable[..., dict[str, Any]],
    ) -> None:
        shown: dict[str, Any] = {
            **past_run(analysis),
            "history": [] if analysis.run is None else [past_run(analysis)],
            "first_paint": b"",
        }
        super().__init__(batch, shown)
        self.analysis: Analysis | None = analysis
        self.analyze = analyze
        self._choice = choice
        self._view = view
        self._in_another = in_another

    def require(self) -> Analysis:
        """The analysis that is shown; raises `InputError` once the widget is closed."""
        if self.analysis is None:
            raise InputError("This widget is closed.", "Call show() again to make a new one.")
        return self.analysis

    def part(self, name: str) -> Analysis | None:
        """The run that is shown, seen from a part of it; None once the widget is closed."""
        return None if self.analysis is None else self.analysis.of(name)

    def work_of(
        self,
        text: str,
        text_pair: str | None,
        truncation: bool | None,
        output: str | None = None,
    ) -> Work:
        """Work that runs another text; raises `InputError` where nothing can."""
        self.require()
        analyze = self.analyze
        if analyze is None:
            raise InputError(
                "This widget was made from figures only, or of an image: it has no model to run another text.",
                "Call show(text).",
            )
        forced = {} if output is None else {"output": output}
        return lambda progress: analyze(
            text, text_pair, truncation=truncation, progress=progress, **forced
        )

    def _free(self) -> None:
        self.analysis = self.analyze = None

    def _next(self, job: Job, work: Work) -> Computed:
        analysis = work(job.step(RUNNING))
        before = self.analysis
        if before is not None:
            analysis = with_comparison_texts(analysis, carry_over(before, analysis))
        if before is not None and of_same_run(before, analysis):
            opened = self._choice.open_part(analysis)
        else:
            if before is not None and before.part in analysis.model.parts:
                analysis = analysis.of(before.part)
            same = before is not None and same_positions(before, analysis)
            opened = self._choice.open_in(analysis, same)
        paint = first_paint(
            analysis,
            opened.layer,
            opened.head,
            job.step(DRAWING),
            streamed=comes_in_layers(analysis.trace),
            live=True,
            view=self._view(),
        )
        return analysis, opened, paint

    def _replace(self, computed: Computed) -> dict[str, Any]:
        analysis, opened, paint = computed
        before, self.analysis = self.require(), analysis
        present = past_run(analysis)
        past = [run for run in self.shown["history"] if run != present]
        if same := of_same_run(before, analysis):
            selected = self._choice.selection_in_part(before.part, analysis, opened)
        else:
            same = same_positions(before, analysis)
            if not same:
                self._choice.forget_parts()
            selected = self._choice.selection_in(analysis, opened, same)
        return {
            **self._in_another(analysis, same=same),
            **selected,
            **values_of(analysis),
            **present,
            "history": [present, *past][:PAST_RUNS],
            "first_paint": paint,
        }


def past_run(analysis: Analysis) -> dict[str, str | None]:
    """Entry of the history for a run: of an encoder-decoder the text that it reads, whatever part is shown."""
    text = analysis.text if analysis.part == "self" else analysis.model.source_text or analysis.text
    return {"text": text or "", "text_pair": analysis.text_pair}


def of_same_run(a: Analysis, b: Analysis) -> bool:
    """True if both are different parts of one pass."""
    return a.part != b.part and b.part in a.model.parts and a.of(b.part) is b


def same_positions(a: Analysis, b: Analysis) -> bool:
    """True if every position of both is the same part of the same text."""

    def places(analysis: Analysis) -> list[tuple[object, ...]]:
        tokens = analysis.trace.tokens
        return [(token.segment, token.start, token.end, token.special) for token in tokens]

    return (a.text, a.text_pair, places(a)) == (b.text, b.text_pair, places(b))
