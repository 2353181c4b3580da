"""Mean and standard deviation over texts, with N/A (NaN) left out, and the exact sums that they are made of.

Every sum is one of integers that float64 holds exactly, so that the order of the texts and how they are
cut into blocks change no bit. A value is split in two: multiples of 2**-20, and what is left as
multiples of 2**-48; a square in three, of 2**-10, 2**-38 and 2**-66. The sums are exact while the first stay below 2**33 (that
of squares below 2**43) and the texts below 2**26.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

COARSE, FINE = 2.0**20, 2.0**48
SQUARES = (2.0**10, 2.0**38, 2.0**66)  # units of the three parts of a square


def count(figures: Floats) -> NDArray[np.int64]:
    """Number of texts that have each figure: int64 [...] of float32 [texts, ...]."""
    return np.asarray(np.sum(~np.isnan(figures), axis=0))


def mean(figures: Floats) -> Floats:
    """Mean over the texts that have the figure; NaN where none has.

    ``figures``: float32 [texts, ...]. Returns float32 [...].

    >>> mean(np.array([[1, np.nan], [2, np.nan]], np.float32)).tolist()
    [1.5, nan]
    """
    return exact_mean(figures).astype(np.float32)


def sd(figures: Floats) -> Floats:
    """Sample standard deviation (n - 1) over the texts that have the figure.

    ``figures``: float32 [texts, ...]. Returns float32 [...]: NaN where fewer than two texts have it.
    """
    shape = figures.shape[1:]
    flat = figures.reshape(len(figures), -1)
    sums = np.stack([part.sum(0) for part in split(flat)])
    squares = np.stack([part.sum(0) for part in split_squares(flat)])
    return deviation(count(flat), sums, squares).reshape(shape)


def deviation(
    n: NDArray[np.int64], sums: NDArray[np.float64], squares: NDArray[np.float64]
) -> Floats:
    """Sample standard deviations from exact sums, in exact arithmetic but for the last root.

    ``n``: int64 [figures]. ``sums``, float64 [2, figures]: of the parts that `split` gives. ``squares``, float64
    [3, figures]: of the parts that `split_squares` gives. Returns float32 [figures]: NaN where ``n`` is below 2.
    """
    sd = np.full(n.shape, np.nan)
    units = [Fraction(1, int(unit)) for unit in (COARSE, FINE, *SQUARES)]
    for place in np.flatnonzero(n > 1):
        texts = int(n[place])
        parts = [int(part) for part in (*sums[:, place], *squares[:, place])]
        exact = [part * unit for part, unit in zip(parts, units, strict=True)]
        total, square = exact[0] + exact[1], exact[2] + exact[3] + exact[4]
        # Squares are rounded to 2**-67: of values that are all the same the variance may come out below 0.
        sd[place] = max(0.0, float((square - total * total / texts) / (texts - 1))) ** 0.5
    return sd.astype(np.float32)


def split(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whole numbers of 2**-20 and of 2**-48 that make each value; 0 for NaN."""
    there = np.nan_to_num(values.astype(np.float64), nan=0.0)
    coarse = np.rint(there * COARSE)
    return coarse, np.rint((there - coarse / COARSE) * FINE)


def split_squares(figures: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Whole numbers of each unit of `SQUARES` that make the square of each float32; 0 for NaN."""
    left = np.nan_to_num(figures.astype(np.float64), nan=0.0) ** 2  # exact: 24 bits squared
    parts: list[NDArray[np.float64]] = []
    for unit in SQUARES:
        whole = np.rint(left * unit)
        left = left - whole / unit
        parts.append(whole)
    return parts


def _total(values: NDArray[Any]) -> NDArray[np.float64]:
    """Sum over the texts, the same in every order."""
    coarse, fine = (np.asarray(part.sum(axis=0)) for part in split(values))
    return coarse / COARSE + fine / FINE


def exact_mean(figures: Floats) -> NDArray[np.float64]:
    """`mean` in float64."""
    return ratio(_total(figures), count(figures))


def ratio(total: NDArray[np.float64], n: NDArray[Any]) -> NDArray[np.float64]:
    """``total / n``; NaN where `n` is 0."""
    ratio = np.full(total.shape, np.nan)
    return np.divide(total, n, out=ratio, where=n > 0)
