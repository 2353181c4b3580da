"""Answers about the pinned pair that a saved page carries: those that were asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from attn_widget.analysis import Analysis
from attn_widget.page.recorded import Answered, Asked, record
from attn_widget.protocol.handlers import Answer
from attn_widget.protocol.pack import to_json
from attn_widget.protocol.request import Request

KEPT = 48  # answers of a run, the last ones
CELL = ("layer", "head", "query", "key")
FIELDS = ("kind", *CELL, "against", "by", "side", "parts", "depth")

_answered: WeakKeyDictionary[Analysis, list[tuple[Asked, Answer]]] = WeakKeyDictionary()


def remembered(analysis: Analysis, request: Request, answer: Answer) -> Answer:
    """``answer``, kept for a page that is saved while its pair is pinned."""
    asked = {name: request[name] for name in FIELDS if request.get(name) is not None}
    known = [each for each in _answered.get(analysis, ()) if each[0] != asked]
    _answered[analysis] = [*known, (asked, answer)][-KEPT:]
    return answer


def answers_of(analysis: Analysis, chosen: Mapping[str, Any]) -> Iterator[Answered]:
    """Answers about the pinned pair of the selection, if any was asked for: its sum by default, and all others."""
    if chosen.get("pair") is None:
        return
    query, key = chosen["pair"]
    cell = {"layer": chosen["layer"], "head": chosen["head"], "query": query, "key": key}
    found = [
        (asked, answer)
        for asked, answer in _answered.get(analysis, ())
        if all(asked[name] == cell[name] for name in CELL)
    ]
    # The panel asks this when it is opened.
    first: Asked = {"kind": "qk", **cell, "against": "others"}
    if found and all(asked != first for asked, _ in found):
        yield from record(analysis, first)
    for asked, (data, arrays) in found:
        yield asked, to_json(data), arrays
