"""Masks by rule: the keys that each query may look at, without a matrix of all cells."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
ROWS_AT_ONCE = 128  # of a mask that is compared with a rule


class RowSpans:
    """A mask whose every row allows one run of keys, and some keys that all rows allow.

    Full, causal, sliding-window, padding and segment masks are such rules, and so are the windows of a long
    text, whose special tokens all rows see. Indexed like the matrix, it gives the cells asked for.

    ``start``, ``stop``, int [n]: first key of each query, and past the last. ``common``, bool [n]: keys that every
    query may look at.

    >>> import numpy as np
    >>> mask = RowSpans(np.array([0, 0, 1]), np.array([1, 2, 3]))
    >>> mask[1:, :2].tolist(), mask.counts().tolist()
    ([[True, True], [False, True]], [1, 2, 2])
    """

    def __init__(
        self,
        start: NDArray[np.integer],
        stop: NDArray[np.integer],
        common: Bools | None = None,
    ) -> None:
        self.start = np.asarray(start, dtype=np.int32)
        self.stop = np.asarray(stop, dtype=np.int32)
        self.common = common if common is not None and common.any() else None
        self._keys = np.arange(len(self.start), dtype=np.int32)

    @classmethod
    def of(cls, mask: Bools) -> RowSpans | None:
        """The rule of a mask [n, n], equal to it in every cell; None where it is another one."""
        n = len(mask)
        common = np.ones(n, dtype=np.bool_)
        for at in range(0, n, ROWS_AT_ONCE):
            common &= mask[at : at + ROWS_AT_ONCE].all(axis=0)
        if common.all():
            return cls(np.zeros(n, dtype=np.int32), np.full(n, n, dtype=np.int32))
        spans = cls(np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32), common)
        for at in range(0, n, ROWS_AT_ONCE):
            rows = slice(at, at + ROWS_AT_ONCE)
            some = mask[rows] & ~common
            there = some.any(axis=1)
            spans.start[rows] = np.where(there, some.argmax(axis=1), 0)
            spans.stop[rows] = np.where(there, n - some[:, ::-1].argmax(axis=1), 0)
            if not np.array_equal(spans[rows], mask[rows]):
                return None
        return spans

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return (
            self.start.nbytes + self.stop.nbytes + (0 if self.common is None else len(self._keys))
        )

    def __getitem__(self, place: Any) -> Bools:
        """Cells of some rows, or of rows and columns: slices, lists, or what `numpy.ix_` gives."""
        rows, cols = place if isinstance(place, tuple) else (place, slice(None))
        query = self._keys[rows].reshape(-1)
        key = self._keys[cols].reshape(1, -1)
        allowed = (key >= self.start[query, None]) & (key < self.stop[query, None])
        if self.common is not None:
            allowed |= self.common[key]
        return allowed

    def counts(self) -> NDArray[np.int_]:
        """Keys that each query may look at, int [n]."""
        counts = (self.stop - self.start).astype(np.int_)
        if self.common is None:
            return counts
        before = np.concatenate([[0], np.cumsum(self.common)])
        return counts + before[-1] - (before[self.stop] - before[self.start])

    def diagonal(self, offset: int) -> Bools:
        """Which of the cells ``[i, i + offset]`` are allowed, by query, bool [n - abs(offset)]."""
        query = self._keys[max(0, -offset) : len(self._keys) - max(0, offset)]
        key = query + offset
        allowed = (key >= self.start[query]) & (key < self.stop[query])
        if self.common is not None:
            allowed |= self.common[key]
        return allowed

    def reach(self, rows: slice) -> tuple[int, int] | None:
        """First key that any of the rows may look at, and past the last; None where there is none."""
        start, stop = self.start[rows], self.stop[rows]
        some = stop > start
        ends = [*start[some].tolist(), *stop[some].tolist()]
        if self.common is not None:
            every = np.flatnonzero(self.common)
            ends += [int(every[0]), int(every[-1]) + 1]
        return (min(ends), max(ends)) if ends else None


Mask: TypeAlias = Bools | RowSpans
"""Which cells a model's mask allows, indexed like a matrix [n, n]."""


def keys_per_query(mask: Mask) -> NDArray[np.int_]:
    """Number of keys that each query may look at, int [n]."""
    return mask.counts() if isinstance(mask, RowSpans) else mask.sum(axis=1)


def sums_by_key(mask: Mask, values: NDArray[Any]) -> NDArray[np.float64]:
    """For each key, the sum of ``values`` [n] over the queries that may look at it, float64 [n].

    >>> sums_by_key(np.tri(3, dtype=bool), np.ones(3)).tolist()
    [3.0, 2.0, 1.0]
    """
    if not isinstance(mask, RowSpans):
        return values.astype(np.float64) @ mask
    n, weights = len(mask.start), values.astype(np.float64)
    begin = np.bincount(mask.start, weights, minlength=n + 1)
    end = np.bincount(mask.stop, weights, minlength=n + 1)
    sums = np.cumsum(begin - end, dtype=np.float64)[:n]
    return sums if mask.common is None else np.where(mask.common, weights.sum(), sums)


def diagonal_of(mask: Mask, offset: int) -> Bools:
    """Which of the cells ``[i, i + offset]`` are allowed, by query, bool [n - abs(offset)]."""
    return mask.diagonal(offset) if isinstance(mask, RowSpans) else np.diagonal(mask, offset)


def looks_back(mask: Mask | None) -> bool:
    """True if no query may look at a later key, and some query may look at an earlier one.

    >>> looks_back(np.tri(3, dtype=bool)), looks_back(np.ones((3, 3), dtype=bool)), looks_back(None)
    (True, False, False)
    """
    if mask is None:
        return False
    n = len(mask.start) if isinstance(mask, RowSpans) else len(mask)
    for at in range(0, n, ROWS_AT_ONCE):
        rows = slice(at, at + ROWS_AT_ONCE)
        reach = reach_of(mask, rows)
        if reach is not None and reach[1] > at + 1 and np.triu(mask[rows], at + 1).any():
            return False
    return n > 1 and bool(keys_per_query(mask).max() > 1)


def reach_of(mask: Mask, rows: slice) -> tuple[int, int] | None:
    """First key that any of the rows may look at, and past the last; None where there is none."""
    if isinstance(mask, RowSpans):
        return mask.reach(rows)
    possible = np.flatnonzero(mask[rows].any(axis=0))
    return (int(possible[0]), int(possible[-1]) + 1) if possible.size else None
