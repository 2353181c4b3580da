"""Sums of a head's matrix that several figures share: what each key receives, and the diagonals."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from attn_widget.figures.arrays import Bool, Float32, Float64, Int32
from attn_widget.figures.choice import LONG_RANGE, repeats_of

CELLS_AT_ONCE = 4096  # summed in float32; such sums are added in float64


@dataclass(frozen=True)
class Marginals:
    """Sums over the matrices of one layer, or of all layers (with ``L`` in front).

    Over the queries with a choice (`attn_widget.figures.choice`): with a full mask, all queries.

    Attributes
    ----------
    received : float64 [..., H, n]
        ``sum_i A[i, j]``: what key ``j`` receives from all queries.
    on_self : float64 [..., H]
        ``sum_i A[i, i]``.
    far : float64 [..., H]
        ``sum A[i, j]`` over ``|i - j| >= 5``: summed by itself, since the difference of two sums would lose digits.
    on_previous, on_next : float64 [..., H]
        ``sum_i A[i, i - 1]`` and ``sum_i A[i, i + 1]``; 0 for one token.
    on_duplicate, on_induction : float64 [..., H]
        On earlier tokens equal to the query, and on those that followed them; 0 where spellings were not given.
    """

    received: Float64
    on_self: Float64
    far: Float64
    on_previous: Float64
    on_next: Float64
    on_duplicate: Float64
    on_induction: Float64

    @property
    def n_tokens(self) -> int:
        return int(self.received.shape[-1])


def layer_marginals(
    weights: Float32, queries: Bool | None = None, kinds: Int32 | None = None
) -> Marginals:
    """The marginals of each head of a layer.

    ``weights``: float32 [H, n, n]. ``queries``, bool [n]: those with a choice; None: all. ``kinds``, int32 [n]:
    spelling of each token (`attn_widget.figures.choice.kinds_of`).

    >>> import numpy as np
    >>> m = layer_marginals(np.array([[[1, 0], [0.25, 0.75]]], dtype=np.float32))
    >>> m.received.tolist(), m.on_self.tolist(), m.far.tolist()
    ([[1.25, 0.75]], [1.75], [0.0])
    >>> m.on_previous.tolist(), m.on_next.tolist()
    ([0.25], [0.0])
    """
    n = weights.shape[-1]
    if queries is not None and queries.all():
        queries = None
    counted = np.ones(n, dtype=np.float32) if queries is None else queries.astype(np.float32)
    received = (counted @ weights).astype(np.float64)
    diagonals = {side: np.zeros(len(weights)) for side in (-1, 0, 1)}
    for side in diagonals:
        if n > abs(side):
            diagonals[side] = _diagonal_sum(weights, side, queries)
    repeats = [np.zeros(len(weights)), np.zeros(len(weights))]
    if kinds is not None and len(np.unique(kinds)) < n:
        repeats = repeat_sums(weights, kinds, queries)
    far = _far(weights, queries)
    return Marginals(received, diagonals[0], far, diagonals[-1], diagonals[1], *repeats)


def received_alone(weights: Float32) -> Marginals:
    """Attention that each key of another text receives, [H, m]; there are no diagonals, so all other sums are NaN.

    ``weights``: float32 [H, n, m].
    """
    received = weights.sum(axis=1, dtype=np.float64)
    none = np.full(len(weights), np.nan)
    return Marginals(received, none, none, none, none, none, none)


def _diagonal_sum(weights: Float32, offset: int, queries: Bool | None) -> Float64:
    if queries is None:
        return np.trace(weights, offset, 1, 2, dtype=np.float64)
    n = weights.shape[-1]
    cells = np.diagonal(weights, offset, 1, 2)
    rows = queries[max(0, -offset) : n - max(0, offset)]
    return cells[:, rows].sum(axis=1, dtype=np.float64)


def repeat_sums(weights: Float32, kinds: Int32, queries: Bool | None = None) -> list[Float64]:
    """``on_duplicate`` and ``on_induction`` of each head of a layer, float64 [H] each."""
    every = slice(0, len(kinds))
    sums: list[Float64] = []
    for after in (False, True):
        cells = repeats_of(kinds, every, every, after=after)
        if queries is not None:
            cells &= queries[:, None]
        sums.append(weights[:, cells].sum(axis=1, dtype=np.float64))
    return sums


def _far(weights: Float32, queries: Bool | None) -> Float64:
    """``sum A[i, j]`` over ``|i - j| >= 5`` of each head, float64 [H]."""
    heads, n, _ = weights.shape
    place = np.arange(n)
    apart = np.abs(place[:, None] - place) >= LONG_RANGE
    if queries is not None:
        apart &= queries[:, None]
    far = apart.astype(np.float32).ravel()
    cells = weights.reshape(heads, n * n)
    total = np.zeros(heads)
    for start in range(0, n * n if n > LONG_RANGE else 0, CELLS_AT_ONCE):
        part = slice(start, start + CELLS_AT_ONCE)
        total += cells[:, part] @ far[part]
    return total


def stack_marginals(layers: list[Marginals]) -> Marginals:
    """Marginals of all layers, from those of each."""
    names = [field.name for field in fields(Marginals)]
    return Marginals(*(np.stack([getattr(layer, name) for layer in layers]) for name in names))
