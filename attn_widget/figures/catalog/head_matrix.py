"""One head's matrix, and the quantities that several metrics share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attn_widget.figures.arrays import Bool, Float32, Float64
from attn_widget.figures.quartiles import quartiles

_SMALLEST = np.finfo(np.float32).tiny


class HeadMatrix:
    """Attention of one head.

    Attributes
    ----------
    n : int
        Number of tokens.
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

    __slots__ = ("cells", "entropy", "most", "n", "quartiles", "row_entropy", "row_max", "tau")

    def __init__(
        self, rows: Rows, cells: Float32, entropy: float, tau: np.float32, most: float
    ) -> None:
        self.n = len(rows.largest)
        self.tau = tau
        self.most = most
        self.row_max: Float32 = rows.largest
        self.row_entropy: Float64 = rows.entropy
        self.entropy = max(0.0, entropy)
        self.cells = cells
        self.quartiles = quartiles(cells)

    @classmethod
    def of(
        cls, weights: Float32, allowed: Bool | None, tau: np.float32, most: float, buffer: Float32
    ) -> HeadMatrix:
        """The quantities of a whole matrix, float32 [n, n]; ``buffer`` is overwritten."""
        rows, total = rows_of(weights, buffer)
        cells = weights.reshape(-1) if allowed is None else weights[allowed]
        return cls(rows, cells, -total, tau, most)


class Rows(NamedTuple):
    """Figures of each query: the largest weight, float32 [r], and the entropy in nats, float64 [r]."""

    largest: Float32
    entropy: Float64


def rows_of(weights: Float32, buffer: Float32) -> tuple[Rows, float]:
    """Figures of the rows of ``weights``, [r, keys], and ``sum A ln A``; ``buffer`` is overwritten."""
    np.maximum(weights, _SMALLEST, out=buffer)  # 0 ln 0 = 0
    np.log(buffer, out=buffer)
    np.multiply(buffer, weights, out=buffer)
    sums = buffer.sum(axis=1).astype(np.float64)
    return Rows(weights.max(axis=1), -sums), float(sums.sum())
