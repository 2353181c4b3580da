"""Mean, standard deviation and bootstrap interval over texts, with N/A (NaN) left out.

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

RESAMPLES = 1000  # Efron and Tibshirani (1993), section 13.3: at least 1000 for a 95% interval
TEXTS_AT_ONCE = 500  # their weights are 4 MB
COARSE, FINE = 2.0**20, 2.0**48
SQUARES = (2.0**10, 2.0**38, 2.0**66)  # units of the three parts of a square
INTERVAL = (2.5, 97.5)  # per cent


def count(figures: Floats) -> NDArray[np.int64]:
    """How many texts have each figure: int64 [...] of float32 [texts, ...]."""
    return np.asarray(np.sum(~np.isnan(figures), axis=0))


def mean(figures: Floats) -> Floats:
    """Mean over the texts that have the figure; NaN where none has.

    Parameters
    ----------
    figures : float32 [texts, ...]

    Returns
    -------
    float32 [...]

    Examples
    --------
    >>> mean(np.array([[1, np.nan], [2, np.nan]], np.float32)).tolist()
    [1.5, nan]
    """
    return _mean(figures).astype(np.float32)


def sd(figures: Floats) -> Floats:
    """Sample standard deviation (n - 1) over the texts that have the figure.

    Parameters
    ----------
    figures : float32 [texts, ...]

    Returns
    -------
    float32 [...]
        NaN where fewer than two texts have it.
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

    Parameters
    ----------
    n : int64 [figures]
    sums : float64 [2, figures]
        Of the parts that `split` gives.
    squares : float64 [3, figures]
        Of the parts that `split_squares` gives.

    Returns
    -------
    float32 [figures]
        NaN where ``n`` is below 2.
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


def bootstrap(
    figures: Floats, seed: int, digests: NDArray[np.uint64] | None = None
) -> tuple[Floats, Floats]:
    """Percentile bootstrap 95% interval of the mean, with Poisson weights of the texts.

    In each resample a text counts a Poisson(1) number of times, drawn from its own digest and the seed.
    Texts that are the same have the same weights: they are drawn together.

    Parameters
    ----------
    figures : float32 [texts, ...]
    seed : int
        The same texts are drawn for every figure.
    digests : uint64 [texts], optional
        A hash of each text; its place unless given.

    Returns
    -------
    low, high : float32 [...]
        NaN where fewer than two texts have the figure.

    References
    ----------
    Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
    Chamandy et al. (2012), "Estimating Uncertainty for Massive Data Streams".

    Examples
    --------
    >>> low, high = bootstrap(np.arange(100, dtype=np.float32)[:, None], seed=0)
    >>> bool(low[0] < 49.5 < high[0])
    True
    """
    n_texts, shape = len(figures), figures.shape[1:]
    flat = figures.reshape(n_texts, -1)
    marks = np.arange(n_texts, dtype=np.uint64) if digests is None else digests
    coarse, fine, there = (np.zeros((RESAMPLES, flat.shape[1])) for _ in range(3))
    for first in range(0, n_texts, TEXTS_AT_ONCE):
        block = slice(first, first + TEXTS_AT_ONCE)
        drawn = np.stack([times(int(mark), seed) for mark in marks[block]], 1)
        for total, part in zip((coarse, fine), split(flat[block]), strict=True):
            total += drawn @ part
        there += drawn @ (~np.isnan(flat[block])).astype(np.float64)
    means = _ratio(coarse / COARSE + fine / FINE, there)
    enough = (count(figures) > 1).reshape(-1)
    interval = np.full((2, flat.shape[1]), np.nan, np.float32)
    if enough.any():
        interval[:, enough] = edges(means[:, enough])
    return interval[0].reshape(shape), interval[1].reshape(shape)


def edges(resampled: NDArray[np.float64]) -> NDArray[np.float64]:
    """The 95% interval of resampled figures, float64 [2, ...] of [resamples, ...]; NaN is left out.

    The same numbers as `numpy.nanpercentile` gives, which takes them one by one where there is a NaN.
    """
    if not np.isnan(resampled).any():
        return np.percentile(resampled, INTERVAL, axis=0)
    return np.nanpercentile(resampled, INTERVAL, axis=0)


def times(digest: int, seed: int) -> NDArray[np.float64]:
    """How often a text counts in each resample."""
    return np.random.default_rng([seed, digest]).poisson(1.0, RESAMPLES).astype(np.float64)


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


def _mean(figures: Floats) -> NDArray[np.float64]:
    return _ratio(_total(figures), count(figures))


def _ratio(total: NDArray[np.float64], n: NDArray[Any]) -> NDArray[np.float64]:
    """``total / n``; NaN where `n` is 0."""
    ratio = np.full(total.shape, np.nan)
    return np.divide(total, n, out=ratio, where=n > 0)
