"""Slices of why a head looks there."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.checks import short_repr
from attn_widget.errors import SliceError
from attn_widget.features.qk.against import choices
from attn_widget.features.qk.attribution import PAIRS, QKAttribution
from attn_widget.features.qk.effects import MOST
from attn_widget.features.qk.node import Node, Sums
from attn_widget.features.qk.notes import notes
from attn_widget.features.qk.saved import remember
from attn_widget.features.qk.split import SIDES, Part, Side
from attn_widget.features.qk.tree import DEEPEST
from attn_widget.features.qk.ways import ways
from attn_widget.protocol.handlers import Answer, Arrays, answers
from attn_widget.protocol.request import Request, head_of, integer, layer_of, one_of
from attn_widget.trace.forward import Progress

MATRIX_CELLS = 16_384  # of a matrix by tokens that is sent unasked
AGAINSTS = ("others", "all", "rivals", "sink")


def asked(analysis: Analysis, request: Request, progress: Progress | None) -> QKAttribution:
    """The attribution that a request is about."""
    against = request.get("against", "others")
    if isinstance(against, str):
        against = one_of({"against": against}, "against", AGAINSTS)
    elif against is not None:
        against = integer(request, "against", 0, analysis.trace.n_keys)
    by = request.get("by")
    return analysis.qk_attribution(
        layer_of(analysis, request),
        cast(
            "int", head_of(analysis, request)
        ),  # a mean of heads is refused there, with the reason
        integer(request, "query", 0, analysis.trace.n_tokens),
        integer(request, "key", 0, analysis.trace.n_keys),
        against="others" if against is None else against,
        by=None if by is None else one_of(request, "by", ("tokens", "parts")),
        progress=progress,
    )


@answers("qk", slow=True)
def qk(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    """One cell: what each part of query and key brings to its score."""
    found = asked(analysis, request, progress)
    pairs = found.pairs(min(PAIRS, found.matrix.size))
    data = {
        "by": found.by,
        "others": [*ways(found.cell.kept.run)],
        "against": found.against,
        "againsts": [*choices(found.cell.row.rest is not None)],
        "fallback": found.fallback,
        "score": found.score,
        "weight": found.weight,
        "contrast": found.contrast,
        "constant": found.constant,
        "distance": found.distance,
        "capped": found.capped,
        "unreliable": found.unreliable,
        "gap": found.gap,
        "notes": notes(found),
        "query_parts": [_part(part) for part in found.query_parts],
        "key_parts": [_part(part) for part in found.key_parts],
        "pairs": [list(pair) for pair in pairs],
        "pairs_rest": found.contrast - sum(value for *_, value in pairs),
    }
    arrays: Arrays = {
        "query_sums": found.query_sums.astype(np.float32),
        "key_sums": found.key_sums.astype(np.float32),
    }
    small = found.by == "tokens" and found.matrix.size <= MATRIX_CELLS
    if small or request.get("matrix") is True:
        arrays["matrix"] = found.matrix
    remember(analysis, request, (data, arrays))
    return data, arrays


@answers("qk_effects", slow=True)
def qk_effects(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    """Direct and total effects of some parts."""
    side = cast("Side", one_of(request, "side", SIDES))
    given = request.get("parts", [])
    if not isinstance(given, (list, tuple)) or len(given) > MOST:
        raise SliceError(f"parts must be at most {MOST} indices, got {short_repr(given)}.")
    found = asked(analysis, request, None)
    size = len(found.parts(side)[0])
    parts = [integer({"part": at}, "part", 0, size) for at in given]
    effects = found.total_effects(side=side, parts=parts, progress=progress)
    rows = [
        {"part": each.part, "direct": each.direct, "total": each.total, "weight": each.weight}
        for each in effects.effects
    ]
    data = {"effects": rows, "weight": effects.weight}
    remember(analysis, request, (data, {}))
    return data, {}


@answers("qk_trace", slow=True)
def qk_trace(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    """Tree of the cells in which the largest heads read."""
    depth = integer({"depth": 3, **request}, "depth", 1, DEEPEST + 1)
    found = asked(analysis, {**request, "by": "parts"}, None)
    root = _node(found.trace(depth, progress=progress))
    remember(analysis, request, ({"root": root}, {}))
    return {"root": root}, {}


def _part(part: Part) -> dict[str, Any]:
    named: dict[str, Any] = {
        "kind": part.kind,
        "layer": part.layer,
        "head": part.head,
        "token": part.token,
        "source": part.source,
    }
    return named if part.text is None else {**named, "text": part.text}


def _side(sums: Sums) -> dict[str, Any]:
    largest = [_part(sums.largest), sums.value]
    return {"heads": sums.heads, "ffns": sums.ffns, "rest": sums.rest, "largest": largest}


def _node(node: Node) -> dict[str, Any]:
    return {
        "layer": node.layer,
        "head": node.head,
        "query": node.query,
        "key": node.key,
        "weight": node.weight,
        "contrast": node.contrast,
        "sides": {side: _side(sums) for side, sums in node.sides.items()},
        "children": [
            {
                "side": edge.side,
                "part": [edge.part.layer, edge.part.head],
                "value": edge.value,
                "share": edge.share,
                "node": _node(edge.node),
            }
            for edge in node.children
        ],
        "stop": node.stop,
    }
