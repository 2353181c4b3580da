"""One head's matrix, and the quantities that several metrics share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.choice import Choice
from attn_widget.figures.quartiles import quartiles

CELLS_AT_ONCE = 2**16  # a quarter of a megabyte: what BLAS sums in float32 stays exact to 1e-6
_SMALLEST = np.finfo(np.float32).tiny


class HeadMatrix:
    """Attention of one head: the rows and cells of the queries with a choice (`Choice`).

    ``n``: number of queries with a choice: r. ``counts``, int [r] or None: how many keys each of them may look at;
    None where these are all n. ``tau``, float32, or float32 [r]: the weight below which a cell counts as sparse, by
    query where it depends on the query. ``most``: the largest entropy that the model's mask allows, in nats.
    ``row_max``: float32 [r]. ``cells``, float32 [m]: the weights that the mask allows, row after row. ``forced``,
    float32 [k]: the weights of the queries that may look at one key alone. ``row_entropy``, float64 [r]: of each
    query, in nats. ``entropy``: of the whole matrix, in nats. ``quartiles``: of `cells`.
    """

    __slots__ = (
        *("cells", "counts", "entropy", "forced", "most", "n", "quartiles", "row_entropy"),
        *("row_max", "tau"),
    )

    def __init__(
        self, rows: Rows, cells: Float32, entropy: float, tau: np.float32 | Float32, choice: Choice
    ) -> None:
        self.tau = tau
        self.most = choice.most_entropy
        self.cells = cells
        self.quartiles = quartiles(cells)
        self.counts: NDArray[np.int_] | None = None
        self.row_max: Float32 = rows.largest
        self.row_entropy: Float64 = rows.entropy
        self.forced: Float32 = rows.largest[:0]
        if choice.mask is not None:
            chosen = choice.queries
            self.counts = choice.counts[chosen]
            self.row_max, self.row_entropy = rows.largest[chosen], rows.entropy[chosen]
            self.forced = rows.largest[(choice.counts == 1) & ~chosen]
            entropy = float(self.row_entropy.sum())
        self.n = len(self.row_max)
        self.entropy = max(0.0, entropy)

    @classmethod
    def of(
        cls, weights: Float32, choice: Choice, tau: np.float32 | Float32, buffer: Float32
    ) -> HeadMatrix:
        """The quantities of a whole matrix, float32 [n, n]; ``buffer`` is overwritten."""
        rows, total = rows_of(weights, buffer)
        possible = choice.cells
        cells = weights.reshape(-1) if possible is None else weights[possible]
        return cls(rows, cells, -total, tau, choice)

    def by_query(self, values: Float32) -> Iterator[tuple[Float32, Float32]]:
        """Parts of `cells` that stay in the cache, each with the value of its cells' queries, of ``values`` [r]."""
        assert self.counts is not None
        ends = np.cumsum(self.counts)
        first = start = 0
        while first < self.n:
            last = max(first + 1, int(np.searchsorted(ends, start + CELLS_AT_ONCE, "right")))
            stop = int(ends[last - 1])
            yield self.cells[start:stop], np.repeat(values[first:last], self.counts[first:last])
            first, start = last, stop


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
