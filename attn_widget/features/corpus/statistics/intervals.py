"""95% intervals over texts: of a mean by a corrected bootstrap, of a share by Wilson's formula.

The interval of a mean is the percentile bootstrap, widened for small numbers of texts (`edges`), or that of
figures that fill a known range (`bounded_interval`); that of a share is `share_edges`. Texts that are the same, or of one group, are drawn together. ``benchmarks/coverage.py``
measures how often the intervals hold the mean of all texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.corpus.statistics.means import (
    COARSE,
    FINE,
    Floats,
    count,
    exact_mean,
    ratio,
    split,
)
from attn_widget.host.installed import require

RESAMPLES = 1000  # Efron and Tibshirani (1993), section 13.3: at least 1000 for a 95% interval
TEXTS_AT_ONCE = 500  # their weights are 4 MB
LEAST = 8  # different texts of an interval: with fewer, 95% intervals hold the mean too seldom
NORMAL = 1.959964  # 97.5% quantile of the normal distribution
AT_ENDS = 0.5  # texts that are added at each end of a known range
HALF = 0.5  # share of a mean, by size, that one text makes
DIFFERENT = 1.2  # repeats of a text, on average, up to which texts count as all different


def bootstrap(
    figures: Floats, seed: int, digests: NDArray[np.uint64] | None = None
) -> tuple[Floats, Floats]:
    """Bootstrap 95% interval of the mean, with Poisson weights of the texts; see `edges`.

    In each resample a text counts a Poisson(1) number of times, drawn from its own digest and the seed.
    Texts that are the same have the same weights: they are drawn together.

    ``figures``: float32 [texts, ...]. ``seed``: the same texts are drawn for every figure. ``digests``, uint64
    [texts]: a hash of each text, or of the group that it is drawn with; its place unless given. ``low``, ``high``,
    float32 [...]: NaN where fewer than eight different texts have the figure.

    References
    ----------
    Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
    Chamandy et al. (2012), "Estimating Uncertainty for Massive Data Streams".
    Hesterberg (2015), "What Teachers Should Know about the Bootstrap", The American Statistician 69.

    Examples
    --------
    >>> low, high = bootstrap(np.arange(100, dtype=np.float32)[:, None], seed=0)
    >>> bool(low[0] < 49.5 < high[0])
    True
    """
    flat, shape = figures.reshape(len(figures), -1), figures.shape[1:]
    means, there = _resampled(flat, seed, digests)
    low, high = edges(means, independent(count(flat), there)).astype(np.float32)
    return low.reshape(shape), high.reshape(shape)


def bounded_interval(
    figures: Floats, ends: tuple[float, float], seed: int, digests: NDArray[np.uint64] | None = None
) -> tuple[Floats, Floats]:
    """95% interval of the mean of figures that fill a known range, such as percentiles.

    The normal interval after half a text more at each end of the range. Figures near one end hold the mean too seldom in
    a bootstrap: a sample without one of the rare texts at the other end cannot know of them.

    ``figures``, float32 [texts, figures]: NaN is left out. ``ends``: the least and the largest figure that there
    can be. ``seed``, ``digests``: as in `bootstrap`. ``low``, ``high``, float32 [figures]: NaN where fewer than
    eight different texts have the figure.
    """
    means, there = _resampled(figures, seed, digests)
    n, mean = independent(count(figures), there), exact_mean(figures)
    least, largest = ends
    more = n + 2 * AT_ENDS
    middle = (n * mean + AT_ENDS * (least + largest)) / more
    spread = AT_ENDS * ((middle - least) ** 2 + (largest - middle) ** 2)
    squares = n**2 * _variance(means) + n * (mean - middle) ** 2 + spread
    half = np.where(n >= LEAST, NORMAL, np.nan) * np.sqrt(squares) / more
    low, high = np.clip(np.stack([middle - half, middle + half]), least, largest)
    return low.astype(np.float32), high.astype(np.float32)


def share_interval(
    figures: Floats, seed: int, digests: NDArray[np.uint64] | None = None
) -> tuple[Floats, Floats]:
    """Wilson's 95% interval of the share of texts that have 1, not 0.

    Texts that are drawn together are worth as many trials as the resampled share says, or one for each
    group where all have the same.

    ``figures``, float32 [texts, figures]: 0 and 1; NaN is left out. ``seed``, ``digests``: as in `bootstrap`.
    ``low``, ``high``, float32 [figures]: NaN where fewer than eight different texts have the figure.
    """
    require("scipy", "An interval")
    from scipy.stats import t

    means, there = _resampled(figures, seed, digests)
    total = count(figures)
    n, share = independent(total, there), exact_mean(figures)
    trials = n.astype(np.float64)
    variance = _variance(means)
    grouped = (n < total) & (variance > 0)
    np.divide(share * (1 - share), variance, out=trials, where=grouped)
    # The trials of groups are an estimate, as the variance behind Student's t is one.
    quantile = np.where(n < total, t.ppf(0.975, np.maximum(n - 1, 1)), NORMAL)
    low, high = share_edges(share, np.minimum(trials, total), n, quantile).astype(np.float32)
    return low, high


def _resampled(
    flat: Floats, seed: int, digests: NDArray[np.uint64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means of figures [texts, figures], and how many texts they are of, float64 [resamples, figures] each."""
    n_texts = len(flat)
    marks = np.arange(n_texts, dtype=np.uint64) if digests is None else digests
    coarse, fine, there = (np.zeros((RESAMPLES, flat.shape[1])) for _ in range(3))
    for first in range(0, n_texts, TEXTS_AT_ONCE):
        block = slice(first, first + TEXTS_AT_ONCE)
        drawn = np.stack([times(int(mark), seed) for mark in marks[block]], 1)
        for total, part in zip((coarse, fine), split(flat[block]), strict=True):
            total += drawn @ part
        there += drawn @ (~np.isnan(flat[block])).astype(np.float64)
    return ratio(coarse / COARSE + fine / FINE, there), there


