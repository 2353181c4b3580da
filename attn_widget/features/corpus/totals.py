"""Sums over texts that can be added to each other in any order, to the bit, with their examples.

Every sum is one of whole numbers that float64 holds exactly (`attn_widget.features.corpus.statistics.means`), so neither the order
of the texts nor how they are divided among workers changes a bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.corpus.heaps import Heaps
from attn_widget.features.corpus.reading.observed import ROWS
from attn_widget.features.corpus.reading.targets import OFFSETS
from attn_widget.features.corpus.statistics.intervals import (
    DIFFERENT,
    RESAMPLES,
    TEXTS_AT_ONCE,
    edges,
    independent,
    share_edges,
    times,
)
from attn_widget.features.corpus.statistics.means import (
    COARSE,
    FINE,
    deviation,
    ratio,
    split,
    split_squares,
)
from attn_widget.features.corpus.storage import Rows
from attn_widget.host.installed import require

Doubles = NDArray[np.float64]


class Totals:
    """Sums of the figures of texts.

    ``shape``: keys, layers, heads. ``seed``: of the bootstrap and of the uniform sample of texts. ``heaps``: the
    best texts of each head; None keeps no examples.
    """

    def __init__(self, shape: tuple[int, int, int], seed: int, heaps: Heaps | None = None) -> None:
        self.shape, self.seed, self.heaps = shape, seed, heaps
        size = int(np.prod(shape))
        heads = shape[1] * shape[2]
        self.n_texts = self.n_tokens = 0
        self.arrays: dict[str, NDArray[Any]] = {
            "count": np.zeros(size, np.int64),
            "sum": np.zeros((2, size)),
            "squares": np.zeros((3, size)),
            "drawn": np.zeros((2, RESAMPLES, size)),
            "drawn_count": np.zeros((RESAMPLES, size)),
            "hits": np.zeros((len(ROWS), heads), np.int64),
            "queries": np.zeros(len(ROWS), np.int64),
            "asked": np.zeros(len(ROWS), np.int64),  # texts with a query
            "expected": np.zeros((2, len(ROWS))),
            "offsets": np.zeros((len(ROWS), len(OFFSETS)), np.int64),
            "drawn_hits": np.zeros((RESAMPLES, len(ROWS) * heads)),
            "drawn_queries": np.zeros((RESAMPLES, len(ROWS))),
        }

    def add(self, rows: Rows) -> None:
        """Add texts; those with the same hash are drawn together."""
        if rows.digests is None:
            raise ValueError("rows without hashes")
        self.n_texts += len(rows.index)
        self.n_tokens += int(rows.n_tokens.sum())
        for first in range(0, len(rows.index), TEXTS_AT_ONCE):
            self._add(rows, slice(first, first + TEXTS_AT_ONCE), rows.digests)
        if self.heaps is not None:
            self.heaps.add(rows, self.seed)

    def _add(self, rows: Rows, part: slice, digests: NDArray[np.uint64]) -> None:
        sums = self.arrays
        figures = rows.figures[part].reshape(len(rows.index[part]), -1)
        there = ~np.isnan(figures)
        drawn = np.stack([times(int(mark), self.seed) for mark in digests[part]], 1)
        sums["count"] += there.sum(0)
        for place, values in enumerate(split(figures)):
            sums["sum"][place] += values.sum(0)
            sums["drawn"][place] += drawn @ values
        for place, values in enumerate(split_squares(figures)):
            sums["squares"][place] += values.sum(0)
        by_key = there.reshape(len(there), *self.shape[:1], self.shape[1] * self.shape[2])
        if (
            by_key == by_key[:, :, :1]
        ).all():  # as a rule a text has a figure of all heads or of none
            counts = np.repeat(drawn @ by_key[:, :, 0].astype(float), by_key.shape[2], axis=1)
        else:
            counts = drawn @ there.astype(float)
        sums["drawn_count"] += counts
        if rows.observed is None:
            return
        queries = rows.observed.queries[part]
        hits = rows.observed.hits[part].reshape(len(queries), -1)
        sums["hits"] += hits.sum(0, dtype=np.int64).reshape(sums["hits"].shape)
        sums["queries"] += queries.sum(0)
        sums["asked"] += (queries > 0).sum(0)
        sums["offsets"] += rows.observed.offsets[part].sum(0, dtype=np.int64)
        for place, values in enumerate(split(rows.observed.expected[part])):
            sums["expected"][place] += values.sum(0)
        sums["drawn_hits"] += drawn @ hits.astype(float)
        sums["drawn_queries"] += drawn @ queries.astype(float)

    def merge(self, other: Totals) -> None:
        """Add the sums of other texts."""
        self.n_texts += other.n_texts
        self.n_tokens += other.n_tokens
        for name, values in self.arrays.items():
            values += other.arrays[name]
        if self.heaps is not None and other.heaps is not None:
            self.heaps.merge(other.heaps)

    @property
    def count(self) -> NDArray[np.int64]:
        """Number of texts that have each figure, int64 [keys, L, H]."""
        return self.arrays["count"].reshape(self.shape)

    def mean(self) -> NDArray[np.float32]:
        """float32 [keys, L, H]; NaN where no text has the figure."""
        return ratio(self._sum(), self.arrays["count"]).reshape(self.shape).astype(np.float32)

    def sd(self) -> NDArray[np.float32]:
        """Sample standard deviation, float32 [keys, L, H]; NaN below two texts."""
        sums = self.arrays
        return deviation(sums["count"], sums["sum"], sums["squares"]).reshape(self.shape)

    def interval(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Bootstrap 95% interval of the mean, each float32 [keys, L, H]; NaN below eight different texts."""
        coarse, fine = self.arrays["drawn"]
        means = ratio(coarse / COARSE + fine / FINE, self.arrays["drawn_count"])
        n = independent(self.arrays["count"], self.arrays["drawn_count"])
        low, high = edges(means, n).astype(np.float32)
        return low.reshape(self.shape), high.reshape(self.shape)

    def _sum(self) -> Doubles:
        coarse, fine = self.arrays["sum"]
        return coarse / COARSE + fine / FINE

    def accuracies(self) -> list[dict[str, Any]]:
        """A record for each row of `ROWS` and each head; rows without a query are left out."""
        sums = self.arrays
        _, n_layers, n_heads = self.shape
        records: list[dict[str, Any]] = []
        for row, (keys, name) in enumerate(ROWS):
            total = int(sums["queries"][row])
            if not total:
                continue
            interval = self._accuracy_edges(row)
            coarse, fine = sums["expected"][:, row]
            chance = float(coarse / COARSE + fine / FINE) / total
            shared = {
                "chance": chance,
                "best_by_chance": best_by_chance(total, chance, n_layers * n_heads),
                "offset": int(sums["offsets"][row].max()) / total,
                "queries": total,
            }
            records += [
                {
                    "pattern": name,
                    "keys": keys,
                    "layer": place // n_heads,
                    "head": place % n_heads,
                    "accuracy": int(hits) / total,
                    "low": float(interval[0, place]),
                    "high": float(interval[1, place]),
                    **shared,
                }
                for place, hits in enumerate(sums["hits"][row])
            ]
        return records

    def _accuracy_edges(self, row: int) -> Doubles:
        """95% interval of each head's accuracy, float64 [2, heads].

        Queries of one text are alike: all together they are worth as many trials as the resampled accuracy
        says, or one a text where a head is always right or always wrong.
        """
        sums = self.arrays
        total, asked = int(sums["queries"][row]), int(sums["asked"][row])
        queries = sums["drawn_queries"][:, row, None]
        spread = float(queries.var())
        # Texts of very different numbers of queries count as fewer texts (Kish).
        alike = total**2 / spread if spread else 0.0
        n = asked if alike * DIFFERENT > asked else int(alike)
        drawn = sums["drawn_hits"].reshape(RESAMPLES, len(ROWS), -1)[:, row]
        share = sums["hits"][row] / total
        variance = np.nanvar(ratio(drawn, queries), axis=0)
        trials = np.full(share.shape, float(n))
        np.divide(share * (1 - share), variance, out=trials, where=variance > 0)
        return share_edges(share, np.minimum(trials, total), np.full(share.shape, n))


def best_by_chance(queries: int, chance: float, n_heads: int) -> float:
    """The accuracy that the best of ``n_heads`` heads stays below in 95% of cases if all point at random.

    >>> best_by_chance(100, 0.25, 1), best_by_chance(100, 0.25, 72)
    (0.32, 0.39)
    """
    require("scipy", "A chance level")
    from scipy.stats import binom

    return float(binom.ppf(0.95 ** (1 / n_heads), queries, chance)) / queries
