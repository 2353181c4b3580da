"""Mean, standard deviation and bootstrap interval, against scipy and numpy."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import binomtest, norm, t
from scipy.stats import bootstrap as scipy_bootstrap

from attn_widget.corpus.statistics import intervals, means

FIGURES = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=6),
    elements=st.floats(0, 100, width=32) | st.just(float("nan")),
)


@settings(deadline=None)
@given(FIGURES)
def test_mean_and_sd_are_those_of_the_texts_that_have_the_figure(figures: np.ndarray) -> None:
    mean, sd, count = means.mean(figures), means.sd(figures), means.count(figures)
    for place in np.ndindex(figures.shape[1:]):
        there = [float(x) for x in figures[(slice(None), *place)] if x == x]
        assert count[place] == len(there)
        if there:
            assert mean[place] == pytest.approx(sum(there) / len(there), abs=1e-5, rel=1e-6)
        else:
            assert np.isnan(mean[place])
        if len(there) > 1:
            assert sd[place] == pytest.approx(np.std(there, ddof=1), abs=1e-4, rel=1e-5)
        else:
            assert np.isnan(sd[place])


def test_the_interval_is_a_percentile_bootstrap_as_wide_as_students_t() -> None:
    figures = np.random.default_rng(1).gamma(2.0, size=(80, 2)).astype(np.float32)
    low, high = intervals.bootstrap(figures, seed=0)
    # `rng` came with scipy 1.15.
    named = "rng" if "rng" in signature(scipy_bootstrap).parameters else "random_state"
    seeded: dict[str, Any] = {named: 3}
    level = float(1 - 2 * norm.cdf(t.ppf(0.025, 79) * np.sqrt(80 / 79)))
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
def test_95_percent_intervals_hold_the_mean_of_normal_figures_in_95_percent(n: int) -> None:
    random = np.random.default_rng(n)
    figures = random.normal(1, size=(n, 3000)).astype(np.float32)  # 3000 samples of mean 1
    low, high = intervals.bootstrap(figures, 0)
    width = 2 * t.ppf(0.975, n - 1) * figures.std(axis=0, ddof=1) / np.sqrt(n)
    assert np.mean(high - low) == pytest.approx(np.mean(width), rel=0.08)
    assert 0.93 < np.mean((low < 1) & (high > 1)) < 0.97


@pytest.mark.parametrize(("n", "share"), [(10, 0.5), (20, 0.9), (50, 0.96), (200, 0.02)])
def test_intervals_of_shares_hold_the_share(n: int, share: float) -> None:
    drawn = (np.random.default_rng(n).random((n, 2000)) < share).astype(np.float32)
    low, high = intervals.share_interval(drawn, 0)
    assert 0.93 < np.mean((low <= share) & (high >= share)) < 0.99
    assert (low >= 0).all() and (high <= 1).all()


def test_a_share_of_all_is_not_certain() -> None:
    every = np.ones((23, 1), np.float32)
    wilson = binomtest(23, 23).proportion_ci(method="wilson")
    low, high = intervals.share_interval(every, 0)
    assert (
        wilson.low - 0.02 < low[0] < wilson.low and high[0] == 1
    )  # t instead of z: a little wider
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