def _variance(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of resampled means [resamples, figures]; NaN is left out, and 0 if nothing is left."""
    return np.nanvar(np.where(np.isnan(means).all(axis=0), 0, means), axis=0)


def independent(n: NDArray[Any], drawn: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number of different texts that have each figure, int64 [figures].

    ``n``, int [figures]: texts with the figure. ``drawn``, float64 [resamples, figures]: how many of them each
    resample has. Texts that are drawn together spread it: n different texts have a variance of n, those that come k
    times each one of k n.
    """
    repeats = drawn.var(axis=0) / np.maximum(n, 1)
    return np.where(repeats < DIFFERENT, n, n / np.maximum(repeats, 1)).astype(np.int64)


def edges(resampled: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.float64]:
    """The 95% interval of resampled means, float64 [2, figures] of [resamples, figures]; NaN is left out.

    The quantiles of the bootstrap at the levels for which a normal variable would be as wide as Student's t
    interval of n texts, and wider by one part in n, because figures over texts are skewed. The plain 2.5% and 97.5%
    quantiles hold the mean too seldom (Hesterberg 2015).

    ``resampled``: float64 [resamples, figures]. ``n``, int64 [figures]: different texts that have the figure; below
    eight the interval is NaN.
    """
    require("scipy", "An interval")
    from scipy.stats import norm, t

    interval = np.full((2, resampled.shape[1]), np.nan)
    for size in np.unique(n[n >= LEAST]):
        columns = resampled[:, n == size]
        normal = t.ppf(0.025, size - 1) * np.sqrt(size / (size - 1))
        level = 100 * norm.cdf(normal * (1 + 1 / size))
        # nanpercentile takes columns one by one where there is a NaN.
        percentile = np.nanpercentile if np.isnan(columns).any() else np.percentile
        interval[:, n == size] = percentile(columns, (level, 100 - level), axis=0)
    return interval


def share_edges(
    share: NDArray[np.float64],
    trials: NDArray[np.float64],
    n: NDArray[np.int64],
    quantile: NDArray[np.float64] | float = NORMAL,
) -> NDArray[np.float64]:
    """Wilson's 95% interval of shares, float64 [2, figures].

    It holds a share in 95% of samples on average; near 0 and 1, some shares in fewer (Brown et al. 2001).

    ``share``, float64 [figures]: 0 to 1. ``trials``, float64 [figures]: independent trials that the share is worth.
    ``n``, int64 [figures]: different texts (or groups) that they come from; below eight the interval is NaN.
    ``quantile``, float64 [figures] or float: half the width, in standard errors.

    References
    ----------
    Wilson (1927), "Probable Inference, the Law of Succession, and Statistical Inference".
    Brown, Cai and DasGupta (2001), "Interval Estimation for a Binomial Proportion", Statistical Science 16.
    Korn and Graubard (1998), "Confidence Intervals for Proportions with Small Expected Number of Positive Counts".

    Examples
    --------
    >>> share_edges(np.array([1.0]), np.array([23.0]), np.array([23])).round(2).ravel().tolist()
    [0.86, 1.0]
    """
    squared = np.where((n >= LEAST) & (trials > 0), quantile, np.nan) ** 2
    trials = np.maximum(trials, 1e-9)
    more = trials + squared
    middle = (trials * share + squared / 2) / more
    half = np.sqrt(squared * (trials * share * (1 - share) + squared / 4)) / more
    return np.clip(np.stack([middle - half, middle + half]), 0, 1)


def too_few(n_texts: int, low: NDArray[Any], what: str = "texts") -> str | None:
    """Why there is no interval; None if a figure has one.

    >>> too_few(5, np.array([np.nan]))
    'no intervals: 5 texts, and an interval takes 8 different ones'
    """
    if not np.isnan(low).all():
        return None
    same = "" if n_texts < LEAST else f", fewer than {LEAST} of them different"
    return f"no intervals: {n_texts} {what}{same}, and an interval takes {LEAST} different ones"


def one_text(figures: NDArray[Any], what: str = "texts") -> str | None:
    """Number of means that are half or more of one text, in words, the sign of a heavy tail; None if none is.

    Intervals of few texts hold such means too seldom: most samples lack the rare large value, and no interval of the others
    can know of it. This note is of samples that have it.

    ``figures``, float [texts, ...]: NaN is left out; a figure of fewer than eight texts has no interval. ``what``:
    several of them.

    >>> one_text(np.array([[9.0, 1.0]] + [[1.0, 1.0]] * 9))
    'one of the texts makes half or more of 1 of 2 means, a heavy tail: intervals of few texts hold such means too seldom'
    """
    sizes = np.abs(np.nan_to_num(figures.reshape(len(figures), -1).astype(np.float64)))
    known = np.sum(~np.isnan(figures.reshape(len(figures), -1)), axis=0) >= LEAST
    total = sizes.sum(axis=0)
    heavy = known & (total > 0) & (sizes.max(axis=0, initial=0) >= HALF * total)
    if not heavy.any():
        return None
    return (
        f"one of the {what} makes half or more of {int(heavy.sum()):,} of {int(known.sum()):,} means, a heavy "
        "tail: intervals of few texts hold such means too seldom"
    )


def times(digest: int, seed: int) -> NDArray[np.float64]:
    """Number of times that a text counts in each resample."""
    return np.random.default_rng([seed, digest]).poisson(1.0, RESAMPLES).astype(np.float64)
