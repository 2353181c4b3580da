"""A trace: where the heads that matter for a cell read, as cells of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attn_widget.checks import check_callable, check_count
from attn_widget.errors import InputError
from attn_widget.features.qk.against import Against
from attn_widget.features.qk.attribution import QKAttribution
from attn_widget.features.qk.cell import attribution, cell_of
from attn_widget.features.qk.node import Edge, Node, Sums
from attn_widget.features.qk.split import SIDES, Part, Side
from attn_widget.trace.forward import Progress

if TYPE_CHECKING:
    from attn_widget.features.qk.kept import Kept

LEAST_SHARE = 0.15  # of a cell's contrast, that a head must bring to be followed
FOLLOWED = 2  # of the largest parts of a side
DEEPEST = 5
Address = tuple[int, int, int, int]


def traced(found: QKAttribution, depth: int, progress: Progress | None) -> Node:
    """See `QKAttribution.trace`."""
    check_count(depth, "depth", 1, DEEPEST)
    check_callable(progress, "progress")
    walk = _Walk(found, progress)
    return walk.node(found, depth)


class _Walk:
    def __init__(self, start: QKAttribution, progress: Progress | None) -> None:
        asked: Against = start.cell.asked
        # Another key, and a learned sink, are of this cell alone.
        self.against: Against = asked if asked in ("all", "rivals") else "others"
        self.kept: Kept = start.cell.kept
        self.progress = progress
        self.seen: set[Address] = {(start.layer, start.head, start.query, start.key)}
        self.done = 0

    def node(self, found: QKAttribution, depth: int) -> Node:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, len(self.seen))
        children: list[Edge] = []
        stops: list[str] = []
        for side in SIDES:
            place = found.query if side == "query" else found.key
            parts, sums = found.parts(side)
            largest = np.argsort(-np.abs(sums), kind="stable")[:FOLLOWED]
            for at in largest:
                part, value = parts[at], float(sums[at])
                if part.kind != "head" or abs(value) < LEAST_SHARE * abs(found.contrast):
                    continue
                edge = self._edge(found, side, place, part, value, depth, stops)
                if edge is not None:
                    children.append(edge)
        stop = None
        if not children:
            stop = stops[0] if stops else _no_head(found)
        return Node(
            found.layer,
            found.head,
            found.query,
            found.key,
            found.weight,
            found.contrast,
            {side: _sums(found, side) for side in SIDES},
            tuple(children),
            stop,
        )

    def _edge(
        self,
        found: QKAttribution,
        side: Side,
        place: int,
        part: Part,
        value: float,
        depth: int,
        stops: list[str],
    ) -> Edge | None:
        """The edge to a head, or a sentence in ``stops`` that says why it is not followed."""
        assert part.layer is not None and part.head is not None and part.source is not None
        address = (part.layer, part.head, place, part.source)
        if depth == 1:
            stops.append("The trace ends at the depth that was asked for.")
        elif part.source == place:
            stops.append(f"{part.name} read its own position: there is no other token to follow.")
        elif part.source == 0 and self.kept.run.encoder.predicts == "next":
            stops.append(
                f"{part.name} read the first token, where weight goes that is for no word."
            )
        elif address in self.seen:
            stops.append(f"{part.name} is in the trace already, with the same tokens.")
        else:
            self.seen.add(address)
            try:
                cell = cell_of(self.kept, *address, self.against, "parts", "apart")
            except InputError as error:
                stops.append(error.message)
                return None
            node = self.node(attribution(cell), depth - 1)
            share = abs(value / found.contrast) if found.contrast else float("inf")
            return Edge(side, part, value, share, node)
        return None


def _sums(found: QKAttribution, side: Side) -> Sums:
    parts, sums = found.parts(side)
    of: dict[str, float] = {"head": 0.0, "ffn": 0.0}
    rest = 0.0
    for part, value in zip(parts, sums, strict=True):
        if part.kind in of:
            of[part.kind] += float(value)
        else:
            rest += float(value)
    at = int(np.abs(sums).argmax())
    return Sums(of["head"], of["ffn"], rest, parts[at], float(sums[at]))


def _no_head(found: QKAttribution) -> str:
    if found.layer == 0:
        return "No head is below the first layer."
    return f"Neither of the two largest parts of a side is a head that brings {LEAST_SHARE:.0%} of the contrast."
