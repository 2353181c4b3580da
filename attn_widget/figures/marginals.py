"""Sums of a head's matrix that several figures share: what each key receives, and the diagonals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attn_widget.figures.arrays import Float32, Float64

LONG_RANGE = 5  # tokens between query and key from which a pair counts as long range
CELLS_AT_ONCE = 4096  # summed in float32; such sums are added in float64


@dataclass(frozen=True)
class Marginals:
    """Sums over the matrices of one layer, or of all layers (with ``L`` in front).

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
    """

    received: Float64
    on_self: Float64
    far: Float64
    on_previous: Float64
    on_next: Float64

    @property
    def n_tokens(self) -> int:
        return int(self.received.shape[-1])


def layer_marginals(weights: Float32) -> Marginals:
    """The marginals of each head of a layer.

    Parameters
    ----------
    weights : float32 [H, n, n]

    Examples
    --------
    >>> import numpy as np
    >>> m = layer_marginals(np.array([[[1, 0], [0.25, 0.75]]], dtype=np.float32))
    >>> m.received.tolist(), m.on_self.tolist(), m.far.tolist()
    ([[1.25, 0.75]], [1.75], [0.0])
    >>> m.on_previous.tolist(), m.on_next.tolist()
    ([0.25], [0.0])
    """
    n = weights.shape[-1]
    ones = np.ones(n, dtype=np.float32)
    received = (ones @ weights).astype(np.float64)
    on_self = np.trace(weights, axis1=1, axis2=2, dtype=np.float64)
    beside = {side: np.zeros_like(on_self) for side in (-1, 1)}
    if n > 1:
        beside = {side: np.trace(weights, side, 1, 2, dtype=np.float64) for side in beside}
    return Marginals(received, on_self, _far(weights), beside[-1], beside[1])


def _far(weights: Float32) -> Float64:
    """``sum A[i, j]`` over ``|i - j| >= 5`` of each head, float64 [H]."""
    heads, n, _ = weights.shape
    place = np.arange(n)
    far = (np.abs(place[:, None] - place) >= LONG_RANGE).astype(np.float32).ravel()
    cells = weights.reshape(heads, n * n)
    total = np.zeros(heads)
    for start in range(0, n * n if n > LONG_RANGE else 0, CELLS_AT_ONCE):
        part = slice(start, start + CELLS_AT_ONCE)
        total += cells[:, part] @ far[part]
    return total


def stack_marginals(layers: list[Marginals]) -> Marginals:
    """Marginals of all layers, from those of each."""
    return Marginals(
        np.stack([layer.received for layer in layers]),
        np.stack([layer.on_self for layer in layers]),
        np.stack([layer.far for layer in layers]),
        np.stack([layer.on_previous for layer in layers]),
        np.stack([layer.on_next for layer in layers]),
    )
