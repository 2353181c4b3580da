"""The texts in which a figure of a head is largest, or smallest: bounded, and merged in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.corpus.reading.observed import SHARES
from attn_widget.corpus.storage import Rows

KEPT = 16  # texts of each figure and head, at each end
LINK, SAMPLE = "link", "sample"


def example_values(rows: Rows) -> NDArray[np.float32]:
    """Values of all figures that examples are chosen by, float32 [texts, figures, L, H].

    First the keys of the profile, then `LINK`, then `SHARES`.
    """
    if rows.observed is None:
        return rows.figures
    return np.concatenate([rows.figures, rows.observed.link[:, None], rows.observed.shares], axis=1)


def example_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Names of the figures of `example_values`."""
    return (*keys, LINK, *SHARES)


def mixed(digests: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """A number for each text that says nothing of it: splitmix64 of its hash and the seed."""
    with np.errstate(over="ignore"):
        found = digests ^ np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
        return found ^ (found >> np.uint64(31))


class Heaps:
    """`KEPT` texts for each cell: a figure of a head at one of its ends, or (the last cell) drawn alike.

    Of equal values the smaller hash comes first, then the smaller place, so that no order changes the choice.

    Parameters
    ----------
    shape : (int, int, int)
        Figures, layers, heads.

    Attributes
    ----------
    cell : int64 [entries]
    value : float32 [entries]
        The figure; NaN in the sample.
    digest : uint64 [entries]
    index : int64 [entries]
        Place of the text.
    texts : dict of int to str
        By place.
    """

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.cell = np.zeros(0, np.int64)
        self.value = np.zeros(0, np.float32)
        self.digest = np.zeros(0, np.uint64)
        self.index = np.zeros(0, np.int64)
        self.rank = np.zeros(0, np.float64)  # smaller is better
        self.texts: dict[int, str] = {}
        # Per cell, the rank that a text must not exceed to come in.
        self._worst = np.full(2 * int(np.prod(shape)), np.inf)

    def add(self, rows: Rows, seed: int) -> None:
        """Offer texts."""
        if rows.digests is None or rows.texts is None or not len(rows.index):
            return
        flat = example_values(rows).reshape(len(rows.index), -1)
        both = np.concatenate([-flat, flat], axis=1).astype(np.float64)  # NaN compares False
        row, cell = np.nonzero(both <= self._worst)
        ranks, values = both[row, cell], flat[row, cell % flat.shape[1]]
        drawn = mixed(rows.digests, seed).astype(np.float64)
        everyone = np.arange(len(drawn))
        row = np.concatenate([row, everyone])
        self._take(
            np.concatenate([cell, np.full(len(drawn), both.shape[1])]),
            np.concatenate([values, np.full(len(drawn), np.nan, np.float32)]),
            rows.digests[row],
            rows.index[row],
            np.concatenate([ranks, drawn]),
            {int(rows.index[k]): rows.texts[k] for k in np.unique(row)},
        )

    def merge(self, other: Heaps) -> None:
        """Offer what other heaps kept."""
        self._take(other.cell, other.value, other.digest, other.index, other.rank, other.texts)

    def _take(
        self,
        cell: NDArray[np.int64],
        value: NDArray[np.float32],
        digest: NDArray[np.uint64],
        index: NDArray[np.int64],
        rank: NDArray[np.float64],
        texts: dict[int, str],
    ) -> None:
        cell = np.concatenate([self.cell, cell])
        value = np.concatenate([self.value, value])
        digest = np.concatenate([self.digest, digest])
        index = np.concatenate([self.index, index])
        rank = np.concatenate([self.rank, rank])
        order = np.lexsort((index, digest, rank, cell))
        ordered = cell[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else []
        within = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
        kept = order[within < KEPT]
        self.cell, self.value, self.digest = cell[kept], value[kept], digest[kept]
        self.index, self.rank = index[kept], rank[kept]
        full = order[within == KEPT - 1]
        full = full[cell[full] < len(self._worst)]
        self._worst[cell[full]] = rank[full]
        known = {**self.texts, **texts}
        self.texts = {int(k): known[int(k)] for k in np.unique(self.index)}

    def best(self, figure: int | None, layer: int, head: int, *, lowest: bool) -> NDArray[Any]:
        """Entries of a figure of a head in order; None: of the sample."""
        size = int(np.prod(self.shape))
        place = 2 * size
        if figure is not None:
            place = int(np.ravel_multi_index((figure, layer, head), self.shape)) + size * lowest
        return np.flatnonzero(self.cell == place)
