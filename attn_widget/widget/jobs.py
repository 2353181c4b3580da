"""Work that replaces what a widget shows: one job at a time, on the caller's thread or on one that all such work shares."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import AttnWidgetError
from attn_widget.host.threads import HAS_THREADS, ending, in_background
from attn_widget.protocol.answer import log
from attn_widget.trace.forward import Progress
from attn_widget.widget.traits import TraitBatch

REPORT_S = 0.1  # between two reports of how far a run has come
THREAD = "attn_widget run"


class CancelledError(AttnWidgetError):
    """A run that was canceled, or replaced by a newer one."""

    def __init__(self) -> None:
        super().__init__("The run was canceled.", "The previous picture is unchanged.")


class Job:
    """One active run: its progress, and whether it was canceled."""

    def __init__(self) -> None:
        self.progress: dict[str, Any] = {}
        self.finished = threading.Event()
        self._canceled = threading.Event()

    @property
    def is_canceled(self) -> bool:
        """True if it was canceled or replaced."""
        return self._canceled.is_set()

    def cancel(self) -> None:
        """Let the run end at its next step."""
        self._canceled.set()

    def step(self, label: str) -> Progress:
        """Progress callback of one stage; raises `CancelledError` once the run is canceled."""

        def report(done: int, total: int) -> None:
            if self._canceled.is_set() or ending.is_set():
                raise CancelledError
            self.progress = {"label": label, "done": done, "total": total}

        return report


class LatestWorker:
    """Does one piece of work at a time; work that waits is replaced by what is given after it.

    Its thread starts with the first work and ends when none is left.

    >>> done = threading.Event()
    >>> LatestWorker("example").start(done.set)
    >>> done.wait(10)
    True
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._next: Callable[[], None] | None = None
        self._is_working = False

    def start(self, work: Callable[[], None]) -> None:
        """Do ``work``, which raises nothing, after the work that is being done."""
        with self._lock:
            self._next = work
            if self._is_working:
                return
            self._is_working = True
        in_background(self._run, name=self._name, waits=True)

    def _run(self) -> None:
        while True:
            with self._lock:
                work, self._next = self._next, None
                if work is None:
                    self._is_working = False
                    return
            work()
            del work  # what it holds may be a run's tensors


class Jobs(ABC):
    """Content of a widget, and the work that replaces it.

    A job works on the thread that asked for it (`run`), or on the worker's (`start`). There is one at a time; a new one
    cancels the active one. Its result is shown all at once; until then, and when it fails, what was shown stays.

    ``batch``: the traits of the widget. ``shown``: traits that nothing but a job sets, with their first values.
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
