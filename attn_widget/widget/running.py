"""A widget of one run, which another run can replace: a new text, or the same one with masks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import traitlets as t
from anywidget.experimental import command

from attn_widget.analysis.base import with_beside
from attn_widget.analysis.beside import carry_over
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.errors import AttnWidgetError, InputError
from attn_widget.protocol.answer import Reply, log, replied
from attn_widget.protocol.paint import first_paint
from attn_widget.widget import actions
from attn_widget.widget.actions import Analyze, CancelledError, Job, Work
from attn_widget.widget.batched_traits import BatchedTraitsWidget
from attn_widget.widget.latest_worker import LatestWorker
from attn_widget.widget.traits import Int

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.analysis.opening import Opening
    from attn_widget.trace.forward import Progress

STATUSES = ("ready", "loading", "running", "closed", "error")
PAST_RUNS = 10  # of the history
SHOWN = ("text", "text_pair", "history", "first_paint")  # of the run: nothing else sets them
THREAD = "attn_widget run"
RUNNING, DRAWING = "Running the model", "Drawing its heads"  # what progress is of


class RunningWidget(BatchedTraitsWidget):
    """The current run, and its replacement by another.

    A run works on the thread that asked for it (`run`, setting `masked`), or on the worker's (the
    page). There is one at a time; a new run cancels the active one. It is shown all at once; until
    then, and when it fails, what was shown stays.

    Parameters
    ----------
    analysis : Analysis
    analyze : Analyze, optional
        Runs another text.
    **traits
        Initial values.
    """

    text = t.Unicode("").tag(sync=True)
    """The text shown. Read-only; `run` shows another one."""
    text_pair = t.Unicode(None, allow_none=True).tag(sync=True)
    """The second segment, or None. Read-only, like ``text``."""
    status = t.Enum(STATUSES, "ready").tag(sync=True)
    """Activity of the kernel for this widget: one of `STATUSES`."""
    error = t.Dict().tag(sync=True)
    """``{"message", "hint"}`` of the last failure, or ``{}``; shown in the widget."""
    progress = t.Dict().tag(sync=True)
    """``{"label", "done", "total"}`` of a run that the page started, or ``{}``."""
    history = t.List(t.Dict()).tag(sync=True)
    """``{"text", "text_pair"}`` of the last ten different runs, newest first."""
    masked = t.List(Int()).tag(sync=True)
    """Tokens that this run reads as the mask token; set it to run again. Default none."""
    heads_off = t.List(t.List(Int(), minlen=2, maxlen=2)).tag(sync=True)
    """``[layer, head]`` of each head that is switched off in this run; set it to run again. Default none."""
    first_paint = t.Bytes(b"").tag(sync=True)
    """The packed first paint (see ``docs/protocol.md``)."""

    _analysis: Analysis | None = None

    def __init__(self, analysis: Analysis, *, analyze: Analyze | None, **traits: Any) -> None:
        self._analysis = analysis
        self._analyze = analyze
        self._job: Job | None = None
        self._worker = LatestWorker(THREAD)
        self._done: tuple[Job, Analysis, Opening, bytes] | None = (
            None  # a changed run about to be shown
        )
        self._shown: dict[str, Any] = {
            "text": analysis.text or "",
            "text_pair": analysis.text_pair,
            "history": [] if analysis.run is None else [past_run(analysis)],
            "first_paint": b"",
        }
        super().__init__(
            **self._shown,
            masked=[hidden.token for hidden in analysis.masked],
            heads_off=[[*pair] for pair in analysis.heads_off],
            **traits,
        )

    @property
    def analysis(self) -> Analysis:
        """The figures of what is shown.

        Raises
        ------
        InputError
            The widget was closed.
        """
        if self._analysis is None:
            raise InputError("This widget is closed.", "Call show() again to make a new one.")
        return self._analysis

    def run(
        self, text: str, text_pair: str | None = None, *, truncation: bool | None = None
    ) -> None:
        """Run the model on another text and show it here; on failure the old picture stays.

        A run that the page has started is canceled.

        Parameters
        ----------
        text, text_pair : str
        truncation : bool, optional
            As in `analyze`; by default what `show` was given.

        Raises
        ------
        AttnWidgetError
            The text cannot be used, there is no model to run it, or the page has replaced or
            canceled this run.
        """
        work = self._work_of(text, text_pair, truncation)
        job = self._begin()
        self._finish(job, *self._compute(job, work))

    def cancel(self) -> None:
        """Cancel a run that the page has started; the current picture stays."""
        with self._changing:
            if self._job is None:
                return
            self._job.cancel()
            self._job = None
            changes = self._set(status="ready", progress={})
        self._tell(changes)

    def close(self) -> None:
        """Free the run's tensors here and in the page. The traits stay readable."""
        if self._analysis is None:
            return
        with self._changing:
            if self._job is not None:
                self._job.cancel()
            self._analysis, self._analyze, self._job, self._done = None, None, None, None
            changes = self._set(status="closed", progress={}, first_paint=b"")
        self._tell(changes)
        super().close()

    @command
    def act(self, request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Start an action that the page requests; see `attn_widget.widget.actions`."""

        def start() -> Reply:
            self._act(request)
            return {"ok": True, "data": {}, "arrays": []}, []

        return replied(start, request)

    def _act(self, request: object) -> None:
        analysis = self.analysis  # refuses when closed
        kind, asked = actions.kind_of(request)
        if kind == "cancel":
            self.cancel()
            return
        if kind == "run":
            work = self._work_of(*actions.texts_of(asked), actions.truncation_of(asked))
        elif kind == "mask":
            work = mask_of(analysis, analysis.check_mask(actions.tokens_of(asked)))
        else:
            work = ablation_of(analysis, analysis.check_heads_off(actions.heads_of(asked)))
        job = self._begin()
        self._worker.start(lambda: self._run_aside(job, work))

    def _work_of(self, text: str, text_pair: str | None, truncation: bool | None) -> Work:
        _ = self.analysis  # refuses when closed
        analyze = self._analyze
        if analyze is None:
            raise InputError(
                "This widget was made from figures only: it has no model to run another text.",
                "Call show(text).",
            )
        return lambda progress: analyze(text, text_pair, truncation=truncation, progress=progress)

    # -- one run -------------------------------------------------------------------------------

    def _begin(self) -> Job:
        """Start a new job; it replaces the active one."""
        with self._changing:
            if self._job is not None:
                self._job.cancel()
            job = self._job = Job()
            changes = self._set(status="running", error={}, progress={})
        self._tell(changes)
        return job

    def _run_aside(self, job: Job, work: Work) -> None:
        """A job on the worker's thread: failures appear in the widget."""
        if job.is_canceled:
            return
        name = f"{THREAD}: progress"
        threading.Thread(target=self._report, args=(job,), name=name, daemon=True).start()
        try:
            self._finish(job, *self._compute(job, work))
        except AttnWidgetError:
            pass
        except Exception:
            log.exception("a run that the page started has failed")
        finally:
            job.finished.set()

    def _report(self, job: Job) -> None:
        """Tell how far a job is, on a thread of its own.

        The job's own thread may hold the encoder's lock, under which no observer should run.
        """
        while not job.finished.wait(actions.REPORT_S):
            with self._changing:
                if self._job is not job:
                    return
                changes = self._set(progress=dict(job.progress))
            self._tell(changes)

    def _compute(self, job: Job, work: Work) -> tuple[Analysis, Opening, bytes]:
        """The next run to show; a failure appears in the widget, and is raised."""
        try:
            analysis = work(job.step(RUNNING))
            before = self._analysis
            if before is not None:
                analysis = with_beside(analysis, carry_over(before, analysis))
            same = before is not None and same_positions(before, analysis)
            opened = self._open_in(analysis, same, job.step(DRAWING))
            streamed = comes_in_layers(analysis.trace)
            paint = first_paint(
                analysis,
                opened.layer,
                opened.head,
                job.step(DRAWING),
                streamed=streamed,
                live=True,
            )
            return analysis, opened, paint
        except BaseException as error:
            self._fail(job, error)
            raise

    def _fail(self, job: Job, error: BaseException) -> None:
        said: dict[str, str] = {}
        if isinstance(error, AttnWidgetError):
            said = {"message": error.message, "hint": error.hint}
        elif isinstance(error, Exception):
            hint = "The traceback is where the run was started, or in the kernel's log."
            said = {"message": f"{type(error).__name__}: {error}", "hint": hint}
        with self._changing:
            if self._job is not job:
                return
            self._job = None
            changes = self._set(status="error" if said else "ready", error=said, progress={})
        self._tell(changes)

    def _finish(
        self, job: Job, analysis: Analysis, opened: Opening, paint: bytes, *earlier: Any
    ) -> None:
        """Show the result of a job in one message to the page, unless the job was canceled.

        ``earlier`` are changes of traits that neither the page nor the observers know of yet.
        """
        with self._changing:
            if self._job is not job:
                raise CancelledError
            before, self._analysis, self._job = self.analysis, analysis, None
            present = past_run(analysis)
            past = [run for run in self.history if run != present]
            changes = self._set(
                earlier,
                **self._selection_in(analysis, opened, same_positions(before, analysis)),
                masked=[hidden.token for hidden in analysis.masked],
                heads_off=[[*pair] for pair in analysis.heads_off],
                text=analysis.text or "",
                text_pair=analysis.text_pair,
                history=[present, *past][:PAST_RUNS],
                error={},
                progress={},
                first_paint=paint,
                status="ready",
            )
        self._tell([*earlier, *changes])

    def _open_in(self, analysis: Analysis, same: bool, progress: Progress) -> Opening:
        """Where another run opens: on the selected head if it was chosen by hand, or else anew.

        ``same``: its positions are the ones that were shown before.
        """
        raise NotImplementedError

    def _selection_in(self, analysis: Analysis, opened: Opening, same: bool) -> dict[str, Any]:
        """The selection as far as it means something in ``analysis``, which opens on ``opened``."""
        raise NotImplementedError

    # -- what a run alone sets --------------------------------------------------------------------

    def _set(self, also: tuple[Any, ...] = (), **values: Any) -> list[Any]:
        self._shown.update((name, values[name]) for name in SHOWN if name in values)
        return super()._set(also, **values)

    @t.validate(*SHOWN)
    def _valid_shown(self, proposal: Any) -> Any:
        name = proposal["trait"].name
        if proposal["value"] != self._shown[name]:
            raise t.TraitError(
                f"{name} is set by a run and cannot be changed here. w.run(text) shows another one."
            )
        return proposal["value"]

    # -- masks, and heads switched off, by the trait ---------------------------------------------

    @t.validate("masked")
    def _valid_masked(self, proposal: Any) -> list[int]:
        """Run the text with these masks; it is shown once the change of the trait is sent."""
        analysis = self.analysis
        present = [hidden.token for hidden in analysis.masked]
        if proposal["value"] == present:
            return present
        try:
            chosen = analysis.check_mask(proposal["value"])
            if list(chosen) != present:
                job = self._begin()
                self._done = (job, *self._compute(job, mask_of(analysis, chosen)))
        except AttnWidgetError as error:
            raise t.TraitError(str(error)) from error
        return list(chosen)

    @t.validate("heads_off")
    def _valid_heads_off(self, proposal: Any) -> list[list[int]]:
        """Run the text without these heads; it is shown once the change of the trait is sent."""
        analysis = self.analysis
        present = [[*pair] for pair in analysis.heads_off]
        if proposal["value"] == present:
            return present
        try:
            chosen = analysis.check_heads_off([tuple(pair) for pair in proposal["value"]])
            if chosen != analysis.heads_off:
                job = self._begin()
                self._done = (job, *self._compute(job, ablation_of(analysis, chosen)))
        except AttnWidgetError as error:
            raise t.TraitError(str(error)) from error
        return [[*pair] for pair in chosen]

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """As in the base; a changed run that came with something that is refused is not shown."""
        try:
            super().set_state(sync_data)
        except t.TraitError:
            if self._done is not None:
                self._done = None
                self.cancel()
            raise

    def notify_change(self, change: Any) -> None:
        """As in the base; new masks and heads are shown together with the run that they made."""
        if change["name"] in ("masked", "heads_off") and self._done is not None:
            done, self._done = self._done, None
            self._finish(*done, change)
        else:
            super().notify_change(change)


def mask_of(analysis: Analysis, tokens: tuple[int, ...]) -> Work:
    """The same text with ``tokens`` masked."""
    return lambda progress: analysis.mask(tokens, progress=progress)


def ablation_of(analysis: Analysis, heads: tuple[tuple[int, int], ...]) -> Work:
    """The same text without ``heads``."""
    return lambda progress: analysis.ablate(heads, progress=progress)


def past_run(analysis: Analysis) -> dict[str, str | None]:
    """Entry of the history for a run."""
    return {"text": analysis.text or "", "text_pair": analysis.text_pair}


def same_positions(a: Analysis, b: Analysis) -> bool:
    """Whether every position of both is the same part of the same text."""

    def places(analysis: Analysis) -> list[tuple[object, ...]]:
        tokens = analysis.trace.tokens
        return [(token.segment, token.start, token.end, token.special) for token in tokens]

    return (a.text, a.text_pair, places(a)) == (b.text, b.text_pair, places(b))
