"""Keys that a mask lets each query choose from: the counts and chance levels of all figures of a head.

``m_i`` is the number of keys that query ``i`` may look at; figures are over the queries with a choice,
``m_i >= 2`` (docs/definitions.md, section 2). With a full mask these are all queries, and ``m_i = n``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Bool, Float32, Float64, Int32
from attn_widget.model.tokens import Token
from attn_widget.trace.windows.masks import Mask, diagonal_of, keys_per_query

LONG_RANGE = 5  # tokens between query and key from which a pair counts as long range
ROWS_AT_ONCE = 128


@dataclass(frozen=True)
class Targets:
    """Cells that a figure is a mean over."""

    count: int  # cells, or queries where the figure is a sum over the keys of a query
    # The figure of a head that attends to all possible keys of a query alike; NaN without a cell.
    chance: float


def queries_with_choice(counts: NDArray[np.integer[Any]]) -> Bool:
    """Queries with two or more possible keys, bool [n]; every one that has a key where none has two.

    >>> queries_with_choice(np.array([1, 2, 3])).tolist(), queries_with_choice(np.array([1])).tolist()
    ([False, True, True], [True])
    """
    chosen = counts >= 2
    return chosen if chosen.any() else counts > 0


class Choice:
    """The keys that each query may look at.

    ``mask``, bool [n, n], RowSpans or None: None: all keys. ``n``: number of tokens. ``n_keys``: where the keys are
    another text. ``mask``, bool [n, n], RowSpans or None: None also where the mask allows all cells. ``counts``,
    int [n]: ``m_i``. ``queries``, bool [n]: queries with a choice.
    """

    def __init__(self, mask: Mask | None, n: int, n_keys: int | None = None) -> None:
        self.n = n
        self.n_keys = n if n_keys is None else n_keys
        self.counts = np.full(n, self.n_keys) if mask is None else keys_per_query(mask)
        self.mask = None if self.counts.min() == self.n_keys else mask
        self.queries = queries_with_choice(self.counts)

    @cached_property
    def most_entropy(self) -> float:
        """Entropy of attention that is uniform over the possible keys of each query, in nats."""
        if self.mask is None:
            return self.n * float(np.log(self.n_keys))
        return float(np.log(self.counts[self.counts > 0]).sum())

    @cached_property
    def cells(self) -> Bool | None:
        """Possible cells of the queries with a choice, bool [n, n]; None: all cells."""
        return None if self.mask is None else self.mask[:] & self.queries[:, None]

    def keys(self, keys: Bool) -> Targets:
        """The keys of a set, bool [n]: a sum over them by query."""
        if self.mask is None:
            return Targets(self.n, float(keys.sum() / self.n))
        inside = [self.mask[rows][:, keys].sum(axis=1) for rows in self._blocks()]
        return self._by_query(np.concatenate(inside), self.queries)

    def diagonal(self, offset: int) -> Targets:
        """The cells ``[i, i + offset]``."""
        return self._by_query(self._on_diagonal(offset))

    def far(self) -> Targets:
        """The cells with ``abs(i - j) >= LONG_RANGE``."""
        near = [self._on_diagonal(offset) for offset in range(1 - LONG_RANGE, LONG_RANGE)]
        return self._by_query(self.counts - np.sum(near, axis=0))

    def first(self) -> Targets:
        """The cells ``[i, 0]``."""
        every = np.ones(self.n, dtype=np.bool_) if self.mask is None else self.mask[:, :1][:, 0]
        return self._by_query(every)

    def repeats(self, kinds: Int32, *, after: bool) -> Targets:
        """The cells of `repeats_of`: a sum over them by query."""
        sums: list[NDArray[np.int_]] = []
        for rows in self._blocks():
            cells = repeats_of(kinds, rows, slice(0, self.n), after=after)
            sums.append((cells if self.mask is None else cells & self.mask[rows]).sum(axis=1))
        counts = np.concatenate(sums)
        return self._by_query(counts, self.queries & (counts > 0))

    def _blocks(self) -> Iterator[slice]:
        return (slice(at, at + ROWS_AT_ONCE) for at in range(0, self.n, ROWS_AT_ONCE))

    def _on_diagonal(self, offset: int) -> Bool:
        """True where ``[i, i + offset]`` is a possible cell, bool [n]."""
        there = np.zeros(self.n, dtype=np.bool_)
        rows = slice(max(0, -offset), max(0, self.n - max(0, offset)))
        if abs(offset) < self.n:
            there[rows] = True if self.mask is None else diagonal_of(self.mask, offset)
        return there

    def _by_query(self, cells: NDArray, queries: Bool | None = None) -> Targets:  # pyright: ignore[reportMissingTypeArgument]
        """Targets with so many cells by query: a mean over cells, or over ``queries`` of the sum over their cells."""
        cells = np.where(self.queries, cells, 0)
        count = int(cells.sum() if queries is None else queries.sum())
        if count == 0:
            return Targets(0, float("nan"))
        if self.mask is None and queries is None:
            return Targets(count, 1 / self.n)
        shares = cells / np.maximum(self.counts, 1)
        return Targets(count, float(shares[cells > 0].sum() / count))


def choices_of(masks: Sequence[Mask | None], n: int) -> list[Choice]:
    """The choice that each layer's mask leaves; layers of one mask share it."""
    by_mask: dict[int, Choice] = {}
    for mask in masks:
        if id(mask) not in by_mask:
            by_mask[id(mask)] = Choice(mask, n)
    return [by_mask[id(mask)] for mask in masks]


def by_mask(choices: Sequence[Choice], of: Callable[[Choice], Targets]) -> list[Targets]:
    """``of`` each layer's choice, computed once for each mask."""
    unique = {id(choice): choice for choice in choices}
    found = {key: of(choice) for key, choice in unique.items()}
    return [found[id(choice)] for choice in choices]


def divided(sums: Float64, counts: Float64) -> Float32:
    """``sums`` [L, H] over counts that broadcast to it, float32; NaN where the count is 0."""
    ratio = np.full(sums.shape, np.nan)
    return np.divide(sums, counts, out=ratio, where=counts > 0).astype(np.float32)


def mean_of_layers(chance: Float64) -> float:
    """The chance level of all layers, [L]: of those that have one."""
    levels = chance[~np.isnan(chance)]
    if not levels.size or (levels == levels[0]).all():
        return float(levels[0]) if levels.size else float("nan")
    return float(levels.mean())


def kinds_of(tokens: Sequence[Token]) -> Int32:
    """The number of each token's spelling, int32 [n]."""
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(token.text, len(numbers)) for token in tokens], dtype=np.int32
    )


def repeats_of(kinds: Int32, rows: slice, cols: slice, *, after: bool) -> Bool:
    """Cells of a query and an earlier token equal to it, or (``after``) the token that followed that one.

    Returns bool [rows, cols].

    >>> kinds, every = np.array([0, 1, 0]), slice(0, 3)
    >>> np.argwhere(repeats_of(kinds, every, every, after=False)).tolist()
    [[2, 0]]
    >>> np.argwhere(repeats_of(kinds, every, every, after=True)).tolist()
    [[2, 1]]
    """
    place = np.arange(len(kinds))
    query, key = place[rows, None], place[cols]
    if not after:
        return (kinds[rows, None] == kinds[cols]) & (key < query)
    before = np.concatenate([[-1], kinds[:-1]])
    return (kinds[rows, None] == before[cols]) & (key <= query)
