"""The texts in which a figure of a head is largest, or smallest: bounded, and merged in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.corpus.reading.observed import LINKS, SHARES
from attn_widget.features.corpus.storage import Rows

KEPT = 16  # texts of each figure and head, at each end
LINK, SAMPLE = "link", "sample"


def example_values(rows: Rows) -> NDArray[np.float32]:
    """Values of all figures that examples are chosen by, float32 [texts, figures, L, H].

    First the keys of the profile, then `LINK`, then `SHARES`.
    """
    if rows.observed is None:
        return rows.figures
    observed = rows.observed
    return np.concatenate([rows.figures, observed.weights[:, :1], observed.shares], axis=1)


def example_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Names of the figures of `example_values`."""
    return (*keys, LINK, *SHARES)


def link_kind(by: str) -> int:
    """Which of `LINKS` is shown for an example by this figure."""
    return LINKS.index(by) if by in LINKS else 0


def mixed(digests: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """A number for each text that says nothing of it: splitmix64 of its hash and the seed."""
    with np.errstate(over="ignore"):
        bits = digests ^ np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        return bits ^ (bits >> np.uint64(31))


@dataclass(frozen=True)
class Kept:
    """A text that is an example."""

    text: str
    tokens: list[str]  # as they are shown


ENTRY = {  # columns of the entries
    "cell": np.int64,
    "value": np.float32,
    "digest": np.uint64,
    "index": np.int64,
    "rank": np.float64,
    "query": np.int16,
    "key": np.int16,
    "weight": np.float32,
}
Entries = dict[str, NDArray[Any]]


class Heaps:
    """`KEPT` texts for each cell: a figure of a head at one of its ends, or drawn alike, for a head.

    Of equal values the smaller hash comes first, then the smaller place, so that no order changes the choice.

    ``names``: of the figures. ``entries``, dict of str to array [entries]: ``cell``; ``value`` of the figure, NaN
    in the sample; ``digest`` and ``index`` (place) of the text; ``rank``, of which less is better; ``query``,
    ``key`` and ``weight`` of the head's largest weight of the figure's kind (`link_kind`), -1 and NaN where there
    is none. ``texts``: by place.
    """

    def __init__(self, names: Sequence[str], n_layers: int, n_heads: int) -> None:
        self.names = tuple(names)
        self.shape = (len(self.names), n_layers, n_heads)
        self.entries: Entries = {name: np.zeros(0, kind) for name, kind in ENTRY.items()}
        self.texts: dict[int, Kept] = {}
        heads = n_layers * n_heads
        kinds = np.repeat([link_kind(name) for name in self.names], heads)
        self._kinds = np.concatenate([kinds, kinds, np.zeros(heads, kinds.dtype)])
        # Per cell, the rank that a text must not exceed to come in.
        self._worst = np.full(len(self._kinds), np.inf)

    def empty(self) -> Heaps:
        """Heaps of the same figures, without a text."""
        return Heaps(self.names, *self.shape[1:])

    def add(self, rows: Rows, seed: int) -> None:
        """Offer texts.

        Raises `ValueError`: rows without texts, hashes or links.
        """
        if not len(rows.index):
            return
        observed, texts, tokens = rows.observed, rows.texts, rows.tokens
        if rows.digests is None or observed is None or texts is None or tokens is None:
            raise ValueError("rows without texts, hashes or links")
        heads = self.shape[1] * self.shape[2]
        flat = example_values(rows).reshape(len(rows.index), -1)
        drawn = mixed(rows.digests, seed).astype(np.float64)
        ranks = np.concatenate([-flat, flat, np.repeat(drawn[:, None], heads, 1)], 1)
        limit = self._worst
        if len(ranks) > KEPT:  # no more of these texts than that can come in, but for equal ranks
            limit = np.fmin(limit, np.partition(ranks, KEPT - 1, axis=0)[KEPT - 1])
        row, cell = np.nonzero(ranks <= limit)  # NaN compares False
        sampled = cell >= 2 * flat.shape[1]
        place = self._kinds[cell] * heads + cell % heads
        links = [
            part.reshape(len(flat), -1)[row, place]
            for part in (observed.queries_at, observed.keys_at, observed.weights)
        ]
        self._take(
            {
                "cell": cell,
                "value": np.where(sampled, np.float32(np.nan), flat[row, cell % flat.shape[1]]),
                "digest": rows.digests[row],
                "index": rows.index[row],
                "rank": ranks[row, cell],
                **dict(zip(("query", "key", "weight"), links, strict=True)),
            },
            {int(rows.index[k]): Kept(texts[k], tokens[k]) for k in np.unique(row)},
        )

    def merge(self, other: Heaps) -> None:
        """Offer what other heaps kept."""
        self._take(other.entries, other.texts)

    def _take(self, offered: Entries, texts: dict[int, Kept]) -> None:
        entries = {
            name: np.concatenate([mine, offered[name].astype(mine.dtype)])
            for name, mine in self.entries.items()
        }
        order = np.lexsort([entries[name] for name in ("index", "digest", "rank", "cell")])
        ordered = entries["cell"][order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else []
        within = np.arange(len(ordered)) - np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
        entries_in_heaps = order[within < KEPT]
        full = order[within == KEPT - 1]
        self._worst[entries["cell"][full]] = entries["rank"][full]
        self.entries = {name: values[entries_in_heaps] for name, values in entries.items()}
        all_texts = {**self.texts, **texts}
        self.texts = {int(k): all_texts[int(k)] for k in np.unique(self.entries["index"])}

    def best(self, figure: int | None, layer: int, head: int, *, lowest: bool) -> NDArray[Any]:
        """Places of the entries of a figure of a head in order; None: of the sample."""
        size, heads = int(np.prod(self.shape)), self.shape[1] * self.shape[2]
        first = 2 * size if figure is None else (figure + lowest * self.shape[0]) * heads
        return np.flatnonzero(self.entries["cell"] == first + layer * self.shape[2] + head)
