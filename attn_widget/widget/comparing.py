"""A second run in a widget: the page asks for it, and its slices are answered like those of the first.

The requests are in ``docs/protocol.md``, section "Two runs".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attn_widget.comparison.comparison import Comparison
from attn_widget.comparison.patching import RECOVERED, patch, patched_value
from attn_widget.errors import InputError, InputTypeError, SliceError
from attn_widget.page.compared import compared_parts, selections
from attn_widget.protocol.aside import Aside
from attn_widget.protocol.pack import pack
from attn_widget.protocol.paint import first_paint
from attn_widget.protocol.request import one_of
from attn_widget.protocol.slices.influence import canonical, described, target_of
from attn_widget.widget.actions import texts_of, truncation_of

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.comparison.patching import RecoveryOf
    from attn_widget.protocol.answer import Reply
    from attn_widget.protocol.handlers import Answer
    from attn_widget.protocol.request import Request
    from attn_widget.trace.forward import Progress
    from attn_widget.widget.actions import Analyze

MOST_SITES = 200  # of one request


class Comparing:
    """The comparison of one widget, while there is one.

    Parameters
    ----------
    runs : callable
        Gives the widget's run, and what runs another text (None where nothing can).

    Attributes
    ----------
    comparison : Comparison or None
        The widget's run, and the other one as it was run first.
    """

    def __init__(self, runs: Callable[[], tuple[Analysis, Analyze | None]]) -> None:
        self.runs = runs
        self.comparison: Comparison | None = None
        self._shown: Analysis | None = None  # the other run, or its patched form
        self._slow = Aside(KINDS)
        self._of_b = Aside()

    def answer(self, request: object) -> Reply | None:
        """The answer to a request about two runs or the second one; None for all others."""
        if not isinstance(request, Mapping):
            return None
        about = request.get("of") if request.get("kind") == "drop" else request
        if not isinstance(about, Mapping):
            return None
        if request.get("run") == "b" or about.get("run") == "b":
            plain = {name: value for name, value in request.items() if name != "run"}
            if isinstance(plain.get("of"), Mapping):
                plain["of"] = {k: v for k, v in plain["of"].items() if k != "run"}
            return self._of_b.answer(self._shown, plain)
        return self._slow.answer(self, request) if about.get("kind") in KINDS else None

    def close(self) -> None:
        """Let go of the second run, and cancel what is being computed."""
        self.forget()
        for aside in (self._slow, self._of_b):
            aside.close()

    def forget(self) -> None:
        """Let go of the second run."""
        self.comparison = self._shown = None

    def require(self) -> Comparison:
        """The comparison; raises `SliceError` where there is none."""
        if self.comparison is None:
            raise SliceError("Nothing is compared in this widget.", "Compare with a text first.")
        return self.comparison

    def show(self, comparison: Comparison, shown: Analysis) -> None:
        """Answer for this comparison from now on, and for ``shown`` as its second run."""
        self.comparison, self._shown = comparison, shown


def _answer_of(c: Comparison, patched: Any = None, plain: Comparison | None = None) -> Answer:
    """First paint of the second run, and figures of both; of a patched run with the targets of the ``plain`` one."""
    _, chosen = selections(c)
    paint = first_paint(c.b, chosen.layer or 0, chosen.head or 0, live=True)
    meta, arrays = compared_parts(c, recorded=False)
    meta["patched"] = patched
    if (
        plain is not None and "targets" in meta
    ):  # the patched run may predict what the plain one did not
        meta["targets"] = [described(c.b, target) for target in plain.proposals()]
    buffers = {"paint": paint, "compared": pack(meta, arrays)}
    return {}, {name: np.frombuffer(data, np.uint8) for name, data in buffers.items()}


def _compared(comparing: Comparing, request: Request, progress: Progress | None) -> Answer:
    """Run another text and compare, or answer with the comparison that is there."""
    if request.get("text") is None:
        c = comparing.require()
    else:
        analysis, analyze = comparing.runs()
        if analyze is None:
            raise InputError("This widget has no model to run another text.", "Call show(text).")
        text, pair = texts_of(request)
        cut = truncation_of(request)
        c = Comparison(analysis, analyze(text, pair, truncation=cut, progress=progress))
    answer = _answer_of(c)
    comparing.show(c, c.b)
    return answer


def _patched(comparing: Comparing, request: Request, progress: Progress | None) -> Answer:
    """The second run again, with parts of the first."""
    c = comparing.require()
    sites = request.get("sites")
    if not isinstance(sites, (list, tuple)) or len(sites) > MOST_SITES:
        raise InputTypeError(f"sites must be a list of at most {MOST_SITES}.")
    run = patch(c, sites, progress)
    told: dict[str, Any] = {"sites": list(sites), "target": None, "value": None}
    if request.get("target") is not None:
        target = target_of(request)
        told["target"] = canonical(c.b, target)
        told["value"] = patched_value(c, sites, target)
    whole = Comparison(c.a, run, c.alignment)
    answer = _answer_of(whole, told, plain=c)
    comparing.show(c, run)
    return answer


def _recovery(comparing: Comparing, request: Request, progress: Progress | None) -> Answer:
    """How much of a target each part of the first run brings back."""
    c = comparing.require()
    target = target_of(request)
    of = cast("RecoveryOf", one_of(request, "of", tuple(RECOVERED)))
    recovery = c.recovery(target, of, progress=progress)
    data = {"target": described(c.b, target), "source": recovery.source, "value": recovery.value}
    return data, {"values": recovery.values.astype(np.float32)}


def _uncompare(comparing: Comparing, _request: Request, _progress: Progress | None) -> Answer:
    comparing.forget()
    return {}, {}


KINDS: dict[str, Any] = {
    "compared": _compared,
    "patched": _patched,
    "recovery": _recovery,
    "uncompare": _uncompare,
}
