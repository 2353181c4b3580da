"""One head's matrix, and the quantities that several metrics share."""

from __future__ import annotations

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
        Of `cells`.
    """

    __slots__ = (
        "cells",
        "entropy",
        "most",
        "n",
        "quartiles",
        "row_entropy",
        "row_max",
        "tau",
        "weights",
    )

    def __init__(
        self, weights: Float32, allowed: Bool | None, tau: np.float32, most: float, buffer: Float32
    ) -> None:
        self.weights = weights
        self.n = len(weights)
        self.tau = tau
        self.most = most
        self.row_max: Float32 = weights.max(axis=1)
        self.cells = weights.reshape(-1) if allowed is None else weights[allowed]
        self.quartiles = quartiles(self.cells)
        np.maximum(weights, _SMALLEST, out=buffer)  # 0 ln 0 = 0
        np.log(buffer, out=buffer)
        np.multiply(buffer, weights, out=buffer)
        self.row_entropy: Float64 = -buffer.sum(axis=1, dtype=np.float64)
        self.entropy = max(0.0, -float(buffer.sum()))
