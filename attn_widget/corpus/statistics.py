"""Mean, standard deviation and bootstrap interval over texts, with N/A (NaN) left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

RESAMPLES = 1000  # Efron and Tibshirani (1993), section 13.3: at least 1000 for a 95% interval
RESAMPLES_AT_ONCE = 50  # a block of counts for 100,000 texts is 40 MB
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
    squares = np.nansum((figures - _mean(figures)) ** 2, axis=0, dtype=np.float64)
    return np.sqrt(_ratio(np.asarray(squares), freedom)).astype(np.float32)


def bootstrap(figures: Floats, seed: int) -> tuple[Floats, Floats]:
    """Percentile bootstrap 95% interval of the mean; texts are what is drawn again.

    Parameters
    ----------
    figures : float32 [texts, ...]
    seed : int
        The same texts are drawn for every figure.

    Returns
    -------
    low, high : float32 [...]
        NaN where fewer than two texts have the figure.

    References
    ----------
    Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.

    Examples
    --------
    >>> low, high = bootstrap(np.arange(100, dtype=np.float32)[:, None], seed=0)
    >>> bool(low[0] < 49.5 < high[0])
    True
    """
    n_texts, shape = len(figures), figures.shape[1:]
    there = ~np.isnan(figures).reshape(n_texts, -1)
    flat = np.where(there, figures.reshape(n_texts, -1), 0).astype(np.float64)
    there = there.astype(np.float64)
    random = np.random.default_rng(seed)
    means = np.empty((RESAMPLES, flat.shape[1]))
    for first in range(0, RESAMPLES, RESAMPLES_AT_ONCE):
        rows = min(RESAMPLES_AT_ONCE, RESAMPLES - first)
        drawn = random.integers(n_texts, size=(rows, n_texts))
        times = np.stack([np.bincount(row, minlength=n_texts) for row in drawn]).astype(np.float64)
        means[first : first + rows] = _ratio(times @ flat, times @ there)
    enough = (count(figures) > 1).reshape(-1)
    edges = np.full((2, flat.shape[1]), np.nan, np.float32)
    if enough.any():
        edges[:, enough] = np.nanpercentile(means[:, enough], INTERVAL, axis=0)
    return edges[0].reshape(shape), edges[1].reshape(shape)


def _mean(figures: Floats) -> NDArray[np.float64]:
    return _ratio(np.asarray(np.nansum(figures, axis=0, dtype=np.float64)), count(figures))


def _ratio(total: NDArray[np.float64], n: NDArray[Any]) -> NDArray[np.float64]:
    """``total / n``; NaN where `n` is 0."""
    ratio = np.full(total.shape, np.nan)
    return np.divide(total, n, out=ratio, where=n > 0)
