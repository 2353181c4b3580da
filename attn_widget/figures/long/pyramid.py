"""Pyramid of a long matrix: the largest and the mean cell of every block, for blocks of 2, 4, 8 ... tokens a side.

Level ``k`` has blocks of ``2**k`` queries by ``2**k`` keys. The fine levels would be as large as the matrix:
they are computed for the window that is looked at (`pooled`); the coarse ones are made in one walk and kept.
NaN stands for a block of which the mask allows no cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Bool, Float32, Float64
from attn_widget.trace.base import BLOCK_ROWS, Area
from attn_widget.trace.windows.masks import Mask, sums_by_key

Pooling: TypeAlias = Literal["max", "mean"]
TILE = 256  # cells a side: 262,144 bytes of float32
FINEST_KEPT = 3  # blocks of 8 x 8 tokens: 1,024 x 1,024 of them at 8,192 tokens
# Sums of at most so many float32 weights are off by less than 1e-6 of them.
EXACT_ENOUGH = 8


@dataclass(frozen=True)
class Pyramid:
    """The coarse levels of one matrix, and what is known of it as a whole."""

    n: int  # rows and columns of the matrix
    # maximum, mean: dict of int to float32 [m, m]; by level, ``m = ceil(n / 2**level)``; the mean is that of the
    # cells that the mask allows.
    maximum: dict[int, Float32]
    mean: dict[int, Float32]
    received: Float32  # [n]; mean of every column over the queries that may look at the key
    given: Float32  # [n]; sum of every row
    largest: float  # largest, smallest: of all allowed cells
    smallest: float
    # of the cells between tokens that are no sinks (special ones, token 0 in a causal mask); ``largest`` where
    # there are none.
    word_max: float

    @property
    def coarsest(self) -> int:
        """The level that is one tile."""
        return max(self.maximum)

    @property
    def nbytes(self) -> int:
        """Bytes of its levels."""
        return sum(level.nbytes for part in (self.maximum, self.mean) for level in part.values())

    def tile(self, level: int, row: int, col: int, pooling: Pooling) -> Float32:
        """A tile of a level that is kept, float32 [at most TILE, at most TILE]."""
        part = self.maximum if pooling == "max" else self.mean
        return part[level][tile_slice(row), tile_slice(col)]


def coarsest_level(n: int) -> int:
    """The finest level of ``n`` tokens that fits into one tile.

    >>> [coarsest_level(n) for n in (1, 256, 257, 8192)]
    [0, 0, 1, 5]
    """
    level = 0
    while side_of(n, level) > TILE:
        level += 1
    return level


def side_of(n: int, level: int) -> int:
    """Rows and columns of a level of ``n`` tokens.

    >>> side_of(1000, 3), side_of(1001, 3)
    (125, 126)
    """
    return -(-n >> level)


def tiles_of(n: int, level: int) -> int:
    """Tiles in a row of a level."""
    return -(-side_of(n, level) // TILE)


def tile_slice(index: int) -> slice:
    """Cells of a level that a tile has."""
    return slice(index * TILE, (index + 1) * TILE)


def tokens_of_tile(level: int, index: int, n: int) -> slice:
    """Tokens that a row or column of tiles has."""
    return slice((index * TILE) << level, min(((index + 1) * TILE) << level, n))


def pooled(
    weights: Float32, allowed: Bool | None, level: int, pooling: Pooling, *, first: int = 0
) -> Float32:
    """The largest or the mean allowed cell of every block of a window.

    ``weights``, float32 [r, c]: begins at a block's first row. ``allowed``, bool [r, c]: False where the mask
    forbids a cell. ``level``: blocks have ``2**level`` rows and columns. ``pooling``: "max" or "mean". ``first``:
    columns of its first block that lie before the window. Returns float32
    [ceil(r / 2**level), ceil((c + first) / 2**level)]: NaN where no cell is allowed.

    >>> import numpy as np
    >>> weights = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    >>> pooled(weights, None, 1, "max").tolist()
    [[1.0, 0.25], [0.0, 1.0]]
    >>> pooled(weights, np.tri(3, dtype=bool), 1, "mean").tolist()
    [[0.5, nan], [0.0, 1.0]]
    """
    if level == 0:
        return weights if allowed is None else np.where(allowed, weights, np.float32(np.nan))
    counts = counted(weights.shape, allowed, level, first)
    some = counts > 0
    if allowed is not None:
        weights = np.where(allowed, weights, np.float32(-np.inf))
    if pooling == "max":
        return np.where(some, largest_of(weights, level, first), np.float32(np.nan))
    with np.errstate(invalid="ignore"):
        return (summed(finite_of(weights), level, first) / np.where(some, counts, np.nan)).astype(
            np.float32
        )


class BlockPart(NamedTuple):
    """Share of a block of rows in a pyramid: its finest kept level, and figures of it as a whole."""

    area: Area
    most: Float32  # [r, c]
    total: Float64  # [r, c]
    counts: NDArray[np.int32]  # [r, c]; by block of ``2**base`` tokens a side
    received: Float32  # [cols]; sums of the columns
    given: Float32  # [rows]; sums of the rows
    smallest: float
    word_max: float


def block_part(
    area: Area,
    weights: Float32,
    base: int,
    allowed: Mask | None,
    special: Bool,
    *,
    signed: bool = False,
) -> BlockPart:
    """The part of one block of rows.

    ``area``: all rows in order begin at multiples of `BLOCK_ROWS`; the mask forbids what lies outside. ``weights``:
    float32 [rows, cols]. ``base``: the finest level that is kept. ``allowed``: bool [n, n] or RowSpans.
    ``special``, bool [n]: tokens that are no words. ``signed``: scores, which may be negative, and -inf where the
    mask forbids; weights are at least 0.
    """
    words = ~special
    possible = None if allowed is None else allowed[area]
    offset = area.cols.start & ((1 << base) - 1)
    if possible is not None:
        weights = np.where(possible, weights, np.float32(-np.inf))
    bands = row_maxima(weights, base)
    most = np.maximum.reduceat(bands, starts_of(weights.shape[1], base, offset), axis=1)
    smallest, word_max = np.inf if signed else 0.0, -np.inf
    if signed:
        cells = weights if possible is None else weights[possible]
        smallest = float(cells.min(initial=np.inf))
    between = bands if words[area.rows].all() else weights[words[area.rows]]
    if between.size and words[area.cols].any():
        word_max = float(between.max(axis=0)[words[area.cols]].max())
    finite = finite_of(weights) if signed or possible is not None else weights
    return BlockPart(
        area,
        most,
        summed(finite, base, offset),
        counted(weights.shape, possible, base, offset),
        np.ones(len(weights), dtype=np.float32) @ finite,
        finite @ np.ones(finite.shape[1], dtype=np.float32),
        smallest,
        word_max,
    )


def assemble(
    parts: Iterable[BlockPart],
    n: int,
    allowed: Mask | None,
    special: Bool,
    *,
    signed: bool = False,
) -> Pyramid:
    """The pyramid of a matrix from the parts of its blocks.

    >>> import numpy as np
    >>> every, words = slice(0, 512), np.zeros(512, dtype=bool)
    >>> part = block_part(Area(every, every), np.full((512, 512), 1 / 512, np.float32), 1, None, words)
    >>> made = assemble([part], 512, None, words)
    >>> made.coarsest, made.maximum[1].shape, float(made.received[0]) * 512
    (1, (256, 256), 1.0)
    """
    coarsest = coarsest_level(n)
    base = min(FINEST_KEPT, coarsest)
    side = side_of(n, base)
    most = np.full((side, side), -np.inf, dtype=np.float32)
    total = np.zeros((side, side))
    count = np.zeros((side, side), dtype=np.int32)
    received, given = np.zeros(n), np.zeros(n, dtype=np.float32)
    smallest, word_max = np.inf if signed else 0.0, -np.inf
    for part in parts:
        left, top = part.area.cols.start >> base, part.area.rows.start >> base
        here = (slice(top, top + part.most.shape[0]), slice(left, left + part.most.shape[1]))
        most[here], total[here], count[here] = part.most, part.total, part.counts
        received[part.area.cols] += part.received
        given[part.area.rows] += part.given
        smallest, word_max = min(smallest, part.smallest), max(word_max, part.word_max)
    queries = n if allowed is None else np.maximum(sums_by_key(allowed, np.ones(n)), 1)
    some = count > 0
    largest = float(most[some].max()) if some.any() else 0.0
    maximum = {base: np.where(some, most, np.float32(np.nan))}
    mean = {base: _mean(total, count)}
    for level in range(base + 1, coarsest + 1):
        most, total, count = _halved(most, total, count)
        maximum[level] = np.where(count > 0, most, np.float32(np.nan))
        mean[level] = _mean(total, count)
    word_max = word_max if np.isfinite(word_max) and (~special).sum() > 1 else largest
    by_key = (received / queries).astype(np.float32)
    return Pyramid(n, maximum, mean, by_key, given, largest, smallest, word_max)


def largest_of(weights: Float32, level: int, first: int = 0) -> Float32:
    """The largest cell of every block of a window, float32 [r, c]; -inf has no say."""
    starts = starts_of(weights.shape[1], level, first)
    return np.maximum.reduceat(row_maxima(weights, level), starts, axis=1)


def row_maxima(weights: Float32, level: int) -> Float32:
    """The largest cell of every column in each ``2**level`` rows."""
    # Rows by slices: `reduceat` along them takes four times as long.
    size = 1 << level
    return np.stack([weights[a : a + size].max(axis=0) for a in range(0, len(weights), size)])


def summed(weights: Float32, level: int, first: int = 0) -> Float64:
    """The sum of every block of a window of finite numbers, float64 [r, c]."""
    size = 1 << level
    kind = np.float32 if size <= EXACT_ENOUGH else np.float64
    bands = [weights[a : a + size].sum(axis=0, dtype=kind) for a in range(0, len(weights), size)]
    starts = starts_of(weights.shape[1], level, first)
    return np.add.reduceat(np.stack(bands).astype(np.float64), starts, axis=1)


def finite_of(weights: Float32) -> Float32:
    """The same with 0 for -inf."""
    return weights if np.isfinite(weights).all() else np.where(weights == -np.inf, 0, weights)


def counted(
    shape: tuple[int, ...], allowed: Bool | None, level: int, first: int = 0
) -> NDArray[np.int32]:
    """Number of cells that the mask allows in every block of a window, int32 [r, c]."""
    size = 1 << level
    starts = starts_of(shape[1], level, first)
    if allowed is None:
        rows = np.diff([*range(0, shape[0], size), shape[0]])
        columns = np.diff([*starts, shape[1]])
        return np.outer(rows, columns).astype(np.int32)
    bands = [
        allowed[a:b].sum(axis=0, dtype=np.int32)
        for a, b in pairwise([*range(0, shape[0], size), shape[0]])
    ]
    return np.add.reduceat(np.stack(bands), starts, axis=1)


def starts_of(columns: int, level: int, first: int) -> NDArray[np.int_]:
    """The first column of every block of a window that ``first`` columns of a block precede.

    >>> starts_of(10, 2, 1).tolist()
    [0, 3, 7]
    """
    size = 1 << level
    return np.concatenate([[0], np.arange(size - first, columns, size)]).astype(np.int_)


def _halved(
    most: Float32, total: Float64, count: NDArray[np.int32]
) -> tuple[Float32, Float64, NDArray[np.int32]]:
    """One level coarser."""
    starts = np.arange(0, len(most), 2)

    def both(part: NDArray[np.generic], ufunc: np.ufunc) -> NDArray[np.generic]:
        return ufunc.reduceat(ufunc.reduceat(part, starts, axis=0), starts, axis=1)

    return both(most, np.maximum), both(total, np.add), both(count, np.add)  # pyright: ignore


def _mean(total: Float64, count: NDArray[np.int32]) -> Float32:
    return (total / np.where(count > 0, count, np.nan)).astype(np.float32)


assert BLOCK_ROWS % (1 << FINEST_KEPT) == 0
