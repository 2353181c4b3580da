"""The run that a widget shows, and its replacement by another: a new text, or the same one with masks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import with_comparison_texts
from attn_widget.analysis.comparison_texts import carry_over
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.analysis.opening import Opening, opening
from attn_widget.checks import first_line
from attn_widget.errors import AttnWidgetError, InputError
from attn_widget.figures.arrays import Head
from attn_widget.host.threads import HAS_THREADS, in_background
from attn_widget.protocol.answer import log
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.trace.forward import Progress
from attn_widget.widget.actions import REPORT_S, Analyze, CancelledError, Job, Work
from attn_widget.widget.interventions import values_of
from attn_widget.widget.latest_worker import LatestWorker
from attn_widget.widget.traits import TraitBatch

if TYPE_CHECKING:
    Computed = tuple[Analysis, Opening, bytes]

PAST_RUNS = 10  # of the history
PLACES = ("layer", "head", "token", "pair", "group", "quantity")  # of one part
SHOWN = ("text", "text_pair", "history", "first_paint")  # of the run: nothing else sets them
OF_EVERY_PART = ("weights", "scores")  # quantities
THREAD = "attn_widget run"
RUNNING, DRAWING = "Running the model", "Drawing its heads"  # what progress is of


class HeadChoice:
    """The head that another run opens on: the selected one if it was chosen by hand, else a new choice.

    Parameters
    ----------
    selected : callable
        Gives the values of the traits `PLACES`, and of ``words``.

    Attributes
    ----------
    opened : Opening or None
        What the widget opened on by itself.
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


class Jobs(ABC):
    """Content of a widget, and the work that replaces it.

    A job works on the thread that asked for it (`run`), or on the worker's (`start`). There is one at a time; a new one
    cancels the active one. Its result is shown all at once; until then, and when it fails, what was shown stays.

    Parameters
    ----------
    batch : TraitBatch
        The traits of the widget.
    shown : dict
        Traits that nothing but a job sets, with their first values.
    """

    def __init__(self, batch: TraitBatch, shown: dict[str, Any]) -> None:
        self.shown = shown
        self._batch = batch
        self._job: Job | None = None
        self._worker = LatestWorker(THREAD)

    @contextmanager
    def update(self) -> Generator[Callable[..., None]]:
        """Lock, and give the function that sets traits; see `TraitBatch.update`."""
        with self._batch.update() as set_traits:

            def set_and_keep(**values: Any) -> None:
                self.shown.update((name, values[name]) for name in self.shown if name in values)
                set_traits(**values)

            yield set_and_keep

    def run(self, work: Callable[[Progress], Any], *, reported: bool = True) -> None:
        """Do the work and show its result; ``reported`` as for `begin`."""
        job = self.begin(reported=reported)
        self._finish(job, self._compute(job, work))

    def start(self, work: Callable[[Progress], Any]) -> None:
        """Do the work on the worker's thread; failures appear in the widget."""
        job = self.begin()
        self._worker.start(lambda: self._run_on_worker(job, work))

    def cancel(self) -> None:
        """Cancel the active job; the current picture stays."""
        with self.update() as set_traits:
            if self._job is not None:
                self._replace_job(None)
                set_traits(status="ready", progress={})

    def close(self) -> None:
        """Free what is shown, here and in the page."""
        with self.update() as set_traits:
            self._replace_job(None)
            self._free()
            set_traits(status="closed", progress={}, first_paint=b"")

    def begin(self, *, reported: bool = True) -> Job:
        """Start a new job, which is ``reported`` to the page unless it takes no time; it replaces the active one."""
        job = Job()
        with self.update() as set_traits:
            self._replace_job(job)
            if reported:
                set_traits(status="running", error={}, progress={})
        return job

    def fail(self, job: Job, error: BaseException) -> None:
        """Show the failure of a job, unless another one has replaced it."""
        message: dict[str, str] = {}
        if isinstance(error, AttnWidgetError):
            message = {"message": error.message, "hint": error.hint}
        elif isinstance(error, Exception):
            hint = "The traceback is where the run was started, or in the kernel's log."
            message = {"message": f"{type(error).__name__}: {first_line(error)}", "hint": hint}
        with self.update() as set_traits:
            if self._job is job:
                self._job = None
                set_traits(status="error" if message else "ready", error=message, progress={})

    def _replace_job(self, job: Job | None) -> None:
        if self._job is not None:
            self._job.cancel()
        self._job = job

    def _run_on_worker(self, job: Job, work: Callable[[Progress], Any]) -> None:
        if job.is_canceled:
            return
        if HAS_THREADS:
            in_background(self._report, job, name=f"{THREAD}: progress")
        try:
            self._finish(job, self._compute(job, work))
        except AttnWidgetError:
            pass
        except Exception:
            log.exception("a run that the page started has failed")
        finally:
            job.finished.set()

    def _report(self, job: Job) -> None:
        """Report the progress of a job, on a thread of its own.

        The job's own thread may hold the encoder's lock, under which no observer should run.
        """
        while not job.finished.wait(REPORT_S):
            with self.update() as set_traits:
                if self._job is not job:
                    return
                set_traits(progress=dict(job.progress))

    def _compute(self, job: Job, work: Any) -> Any:
        """Do the work; a failure appears in the widget, and is raised."""
        try:
            return self._next(job, work)
        except BaseException as error:
            self.fail(job, error)
            raise

    def _finish(self, job: Job, computed: Any) -> None:
        """Show what was computed in one message to the page, unless the job was canceled."""
        with self.update() as set_traits:
            if self._job is not job:
                raise CancelledError
            traits = self._replace(computed)
            self._job = None
            set_traits(**traits, error={}, progress={}, status="ready")

    @abstractmethod
    def _next(self, job: Job, work: Any) -> Any:
        """Do the work, with its progress in the job."""

    @abstractmethod
    def _replace(self, computed: Any) -> dict[str, Any]:
        """Keep what was computed, and give the traits that show it; raises once the widget is closed."""

    @abstractmethod
    def _free(self) -> None:
        """Drop what is shown."""


class Runs(Jobs):
    """The current run of a widget, and its replacement by another.

    Parameters
    ----------
    batch : TraitBatch
        The traits of the widget.
    analysis : Analysis
    analyze : Analyze, optional
        Runs another text.
    choice : HeadChoice
    view, in_another : callable
        Give the view, and the values of features' traits in another run.

    Attributes
    ----------
    analysis, analyze
        None once the widget is closed.
    shown : dict
        Values of the traits in `SHOWN`.
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
                "This widget was made from figures only: it has no model to run another text.",
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
