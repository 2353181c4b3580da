"""One pass over all heads of a long text, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import repeat
from typing import TypeAlias

import numpy as np

from attn_widget.figures.arrays import Float32, Tau
from attn_widget.figures.choice import Choice, kinds_of
from attn_widget.figures.long.blocks import head_of_blocks
from attn_widget.figures.marginals import Marginals, stack_marginals
from attn_widget.figures.metrics import (
    KEYS,
    TAU,
    Metrics,
    head_values,
    stack_metrics,
    thresholds,
    usable_cores,
)
from attn_widget.host.threads import pool
from attn_widget.trace import Trace
from attn_widget.trace.base import Area

# Layer, heads, and their weights in an area, float32 [heads, rows, cols].
Visit: TypeAlias = Callable[[int, slice, Area, Float32], None]


def walk_heads(trace: Trace, tau: Tau = TAU) -> tuple[Metrics, Marginals]:
    """Metrics and marginals of every head; memory is that of one matrix a core.

    ``tau``, float or "uniform": see `attn_widget.figures.metrics.threshold`.
    """
    metrics: list[dict[str, Float32]] = []
    marginals: list[Marginals] = []
    for layer in range(trace.n_layers):
        figures, sums = walk_layer(trace, layer, tau)
        metrics.append(figures)
        marginals.append(sums)
    return stack_metrics(metrics, tau), stack_marginals(marginals)


def walk_layer(
    trace: Trace, layer: int, tau: Tau = TAU, visit: Visit | None = None
) -> tuple[dict[str, Float32], Marginals]:
    """Metrics, float32 [H] each, and marginals of the heads of one layer; see `walk_heads`.

    ``visit`` is called with every block, heads side by side; what it raises ends the work.
    """
    choice, areas = Choice(trace.mask(layer), trace.n_tokens), trace.row_blocks(layer)
    tau32, kinds = thresholds(tau, choice), kinds_of(trace.tokens)

    def figures(head: int) -> tuple[list[float], Marginals]:
        blocks = seen(trace, layer, head, areas, visit)
        matrix, sums = head_of_blocks(blocks, choice, tau32, kinds)
        return head_values(matrix), sums

    with pool(usable_cores()) as workers:
        done = list(workers.map(figures, range(trace.n_heads)))
    values = np.array([row for row, _ in done], dtype=np.float32)
    return dict(zip(KEYS, values.T, strict=True)), join_heads([sums for _, sums in done])


def visit_layer(trace: Trace, layer: int, visit: Visit) -> None:
    """The walk of `walk_layer` for ``visit`` alone: nothing else is computed."""

    def show(head: int, areas: list[Area]) -> None:
        for _ in seen(trace, layer, head, areas, visit):
            pass

    heads, areas = range(trace.n_heads), trace.row_blocks(layer)
    with pool(usable_cores()) as workers:
        list(workers.map(show, heads, repeat(areas, len(heads))))


def seen(
    trace: Trace, layer: int, head: int, areas: list[Area], visit: Visit | None
) -> Iterator[tuple[Area, Float32]]:
    """The blocks of a head, each shown to ``visit`` on its way."""
    for area, weights in trace.head_blocks(layer, head, areas):
        if visit is not None:
            visit(layer, slice(head, head + 1), area, weights[None])
        yield area, weights


def join_heads(heads: list[Marginals]) -> Marginals:
    """Marginals of a layer, from those of its heads."""
    names = [field.name for field in fields(Marginals)]
    return Marginals(*(np.concatenate([getattr(head, name) for head in heads]) for name in names))
