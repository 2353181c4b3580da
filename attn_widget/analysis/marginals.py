"""Sums of a head's matrix that several figures share: what each key receives, and the diagonals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attn_widget.analysis.arrays import Float32, Float64

LONG_RANGE = 5  # tokens between query and key from which a pair counts as long range


@dataclass(frozen=True)
class Marginals:
    """Sums over the matrices of one layer, or of all layers (with ``L`` in front).

    Attributes
    ----------
    received : float64 [..., H, n]
        ``sum_i A[i, j]``: what key ``j`` receives from all queries.
    on_self : float64 [..., H]
        ``sum_i A[i, i]``.
    near : float64 [..., H]
        ``sum A[i, j]`` over ``|i - j| < 5``.
    on_previous, on_next : float64 [..., H]
        ``sum_i A[i, i - 1]`` and ``sum_i A[i, i + 1]``; 0 for one token.
    """

    received: Float64
    on_self: Float64
    near: Float64
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
    >>> m.received.tolist(), m.on_self.tolist(), m.near.tolist()
    ([[1.25, 0.75]], [1.75], [2.0])
    >>> m.on_previous.tolist(), m.on_next.tolist()
    ([0.25], [0.0])
    """
    n = weights.shape[-1]
    ones = np.ones(n, dtype=np.float32)
    received = (ones @ weights).astype(np.float64)
    on_self = np.trace(weights, axis1=1, axis2=2, dtype=np.float64)
    near = on_self.copy()
    beside = {-1: np.zeros_like(on_self), 1: np.zeros_like(on_self)}
    for offset in range(1, min(LONG_RANGE, n)):
        for side in (-offset, offset):
            diagonal = np.trace(weights, side, axis1=1, axis2=2, dtype=np.float64)
            near += diagonal
            if side in beside:
                beside[side] = diagonal
    return Marginals(received, on_self, near, beside[-1], beside[1])


def stack_marginals(layers: list[Marginals]) -> Marginals:
    """Marginals of all layers, from those of each."""
    return Marginals(
        np.stack([layer.received for layer in layers]),
        np.stack([layer.on_self for layer in layers]),
        np.stack([layer.near for layer in layers]),
        np.stack([layer.on_previous for layer in layers]),
        np.stack([layer.on_next for layer in layers]),
    )
