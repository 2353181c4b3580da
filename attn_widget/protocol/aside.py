"""Answers that take seconds: computed on a thread, while the page asks how far it is.

A first request starts the work. ``{ok: false, later: ms, progress: [done, total]}`` tells the page to ask
again; ``{"kind": "drop", "of": request}`` cancels. Nothing waits in the kernel meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attn_widget.analysis.long.layered import comes_in_layers
from attn_widget.errors import SliceError
from attn_widget.protocol.answer import LATER_MS, Reply, answer, later, respond, said
from attn_widget.protocol.handlers import SLOW
from attn_widget.protocol.pack import to_json
from attn_widget.protocol.slices.streamed import HEADS, OF_ALL_HEADS, HeadStream, is_surveyed

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.protocol.handlers import Answer
    from attn_widget.protocol.request import Request

SOON_S = 0.25  # an answer that comes sooner needs no second question
MOST = 4  # at a time; the oldest is given up for another one
MOST_THREADS = 2 * MOST  # with those that were given up, which end at their next step


class DroppedError(Exception):
    """The page has gone on to something else."""


class _Work:
    """One request, computed on a thread.

    Attributes
    ----------
    done, total : int
        How far it is; 0 where it is not known.
    reply : Reply or None
        The answer, once it is there.
    """

    def __init__(self, analysis: Any, request: Request, slow: Mapping[str, Any]) -> None:
        self.analysis = analysis
        self._slow = slow
        self.done = self.total = 0
        self.reply: Reply | None = None
        self._dropped = threading.Event()
        self._thread = threading.Thread(
            target=self._compute, args=(request,), name="attn_widget aside", daemon=True
        )
        self._thread.start()

    def _progress(self, done: int, total: int) -> None:
        if self._dropped.is_set():
            raise DroppedError
        self.done, self.total = done, total

    def _compute(self, request: Request) -> None:
        def handle(analysis: Any, asked: Request) -> Answer:
            try:
                return self._slow[asked["kind"]](analysis, asked, self._progress)
            except DroppedError:
                raise SliceError("This request was canceled.") from None

        self.reply = respond(self.analysis, request, dict.fromkeys(self._slow, handle))

    def drop(self) -> None:
        self._dropped.set()

    @property
    def is_alive(self) -> bool:
        """Whether its thread still works, also after `drop`."""
        return self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)


class Aside:
    """The slow requests of one widget.

    Parameters
    ----------
    slow : mapping of str to handler, optional
        Kinds that a thread answers, and what answers them; by default those of a run.

    Examples
    --------
    >>> from attn_widget import analyze, target
    >>> a, aside = analyze("the cat sat", progress=False), Aside()
    >>> reply, _ = aside.answer(a, {"kind": "weights", "layer": 0, "head": 0})
    >>> reply["ok"]
    True
    """

    def __init__(self, slow: Mapping[str, Any] = SLOW) -> None:
        self._slow = slow
        self._works: dict[str, _Work] = {}
        self._started: list[_Work] = []  # as long as their threads live
        self._stream: HeadStream | None = None
        self._held = False
        self._lock = threading.Lock()

    def hold(self, held: bool) -> None:
        """Let the stream of heads wait while another run has the cores, or go on."""
        with self._lock:
            self._held = held
            if held and self._stream is not None:
                self._stream.stop()

    def _heads(self, analysis: Analysis, kind: object, request: Mapping[Any, Any]) -> Reply | None:
        """The reply to a request that the heads of a long text are streamed for; None for others."""
        if kind != HEADS and kind not in OF_ALL_HEADS:
            return None
        if not comes_in_layers(analysis.trace) or is_surveyed(analysis):
            return None
        with self._lock:
            stream = self._stream
            if stream is None or stream.analysis is not analysis:
                if stream is not None:
                    stream.stop()
                stream = self._stream = HeadStream(analysis)
            if not self._held:
                stream.start()
        start = request.get("start") if kind == HEADS else None
        if stream.wait(start if isinstance(start, int) else analysis.n_layers, SOON_S):
            return None
        if stream.failure:
            hint = "The layers that are drawn stay; the traceback is in the kernel's log."
            return {"ok": False, "error": said(stream.failure), "hint": hint}, []
        wait = {"error": "The heads are being computed.", "hint": "Ask again in a moment."}
        return {"ok": False, "later": LATER_MS, "progress": stream.progress, **wait}, []

    def answer(self, analysis: Any, request: object) -> Reply:
        """Answer a request of the page: at once, or by a thread that is asked again later."""
        waits = later(analysis, request)
        if waits is not None:
            return waits
        if analysis is None or not isinstance(request, Mapping):
            return answer(analysis, request)
        kind = request.get("kind")
        if kind == "drop":
            self._drop(request.get("of"))
            return {"ok": True, "data": {}, "arrays": []}, []
        waits = self._heads(analysis, kind, request)
        if waits is not None:
            return waits
        if not isinstance(kind, str) or kind not in self._slow:
            return answer(analysis, request)
        key = _key(request)
        with self._lock:
            work = self._works.get(key)
            if work is None or work.analysis is not analysis:
                if work is not None:
                    self._works.pop(key).drop()
                elif len(self._works) >= MOST:  # the page has forgotten one
                    self._works.pop(next(iter(self._works))).drop()
                self._started = [one for one in self._started if one.is_alive]
                if len(self._started) >= MOST_THREADS:
                    return being_computed(0, 0)
                work = self._works[key] = _Work(analysis, request, self._slow)
                self._started.append(work)
        work.wait(SOON_S)
        if work.reply is None:
            return being_computed(work.done, work.total)
        with self._lock:
            self._works.pop(key, None)
        return work.reply

    def _drop(self, request: object) -> None:
        if isinstance(request, Mapping):
            with self._lock:
                work = self._works.pop(_key(request), None)
                if request.get("kind") == HEADS and self._stream is not None:
                    self._stream.stop()
            if work is not None:
                work.drop()

    def close(self) -> None:
        """Cancel what is being computed."""
        self.hold(True)
        with self._lock:
            works, self._works = self._works, {}
            self._stream = None
        for work in works.values():
            work.drop()


def being_computed(done: int, total: int) -> Reply:
    """The reply that lets the page ask again."""
    wait = {"error": "This is being computed.", "hint": "Ask again in a moment."}
    return {"ok": False, "later": LATER_MS, "progress": [done, total], **wait}, []


def _key(request: Mapping[Any, Any]) -> str:
    return str(to_json(sorted((str(name), value) for name, value in request.items())))
