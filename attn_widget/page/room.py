"""Vectors and scores of heads, for the arithmetic of a pair, that a saved page carries as far as there is room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.page.recorded import Answered, Asked, record
from attn_widget.page.spec import PageSpec
from attn_widget.trace import QKVTrace

FLOAT = 4  # bytes

Group = list[tuple[Asked, int]]  # requests with the numbers in their answers


def fitting(groups: Iterable[Group], budget: float) -> tuple[Group, bool]:
    """The groups for which there is room, a smaller one in the place of a larger one; whether that is all of them.

    A page has the whole of a group, or says that it needs a kernel. ``budget``: bytes, not compressed.
    """
    chosen: Group = []
    whole = True
    for group in groups:
        taken = FLOAT * sum(cells for _, cells in group)
        if taken > budget:
            whole = False
            continue
        budget -= taken
        chosen += group
    return chosen, whole


def selected_first(analysis: Analysis, selected: int) -> list[int]:
    """The layers, in the order in which a page should have them."""
    return sorted(range(analysis.trace.n_layers), key=lambda layer: (layer != selected, layer))


def vectors(analysis: Analysis, layer: int, heads: Sequence[int]) -> Group:
    """Queries, keys and values of heads."""
    cells = 3 * analysis.trace.n_tokens * analysis.trace.head_dim
    return [({"kind": "qkv", "layer": layer, "head": head}, cells) for head in heads]


def scores(analysis: Analysis, layers: Sequence[int], heads: Sequence[int]) -> Iterator[Group]:
    """Scores of the heads of each layer, where the code of the page has weights alone."""
    factored = isinstance(analysis.trace, QKVTrace) and analysis.trace.plain
    if not factored and analysis.trace.has_scores:
        cells = analysis.trace.n_tokens**2
        for layer in layers:
            yield [({"kind": "scores", "layer": layer, "head": head}, cells) for head in heads]


def of_heads(
    analysis: Analysis,
    chosen: Mapping[str, Any],
    _spec: PageSpec,
    heads: Sequence[int],
    budget: float,
) -> Iterator[Answered]:
    """Vectors and scores alone, those of the selected layer first."""
    layers = selected_first(analysis, chosen["layer"])
    groups = [
        *(vectors(analysis, layer, heads) for layer in layers),
        *scores(analysis, layers, heads),
    ]
    for request, _ in fitting(groups, budget)[0]:
        yield from record(analysis, request)
