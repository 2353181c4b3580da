"""One pass over all heads of a long text, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from attn_widget.figures.arrays import Float32, Tau
from attn_widget.figures.long.blocks import head_of_blocks
from attn_widget.figures.marginals import Marginals, stack_marginals
from attn_widget.figures.metrics import (
    KEYS,
    TAU,
    Metrics,
    head_values,
    largest_entropy,
    stack_metrics,
    threshold,
    usable_cores,
)
from attn_widget.trace.base import Area

if TYPE_CHECKING:
    from attn_widget.trace import Trace

# Layer, heads, and their weights in an area, float32 [heads, rows, cols].
Visit: TypeAlias = Callable[[int, slice, Area, Float32], None]


def walk_heads(
    trace: Trace,
    tau: Tau = TAU,
    visit: Visit | None = None,
    on_layer: Callable[[int], None] | None = None,
) -> tuple[Metrics, Marginals]:
    """Metrics and marginals of every head; memory is that of one matrix a core.

    Parameters
    ----------
    trace : Trace
    tau : float or "uniform"
        See `attn_widget.figures.metrics.threshold`.
    visit : callable, optional
        Called with every block, heads of a layer side by side: see `Visit`.
    on_layer : callable, optional
        Called with each layer's number before its work; what it raises ends the walk.
    """
    metrics: list[dict[str, Float32]] = []
    marginals: list[Marginals] = []
    for layer in range(trace.n_layers):
        if on_layer is not None:
            on_layer(layer)
        figures, sums = walk_layer(trace, layer, tau, visit)
        metrics.append(figures)
        marginals.append(sums)
    return stack_metrics(metrics, tau), stack_marginals(marginals)


def walk_layer(
    trace: Trace, layer: int, tau: Tau = TAU, visit: Visit | None = None
) -> tuple[dict[str, Float32], Marginals]:
    """Metrics, float32 [H] each, and marginals of the heads of one layer; see `walk_heads`.

    What ``visit`` raises ends the work.
    """
    n = trace.n_tokens
    tau32 = threshold(tau, n)
    allowed, areas = trace.mask(layer), trace.row_blocks(layer)
    most = n * float(np.log(n)) if allowed is None else largest_entropy(allowed)

    def figures(head: int) -> tuple[list[float], Marginals]:
        blocks = seen(trace, layer, head, areas, visit)
        matrix, sums = head_of_blocks(blocks, n, allowed, tau32, most)
        return head_values(matrix), sums

    with ThreadPoolExecutor(usable_cores()) as pool:
        done = list(pool.map(figures, range(trace.n_heads)))
    values = np.array([row for row, _ in done], dtype=np.float32)
    return dict(zip(KEYS, values.T, strict=True)), join_heads([sums for _, sums in done])


def visit_layer(trace: Trace, layer: int, visit: Visit) -> None:
    """The walk of `walk_layer` for ``visit`` alone: nothing else is computed."""

    def show(head: int, areas: list[Area]) -> None:
        for _ in seen(trace, layer, head, areas, visit):
            pass

    heads, areas = range(trace.n_heads), trace.row_blocks(layer)
    with ThreadPoolExecutor(usable_cores()) as pool:
        list(pool.map(show, heads, repeat(areas, len(heads))))


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
    return Marginals(
        *(
            np.concatenate([getattr(head, name) for head in heads])
            for name in ("received", "on_self", "far", "on_previous", "on_next")
        )
    )
