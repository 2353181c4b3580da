"""A second run in a widget: the page asks for it, and its slices are answered as those of the first one are.

The requests are in ``docs/protocol.md``, section "Two runs".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, InputTypeError, SliceError
from attn_widget.features.comparison.base import check_one_text
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import compared_parts, recovery_data, selections
from attn_widget.features.why.slices import canonical, described, target_of
from attn_widget.protocol.handlers import Answer, Handler
from attn_widget.protocol.initial_payload import first_paint, without_other_parts
from attn_widget.protocol.pack import pack
from attn_widget.protocol.request import Request, one_of
from attn_widget.protocol.tasks import Tasks
from attn_widget.trace.forward import Progress
from attn_widget.widget.actions import Analyze, texts_of, truncation_of

if TYPE_CHECKING:
    from attn_widget.features.comparison.patching import RecoveryOf

MAX_SITES = 200  # of one request


class Comparing:
    """The comparison of one widget, while there is one.

    ``runs``: gives the widget's run, and what runs another text (None where nothing can). ``comparison``: the
    widget's run, and the other one as it was run first. ``both``, ``b``: answer requests about both runs, and about
    the second one.
    """

    def __init__(self, runs: Callable[[], tuple[Analysis, Analyze | None]]) -> None:
        self.runs = runs
        self.comparison: Comparison | None = None
        self._shown: Analysis | None = None  # the other run, or its patched form
        self.both = Tasks(lambda: self, HANDLERS)
        self.b = Tasks(lambda: self._shown)

    def close(self) -> None:
        """Drop the second run, and cancel what is being computed."""
        self.forget()
        for tasks in (self.both, self.b):
            tasks.close()

    def forget(self) -> None:
        """Drop the second run."""
        self.comparison = self._shown = None

    def at(self, address: str) -> Tasks:
        """The tasks that answer requests of an address: of the second run, or of both."""
        return self.b if address == "b" else self.both

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
    paint = without_other_parts(first_paint(c.b, chosen.layer or 0, chosen.head or 0, live=True))
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
        check_one_text(analysis)  # before another text is run
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
    if not isinstance(sites, (list, tuple)) or len(sites) > MAX_SITES:
        raise InputTypeError(f"sites must be a list of at most {MAX_SITES}.")
    from attn_widget.features.comparison.patching import patch, patched_value

    run = patch(c, sites, progress)
    told: dict[str, Any] = {"sites": list(sites), "target": None, "value": None}
    if request.get("target") is not None:
        target = target_of(request)
        told["target"] = canonical(c.b, target)
        told["value"] = patched_value(c, sites, target)
    whole = Comparison(c.a, run, c.alignment, c.key_alignment)
    answer = _answer_of(whole, told, plain=c)
    comparing.show(c, run)
    return answer


def _recovery(comparing: Comparing, request: Request, progress: Progress | None) -> Answer:
    """Share of a target that each part of the first run brings back."""
    c = comparing.require()
    target = target_of(request)
    from attn_widget.features.comparison.patching import RECOVERED

    of = cast("RecoveryOf", one_of(request, "of", tuple(RECOVERED)))
    recovery = c.recovery(target, of, progress=progress)
    return recovery_data(c, recovery), {"values": recovery.values.astype(np.float32)}


def _uncompare(comparing: Comparing, _request: Request, _progress: Progress | None) -> Answer:
    comparing.forget()
    return {}, {}


HANDLERS = {
    "compared": Handler(_compared, slow=True),
    "patched": Handler(_patched, slow=True),
    "recovery": Handler(_recovery, slow=True),
    "uncompare": Handler(_uncompare, slow=True),
}
