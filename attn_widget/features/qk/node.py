"""A trace, as it is given out: cells, and the heads that lead from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

from attn_widget.features.qk.split import Part, Side


@dataclass(frozen=True)
class Sums:
    """Sums of the parts of one side.

    Attributes
    ----------
    heads, ffns, rest : float
        ``rest``: embeddings, biases and distances.
    largest : Part
    value : float
        What the largest part brings.
    """

    heads: float
    ffns: float
    rest: float
    largest: Part
    value: float


@dataclass(frozen=True)
class Edge:
    """A head that is followed: its child is a new question, no share of the parent.

    Attributes
    ----------
    side : {"query", "key"}
    part : Part
    value, share : float
        What it brings to the parent, and of the parent's contrast without sign.
    node : Node
        The cell (that head, its own position, the token from which most of it was read).
    """

    side: Side
    part: Part
    value: float
    share: float
    node: Node


@dataclass(frozen=True)
class Node:
    """A cell of a trace.

    Attributes
    ----------
    layer, head, query, key : int
    weight, contrast : float
    sides : dict of str to Sums
        ``"query"`` and ``"key"``; each adds up to the contrast.
    children : tuple of Edge
    stop : str or None
        Why nothing is followed.
    """

    layer: int
    head: int
    query: int
    key: int
    weight: float
    contrast: float
    sides: dict[Side, Sums]
    children: tuple[Edge, ...]
    stop: str | None

    def __str__(self) -> str:
        lines = [f"L{self.layer} H{self.head} {self.query} -> {self.key} ({self.contrast:+.2f})"]
        for edge in self.children:
            below = str(edge.node).replace("\n", "\n  ")
            lines.append(f"  {edge.side} {edge.value:+.2f} by {below}")
        if self.stop is not None:
            lines.append(f"  {self.stop}")
        return "\n".join(lines)
