"""Exact quartiles by selection: a full sort of a model's cells costs five forward passes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32

COUNTED_FROM = 2**15  # cells; below, one partition of them all is as quick
PARTITIONED_UP_TO = 2**14  # cells of one bin; above, counting them once more is quicker
BINS = 2**15  # of the upper 16 bits of a float that is not negative
BLOCK = 2**18  # cells counted at once

Bits = NDArray[np.int32]


def quartiles(cells: Float32) -> tuple[float, float, float]:
    """The 25th, 50th and 75th percentiles, interpolated linearly as by `numpy.quantile`.

    ``cells``, float32 [N]: at least 0 and without NaN; not changed. ``N >= 1``.

    >>> import numpy as np
    >>> quartiles(np.array([4, 1, 3, 2], dtype=np.float32))
    (1.75, 2.5, 3.25)
    """
    size = cells.size
    # Positions in quarters of a cell, so that they are exact: rank + quarter / 4.
    positions = [divmod((size - 1) * quarter, 4) for quarter in (1, 2, 3)]
    ranks = sorted({rank + step for rank, quarter in positions for step in (0, quarter > 0)})
    ordered = order_statistics(cells, ranks)

    def value(rank: int, quarter: int) -> float:
        below = ordered[rank]
        return below + (ordered[rank + 1] - below) * quarter / 4 if quarter else below

    first, middle, last = (value(*position) for position in positions)
    return first, middle, last


def order_statistics(cells: Float32, ranks: list[int]) -> dict[int, float]:
    """The cells of these ranks (0 = smallest), exactly; ``cells`` as in `quartiles`.

    Bits of floats that are not negative are ordered as the floats are. The cells are counted by their upper 16 bits;
    those of a bin that a rank falls on are selected from, or, where they are many (masked and sharp heads are full of
    ties), counted by their lower 16 bits.

    >>> order_statistics(np.array([0.5, 0.25, 0.75], dtype=np.float32), [0, 2])
    {0: 0.25, 2: 0.75}
    """
    if cells.size < COUNTED_FROM:
        return dict(zip(ranks, np.partition(cells, ranks)[ranks].tolist(), strict=True))
    bits = cells.view(np.int32)
    blocks = [bits[start : start + BLOCK] for start in range(0, bits.size, BLOCK)]
    whole = _upper(bits) if len(blocks) == 1 else None  # once, where it stays in the cache

    def upper(block: Bits) -> Bits:
        return _upper(block) if whole is None else whole

    counts = np.zeros(BINS, dtype=np.int64)
    for block in blocks:
        counts += np.bincount(upper(block), minlength=BINS)
    ends = counts.cumsum()
    bins = np.searchsorted(ends, ranks, side="right").tolist()
    found: dict[int, float] = {}
    for number in sorted({*bins}):
        wanted = [rank for rank, own in zip(ranks, bins, strict=True) if own == number]
        below = int(ends[number] - counts[number])
        parts = (block[upper(block) == number] & 0xFFFF for block in blocks)
        lower = _select(parts, [rank - below for rank in wanted], int(counts[number]))
        values = (lower | number << 16).view(np.float32)
        found |= zip(wanted, values.tolist(), strict=True)
    return found


def _upper(bits: Bits) -> Bits:
    """The upper 16 bits of each float but its sign: -0 is 0."""
    upper = bits >> 16
    upper &= BINS - 1
    return upper


def _select(parts: Iterable[Bits], ranks: list[int], size: int) -> Bits:
    """The numbers of 16 bits that have these ranks; ``size`` numbers in all."""
    if size <= PARTITIONED_UP_TO:
        return np.partition(np.concatenate([*parts]), ranks)[ranks]
    counts = np.zeros(2**16, dtype=np.int64)
    for part in parts:
        counts += np.bincount(part, minlength=2**16)
    return np.searchsorted(counts.cumsum(), ranks, side="right").astype(np.int32)
