"""Runs slow requests on threads, with progress, partial results and a way to stop; the page polls for progress.

A first request starts the work. ``{ok: false, later: ms, progress: [done, total]}`` tells the page to ask
again; ``{"kind": "drop", "of": request}`` cancels. The kernel waits for none of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import has_tagger_ready
from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.host.threads import ending, in_background
from attn_widget.protocol.answer import (
    HANDLERS,
    Answers,
    Reply,
    described,
    handler_of,
    replied,
    respond,
)
from attn_widget.protocol.handlers import Handler
from attn_widget.protocol.pack import to_json
from attn_widget.protocol.request import Request
from attn_widget.protocol.slices.heads import HEADS, has_layers, survey_layers
from attn_widget.trace.forward import Progress

LATER_MS = 200
SOON_S = 0.25  # an answer that comes sooner needs no second question
MAX_TASKS = 4  # maximum running at once; the oldest is canceled
MAX_THREADS = 2 * MAX_TASKS  # with those that were canceled, which end at their next step


class CanceledError(BaseException):
    """The page wants no more. Like asyncio's, it is no Exception: nothing takes it for a failure of the work."""


class Task:
    """Work on a thread of its own, which can be stopped and started again.

    ``asked``: what the work is about, such as an `Analysis`. ``work``: gets a ``progress`` to call with
    ``(done, total)``, which raises `CanceledError` after `stop`. ``done``, ``total``: how far it is; 0 where it is
    not known. ``reply``: result or failure of the work, once it is there.
    """

    def __init__(self, asked: Any, work: Callable[[Progress], Reply]) -> None:
        self.asked = asked
        self.done = self.total = 0
        self.reply: Reply | None = None
        self._work = work
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_alive(self) -> bool:
        """True if its thread still works, also after `stop`."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start, or go on after `stop` or a failure."""
        if self.is_alive and not self._stopped.is_set():
            return
        self.reply, self._stopped = None, threading.Event()
        self._thread = in_background(self._run, self._stopped, name="attn_widget task", waits=True)

    def stop(self) -> None:
        """End at the next step."""
        self._stopped.set()

    def wait(self, seconds: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Wait for the reply, or until ``enough`` of it is there, for at most some seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.reply is not None or enough(), seconds)

    def _run(self, stopped: threading.Event) -> None:
        def progress(done: int, total: int) -> None:
            if stopped.is_set() or ending.is_set():
                raise CanceledError
            with self._changed:
                self.done, self.total = done, total
                self._changed.notify_all()

        try:
            reply = self._work(progress)
        except CanceledError:
            return
        with self._changed:
            self.reply = reply
            self._changed.notify_all()


class Tasks(Answers):
    """Answers the requests of a page about one thing, slow ones by a `Task`.

    ``asked``: gives what the requests are about at the moment: an `Analysis`, or None once it was closed.
    ``handlers``: by kind; by default those of a run.

    >>> from attn_widget import analyze
    >>> analysis = analyze("the cat sat", progress=False)
    >>> tasks = Tasks(lambda: analysis)
    >>> reply, _ = tasks.answer({"kind": "weights", "layer": 0, "head": 0})
    >>> reply["ok"]
    True
    """

    def __init__(
        self, asked: Callable[[], Any], handlers: Mapping[str, Handler] = HANDLERS
    ) -> None:
        self._asked = asked
        self._handlers = handlers
        self._tasks: dict[str, Task] = {}  # by request, the oldest first
        self._started: list[Task] = []  # as long as their threads live
        self._heads: Task | None = None
        self._held = False
        self._lock = threading.Lock()

    def hold(self, held: bool) -> None:
        """Let the survey of heads wait while another run has the cores, or go on."""
        with self._lock:
            self._held = held
            if held and self._heads is not None:
                self._heads.stop()

    def close(self) -> None:
        """Cancel what is being computed."""
        self.hold(True)
        with self._lock:
            tasks, self._tasks = self._tasks, {}
            self._heads = None
        for task in tasks.values():
            task.stop()

    def reply(self, request: Request) -> Reply:
        """Answer a request: at once, or with the time after which to ask again."""
        asked = self._asked()
        if asked is None:
            return respond(asked, request, self._handlers)
        if request.get("kind") == "drop":
            self._drop(request.get("of"))
            return {"ok": True, "data": {}, "arrays": []}, []
        handler = handler_of(request, self._handlers)
        if handler.needs_tagger and not has_tagger_ready(asked):
            return later("The tagger is still being loaded.")
        if handler.needs_heads and comes_in_layers(asked.trace):
            waits = self._survey(asked, request)
            if waits is not None:
                return waits
        if handler.slow:
            return self._slow(asked, request, handler)
        return described(handler(asked, request))

    def _survey(self, analysis: Analysis, request: Request) -> Reply | None:
        """The reply to a request for which too few heads have been surveyed; None for others."""
        if has_layers(analysis, request):
            return None
        with self._lock:
            task = self._heads
            if task is None or task.asked is not analysis:
                if task is not None:
                    task.stop()
                task = self._heads = Task(analysis, partial(survey, analysis))
            if not self._held:
                task.start()
        task.wait(SOON_S, lambda: has_layers(analysis, request))
        if has_layers(analysis, request):
            return None
        return task.reply or later("The heads are being computed.", (task.done, task.total))

    def _slow(self, asked: Any, request: Request, handler: Handler) -> Reply:
        key = _key(request)
        with self._lock:
            task = self._tasks.get(key)
            if task is None or task.asked is not asked:
                if task is not None:
                    self._tasks.pop(key).stop()
                elif len(self._tasks) >= MAX_TASKS:  # the page has forgotten one
                    self._tasks.pop(next(iter(self._tasks))).stop()
                self._started = [task for task in self._started if task.is_alive]
                if len(self._started) >= MAX_THREADS:
                    return later("This is being computed.", (0, 0))
                work = partial(compute, asked, request, handler)
                task = self._tasks[key] = Task(asked, work)
                task.start()
                self._started.append(task)
        task.wait(SOON_S)
        if task.reply is None:
            return later("This is being computed.", (task.done, task.total))
        with self._lock:
            self._tasks.pop(key, None)
        return task.reply

    def _drop(self, request: object) -> None:
        if not isinstance(request, Mapping):
            return
        with self._lock:
            task = self._tasks.pop(_key(request), None)
            if request.get("kind") == HEADS:
                task = self._heads
        if task is not None:
            task.stop()


def compute(asked: Any, request: Request, handler: Handler, progress: Progress) -> Reply:
    """The work of a slow request."""
    return replied(lambda: described(handler(asked, request, progress)), request)


def survey(analysis: Analysis, progress: Progress) -> Reply:
    """The work of surveying the heads of a long text."""
    return replied(lambda: described(survey_layers(analysis, progress)), {"kind": HEADS})


def later(error: str, progress: tuple[int, int] | None = None) -> Reply:
    """The reply that lets the page ask again; ``progress`` of work that it can cancel."""
    reply = {"ok": False, "later": LATER_MS, "error": error, "hint": "Ask again in a moment."}
    return reply if progress is None else {**reply, "progress": [*progress]}, []


def _key(request: Mapping[Any, Any]) -> str:
    return str(to_json(sorted((str(name), value) for name, value in request.items())))
