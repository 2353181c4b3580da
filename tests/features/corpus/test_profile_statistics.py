"""Mean, standard deviation and bootstrap interval, against scipy and numpy."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import binom, binomtest, norm, t
from scipy.stats import bootstrap as scipy_bootstrap

from attn_widget.checks.rounding import UNIT
from attn_widget.features.corpus.statistics import intervals, means

FIGURES = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=6),
    elements=st.floats(0, 100, width=32) | st.just(float("nan")),
)


@given(FIGURES)
def test_mean_and_sd_are_those_of_the_texts_that_have_the_figure(figures: np.ndarray) -> None:
    mean, sd, count = means.mean(figures), means.sd(figures), means.count(figures)
    for place in np.ndindex(figures.shape[1:]):
        there = [float(x) for x in figures[(slice(None), *place)] if x == x]
        assert count[place] == len(there)
        if there:
            # A value is a multiple of 2**-48, and the mean is float32.
            exact = sum(there) / len(there)
            assert abs(mean[place] - exact) <= 2.0**-48 + UNIT * exact
        else:
            assert np.isnan(mean[place])
        if len(there) > 1:
            # So is its square, to 2**-66; numpy's variance is rounded in the units of the squares.
            variance, largest = np.var(there, ddof=1), max(there)
            off = 2.0**-66 + 2.0**-46 * largest + 2.0**-50 * largest**2
            assert abs(float(sd[place]) ** 2 - variance) <= off + 4 * UNIT * variance
        else:
            assert np.isnan(sd[place])


def test_the_interval_is_a_percentile_bootstrap_a_little_wider_than_students_t() -> None:
    figures = np.random.default_rng(1).gamma(2.0, size=(80, 2)).astype(np.float32)
    low, high = intervals.bootstrap(figures, seed=0)
    # `rng` came with scipy 1.15.
    named = "rng" if "rng" in signature(scipy_bootstrap).parameters else "random_state"
    seeded: dict[str, Any] = {named: 3}
    level = float(1 - 2 * norm.cdf(t.ppf(0.025, 79) * np.sqrt(80 / 79) * 81 / 80))
    assert 0.95 < level < 0.96
    for k in range(2):
        other = scipy_bootstrap(
            (figures[:, k].astype(float),),
            np.mean,
            method="percentile",
            confidence_level=level,
            n_resamples=5000,
            **seeded,
        ).confidence_interval
        spread = other.high - other.low
        # Two draws of a 2.5% quantile: a standard error of 2.5% of the width with 1000 resamples.
        assert abs(low[k] - other.low) < 0.1 * spread and abs(high[k] - other.high) < 0.1 * spread


@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_95_percent_intervals_hold_the_mean_of_skewed_figures_in_93_to_97_percent(n: int) -> None:
    # Skewed like distances of heads, whose median skewness is 1.2 (`benchmarks.coverage`): here it is 1.4.
    figures = np.random.default_rng(n).gamma(2, size=(n, 3000)).astype(np.float32)  # mean 2
    low, high = intervals.bootstrap(figures, 0)
    width = 2 * t.ppf(0.975, n - 1) * figures.std(axis=0, ddof=1) / np.sqrt(n) * (1 + 1 / n)
    assert np.mean(high - low) == pytest.approx(np.mean(width), rel=0.08)
    assert 0.93 < np.mean((low < 2) & (high > 2)) < 0.97


@pytest.mark.parametrize("n", [10, 20, 50])
def test_percentiles_near_their_end_hold_the_mean_where_a_bootstrap_does_not(n: int) -> None:
    figures = (100 * np.random.default_rng(n).beta(4, 0.4, size=(n, 2000))).astype(np.float32)
    low, high = intervals.bounded_interval(figures, (0, 100), 0)
    assert np.mean((low < 1000 / 11) & (high > 1000 / 11)) > 0.95
    assert (low >= 0).all() and (high <= 100).all()
    low, high = intervals.bootstrap(figures, 0)
    assert np.mean((low < 1000 / 11) & (high > 1000 / 11)) < 0.95


def test_an_interval_in_a_known_range_is_that_of_half_a_text_more_at_each_end() -> None:
    figures = np.random.default_rng(0).random((60, 1)).astype(np.float32)
    # Weights of a half: every text twice, and one text at each end.
    twice = np.concatenate([figures, figures, [[0], [1]]]).astype(float)
    half = norm.ppf(0.975) * twice.std() / np.sqrt(61)
    ends = np.ravel(intervals.bounded_interval(figures, (0, 1), 0))
    # The variance comes from 1,000 resamples: it is known to 4.5%.
    np.testing.assert_allclose(ends, [twice.mean() - half, twice.mean() + half], atol=0.09 * half)


@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_intervals_of_shares_are_wilsons_and_hold_the_share(n: int) -> None:
    counts = np.arange(n + 1)
    figures = (np.arange(n)[:, None] < counts).astype(np.float32)
    low, high = intervals.share_interval(figures, 0)
    expected = [binomtest(int(k), n).proportion_ci(method="wilson") for k in counts]
    np.testing.assert_allclose(low, [one.low for one in expected], atol=1e-6)
    np.testing.assert_allclose(high, [one.high for one in expected], atol=1e-6)
    shares = np.linspace(0.02, 0.98, 481)[:, None]
    held = (binom.pmf(counts, n, shares) * ((low <= shares) & (shares <= high))).sum(axis=1)
    assert 0.93 <= held.mean() <= 0.97


def test_a_share_of_all_is_not_certain() -> None:
    every = np.ones((23, 1), np.float32)
    low, high = intervals.share_interval(every, 0)
    assert high[0] == 1 and low[0] == pytest.approx(23 / (23 + norm.ppf(0.975) ** 2), abs=1e-6)
    # The same 23 cases, from three templates: too few to say.
    templates = np.arange(23) % 3
    assert np.isnan(intervals.share_interval(every, 0, templates.astype(np.uint64))[0]).all()
    groups = (np.arange(80) % 20).astype(np.uint64)
    some = (groups < 15).astype(np.float32)[:, None]
    alone, grouped = (
        np.subtract(*intervals.share_interval(some, 0, marks)[::-1])[0] for marks in (None, groups)
    )
    assert grouped > 1.7 * alone  # 20 cases, not 80


def test_texts_that_repeat_count_once() -> None:
    figures = np.random.default_rng(0).normal(size=(12, 1)).astype(np.float32)
    repeated, marks = np.repeat(figures, 5, axis=0), np.repeat(np.arange(12), 5).astype(np.uint64)
    once, again = (
        intervals.bootstrap(figures, 0, np.arange(12, dtype=np.uint64)),
        intervals.bootstrap(repeated, 0, marks),
    )
    np.testing.assert_allclose(once, again, rtol=1e-3, atol=0.05)
    one = np.tile(figures[:1], (40, 1))
    assert np.isnan(intervals.bootstrap(one, 0, np.zeros(40, np.uint64))[0]).all()
    assert intervals.too_few(40, np.array([np.nan])) == (
        "no intervals: 40 texts, fewer than 8 of them different, and an interval takes 8 different ones"
    )


def test_the_interval_holds_the_mean_and_follows_the_seed() -> None:
    figures = np.random.default_rng(1).random((30, 3, 2)).astype(np.float32)
    figures[::3, 0] = np.nan
    low, high = intervals.bootstrap(figures, seed=0)
    mean = means.mean(figures)
    assert (low < mean).all() and (mean < high).all()
    again, other = (
        intervals.bootstrap(figures, seed=0)[0],
        intervals.bootstrap(figures, seed=1)[0],
    )
    assert np.array_equal(low, again) and not np.array_equal(low, other)


def test_fewer_than_eight_texts_have_no_interval() -> None:
    figures = np.random.default_rng(0).random((7, 2)).astype(np.float32)
    figures[1:, 0] = np.nan
    low, high = intervals.bootstrap(figures, seed=0)
    assert np.isnan(low).all() and np.isnan(high).all()


def test_a_figure_that_never_changes_has_an_interval_of_no_width() -> None:
    low, high = intervals.bootstrap(np.full((9, 1), 0.25, np.float32), seed=0)
    assert low.tolist() == high.tolist() == [0.25]


def test_the_order_of_the_texts_and_the_blocks_change_no_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(2)
    figures = random.gamma(2.0, size=(300, 7)).astype(np.float32)
    figures[::5, 0] = np.nan
    digests = random.integers(2**63, size=300).astype(np.uint64)

    def found(order: np.ndarray) -> list[np.ndarray]:
        those = figures[order]
        edges = intervals.bootstrap(those, 0, digests[order])
        return [means.mean(those), means.sd(those), *edges]

    wanted = found(np.arange(300))
    for at_once in (7, 64, 500):
        monkeypatch.setattr(intervals, "TEXTS_AT_ONCE", at_once)
        for a, b in zip(wanted, found(random.permutation(300)), strict=True):
            assert a.tobytes() == b.tobytes()
