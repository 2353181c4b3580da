"""Answers about the pinned pair that a saved page carries: those that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attn_widget.analysis.base import AnalysisBase
from attn_widget.page.recorded import Answered, Asked, record
from attn_widget.protocol.handlers import Answer
from attn_widget.protocol.pack import to_json
from attn_widget.protocol.request import Request

KEPT = 48  # questions of a run, the last ones
UNASKED = 64  # tokens of the longest text that is asked about unbidden, as in the page (ahead.ts)
CELL = ("layer", "head", "query", "key")
FIELDS = ("kind", *CELL, "against", "by", "side", "parts", "depth")


def asked_of(analysis: AnalysisBase) -> list[tuple[Asked, Answer | None]]:
    """Questions about a run, the last one at the end; copies of the analysis share them."""
    return analysis._cached("qk_asked", list)  # pyright: ignore[reportPrivateUsage]


def remember(analysis: AnalysisBase, request: Request, answer: Answer | None = None) -> None:
    """Keep a question, and its answer if it is known, for a page that is saved while its pair is pinned."""
    asked = {name: request[name] for name in FIELDS if request.get(name) is not None}
    known = asked_of(analysis)
    if answer is None:
        answer = next((before for one, before in known if one == asked), None)
    others = [each for each in known if each[0] != asked]
    known[:] = [*others, (asked, answer)][-KEPT:]


def ask_first(analysis: AnalysisBase, chosen: Mapping[str, Any]) -> None:
    """A page that is saved with the pinned pair of ``chosen`` has its sum, asked for or not; of a short text."""
    cell = _cell(chosen)
    if max(analysis.trace.n_tokens, analysis.trace.n_keys) <= UNASKED and cell["head"] != "mean":
        remember(analysis, {"kind": "qk", **cell, "against": "others"})


def _cell(chosen: Mapping[str, Any]) -> dict[str, Any]:
    query, key = chosen["pair"]
    return {"layer": chosen["layer"], "head": chosen["head"], "query": query, "key": key}


def answers_of(
    analysis: Any, chosen: Mapping[str, Any], _spec: object = None
) -> Iterator[Answered]:
    """Answers about the pinned pair of the selection, if any was asked for: its sum by default, and all others."""
    if chosen.get("pair") is None:
        return
    cell = _cell(chosen)
    found = [
        (asked, answer)
        for asked, answer in asked_of(analysis)
        if all(asked[name] == cell[name] for name in CELL)
    ]
    # The panel asks this when it is opened.
    first: Asked = {"kind": "qk", **cell, "against": "others"}
    if found and all(asked != first for asked, _ in found):
        found.insert(0, (first, None))
    for asked, answer in found:
        if answer is None:
            yield from record(analysis, asked)
        else:
            yield asked, to_json(answer[0]), answer[1]
