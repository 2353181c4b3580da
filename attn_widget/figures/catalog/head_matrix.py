"""One head's matrix, with what several metrics are made of, each computed once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from attn_widget.figures.arrays import Bool, Float32, Float64
from attn_widget.figures.quartiles import quartiles

_SMALLEST = np.finfo(np.float32).tiny


class HeadMatrix:
    """Attention of one head.

    Attributes
    ----------
    weights : float32 [n, n]
        Rows are queries; each sums to 1.
    tau : float32
        The weight below which a cell counts as sparse.
    most : float
        The largest entropy that the model's mask allows, in nats.
    row_max : float32 [n]
    cells : float32 [m]
        The weights that the mask allows.
    row_entropy : float64 [n]
        Of each query, in nats.
    entropy : float
        Of the whole matrix, in nats.
    quartiles : (float, float, float)
    """

    def __init__(
        self, weights: Float32, allowed: Bool | None, tau: np.float32, most: float, buffer: Float32
    ) -> None:
        self.weights = weights
        self.tau = tau
        self.most = most
        self._allowed = allowed
        self._buffer = buffer

    @cached_property
    def row_max(self) -> Float32:
        return self.weights.max(axis=1)

    @cached_property
    def cells(self) -> Float32:
        return self.weights.reshape(-1) if self._allowed is None else self.weights[self._allowed]

    @cached_property
    def _terms(self) -> Float32:
        """``A ln A``, with ``0 ln 0 = 0``."""
        terms = self._buffer
        np.maximum(self.weights, _SMALLEST, out=terms)
        np.log(terms, out=terms)
        return np.multiply(terms, self.weights, out=terms)

    @cached_property
    def row_entropy(self) -> Float64:
        entropy: Float64 = -self._terms.sum(axis=1, dtype=np.float64)
        return np.maximum(entropy, 0)

    @cached_property
    def entropy(self) -> float:
        return max(0.0, -float(self._terms.sum()))

    @cached_property
    def quartiles(self) -> tuple[float, float, float]:
        return quartiles(self.cells)

    @property
    def n(self) -> int:
        return self.weights.shape[0]
