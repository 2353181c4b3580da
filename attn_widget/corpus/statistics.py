"""Mean, standard deviation and bootstrap interval over texts, with N/A (NaN) left out.

Every sum is one of integers that float64 holds exactly, so that the order of the texts and how they are
cut into blocks change no bit. A value is split in two: multiples of 2**-20, and what is left as
multiples of 2**-48. The sums are exact while the first stay below 2**33 and the texts below 2**26.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

RESAMPLES = 1000  # Efron and Tibshirani (1993), section 13.3: at least 1000 for a 95% interval
TEXTS_AT_ONCE = 500  # their weights are 4 MB
COARSE, FINE = 2.0**20, 2.0**48
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
    freedom = np.maximum(count(figures) - 1, 0)
    squares = (figures - _mean(figures)) ** 2
    return np.sqrt(_ratio(_total(squares), freedom)).astype(np.float32)


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
        times = np.stack([_times(int(mark), seed) for mark in marks[block]], 1)
        for total, part in zip((coarse, fine), _split(flat[block]), strict=True):
            total += times @ part
        there += times @ (~np.isnan(flat[block])).astype(np.float64)
    means = _ratio(coarse / COARSE + fine / FINE, there)
    enough = (count(figures) > 1).reshape(-1)
    edges = np.full((2, flat.shape[1]), np.nan, np.float32)
    if enough.any():
        edges[:, enough] = np.nanpercentile(means[:, enough], INTERVAL, axis=0)
    return edges[0].reshape(shape), edges[1].reshape(shape)


def ratio_interval(
    hits: NDArray[np.int64], queries: NDArray[np.int64], seed: int, digests: NDArray[np.uint64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bootstrap 95% interval of ``sum hits / sum queries``, with the weights of `bootstrap`.

    Parameters
    ----------
    hits : int64 [texts, ...]
    queries : int64 [texts]
    seed : int
    digests : uint64 [texts]

    Returns
    -------
    low, high : float64 [...]
        NaN with fewer than two texts that have a query.

    Examples
    --------
    >>> marks = np.arange(50, dtype=np.uint64)
    >>> low, high = ratio_interval(np.arange(50) % 2, np.ones(50, int), 0, marks)
    >>> bool(low < 0.5 < high)
    True
    """
    flat = hits.reshape(len(hits), -1)
    above, below = np.zeros((RESAMPLES, flat.shape[1])), np.zeros((RESAMPLES, 1))
    for first in range(0, len(flat), TEXTS_AT_ONCE):
        block = slice(first, first + TEXTS_AT_ONCE)
        times = np.stack([_times(int(mark), seed) for mark in digests[block]], 1)
        above += times @ flat[block].astype(np.float64)  # whole numbers: exact in any order
        below += times @ queries[block, None].astype(np.float64)
    edges = np.full((2, flat.shape[1]), np.nan)
    if np.count_nonzero(queries) > 1:
        ratios = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
        edges = np.nanpercentile(ratios, INTERVAL, axis=0)
    low, high = edges.reshape(2, *hits.shape[1:])
    return low, high


def _times(digest: int, seed: int) -> NDArray[np.float64]:
    """How often a text counts in each resample."""
    return np.random.default_rng([seed, digest]).poisson(1.0, RESAMPLES).astype(np.float64)


def _split(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whole numbers of 2**-20 and of 2**-48 that make each value; 0 for NaN."""
    there = np.nan_to_num(values.astype(np.float64), nan=0.0)
    coarse = np.rint(there * COARSE)
    return coarse, np.rint((there - coarse / COARSE) * FINE)


def _total(values: NDArray[Any]) -> NDArray[np.float64]:
    """Sum over the texts, the same in every order."""
    coarse, fine = (np.asarray(part.sum(axis=0)) for part in _split(values))
    return coarse / COARSE + fine / FINE


def _mean(figures: Floats) -> NDArray[np.float64]:
    return _ratio(_total(figures), count(figures))


def _ratio(total: NDArray[np.float64], n: NDArray[Any]) -> NDArray[np.float64]:
    """``total / n``; NaN where `n` is 0."""
    ratio = np.full(total.shape, np.nan)
    return np.divide(total, n, out=ratio, where=n > 0)
