"""Exact quartiles by selection: a full sort of a model's cells costs five forward passes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32

SAMPLED_FROM = 2**15  # cells; below, one partition of them all is as quick
SMALLEST_SAMPLE, LARGEST_SAMPLE = 2**12, 2**14  # one cell in sixteen, within these
DEVIATIONS = 5  # from a rank to either end of its bracket
BLOCK = 2**16  # cells compared at once: a quarter of a megabyte stays in the cache

Bits = NDArray[np.int32]


def quartiles(cells: Float32) -> tuple[float, float, float]:
    """The 25th, 50th and 75th percentiles, interpolated linearly as by `numpy.quantile`.

    Parameters
    ----------
    cells : float32 [N]
        At least 0 and without NaN; not changed. ``N >= 1``.

    Returns
    -------
    q25, median, q75 : float

    References
    ----------
    Floyd & Rivest (1975), Expected time bounds for selection, Communications of the ACM 18.

    Examples
    --------
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

    A sample brackets each rank between two of its cells; only what lies strictly between them is
    selected from, so that ties, of which masked and sharp heads are full, cost nothing.

    Examples
    --------
    >>> order_statistics(np.array([0.5, 0.25, 0.75], dtype=np.float32), [0, 2])
    {0: 0.25, 2: 0.75}
    """
    if cells.size < SAMPLED_FROM:
        return dict(zip(ranks, np.partition(cells, ranks)[ranks].tolist(), strict=True))
    # Floats of one sign are ordered as their bits are, and comparing bits is quick for subnormal ones too.
    bits = cells.view(np.int32)
    size = min(max(bits.size // 16, SMALLEST_SAMPLE), LARGEST_SAMPLE)
    sample = np.sort(bits[np.random.default_rng(0).integers(0, bits.size, size)])
    half = DEVIATIONS * size**0.5 / 2  # of the median's rank in the sample
    found: dict[int, float] = {}
    groups: dict[tuple[int, int], list[int]] = {}
    for rank in ranks:
        near = next((ends for ends, others in groups.items() if rank - others[-1] == 1), None)
        if near is None:
            center = rank * size / bits.size
            low = sample[max(int(center - half), 0)]
            high = sample[min(int(center + half) + 1, size - 1)]
            near = (int(low), int(high))
        groups.setdefault(near, []).append(rank)
    for (low, high), wanted in groups.items():
        found |= _between(bits, low, high, wanted)
    missed = [rank for rank in ranks if rank not in found]
    if missed:
        found |= zip(missed, np.partition(cells, missed)[missed].tolist(), strict=True)
    return found


def _between(bits: Bits, low: int, high: int, ranks: list[int]) -> dict[int, float]:
    """The cells of those ranks that lie from ``low`` to ``high``."""
    up_to_low, below_high = 0, 0
    parts: list[Bits] = []
    for start in range(0, bits.size, BLOCK):
        block = bits[start : start + BLOCK]
        above = block > low
        up_to_low += block.size - np.count_nonzero(above)
        below = block < high
        below_high += np.count_nonzero(below)
        parts.append(block[above & below])
    inside = np.concatenate(parts)
    # Cells equal to an end are counted only if a rank may fall on them.
    below_low = np.count_nonzero(bits < low) if ranks[0] < up_to_low else 0
    up_to_high = np.count_nonzero(bits <= high) if ranks[-1] >= below_high else 0
    at = [rank - up_to_low for rank in ranks if up_to_low <= rank < up_to_low + inside.size]
    if at:
        inside.partition(at)
    found: dict[int, float] = {}
    for rank in ranks:
        if below_low <= rank < up_to_low:
            bit = low
        elif up_to_low <= rank < up_to_low + inside.size:
            bit = inside[rank - up_to_low]
        elif below_high <= rank < up_to_high:
            bit = high
        else:
            continue
        found[rank] = float(np.int32(bit).view(np.float32))
    return found
