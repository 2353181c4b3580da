"""Mean, standard deviation and bootstrap interval, against scipy and numpy."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import bootstrap as scipy_bootstrap

from attn_widget.corpus import statistics

FIGURES = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=6),
    elements=st.floats(0, 100, width=32) | st.just(float("nan")),
)


@settings(deadline=None)
@given(FIGURES)
def test_mean_and_sd_are_those_of_the_texts_that_have_the_figure(figures: np.ndarray) -> None:
    mean, sd, count = statistics.mean(figures), statistics.sd(figures), statistics.count(figures)
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


def test_the_interval_is_the_percentile_bootstrap_of_scipy() -> None:
    figures = np.random.default_rng(1).gamma(2.0, size=(80, 2)).astype(np.float32)
    low, high = statistics.bootstrap(figures, seed=0)
    # `rng` came with scipy 1.15.
    named = "rng" if "rng" in signature(scipy_bootstrap).parameters else "random_state"
    seeded: dict[str, Any] = {named: 3}
    for k in range(2):
        other = scipy_bootstrap(
            (figures[:, k].astype(float),), np.mean, method="percentile", n_resamples=5000, **seeded
        ).confidence_interval
        spread = other.high - other.low
        # Two draws of a 2.5% quantile: a standard error of 2.5% of the width with 1000 resamples.
        assert abs(low[k] - other.low) < 0.1 * spread and abs(high[k] - other.high) < 0.1 * spread


def test_the_interval_holds_the_mean_and_follows_the_seed() -> None:
    figures = np.random.default_rng(1).random((30, 3, 2)).astype(np.float32)
    figures[::3, 0] = np.nan
    low, high = statistics.bootstrap(figures, seed=0)
    mean = statistics.mean(figures)
    assert (low < mean).all() and (mean < high).all()
    again, other = (
        statistics.bootstrap(figures, seed=0)[0],
        statistics.bootstrap(figures, seed=1)[0],
    )
    assert np.array_equal(low, again) and not np.array_equal(low, other)


def test_one_text_has_no_interval() -> None:
    figures = np.array([[0.5, np.nan], [np.nan, np.nan], [np.nan, np.nan]], np.float32)
    low, high = statistics.bootstrap(figures, seed=0)
    assert np.isnan(low).all() and np.isnan(high).all()


def test_a_figure_that_never_changes_has_an_interval_of_no_width() -> None:
    low, high = statistics.bootstrap(np.full((9, 1), 0.25, np.float32), seed=0)
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
        edges = statistics.bootstrap(those, 0, digests[order])
        return [statistics.mean(those), statistics.sd(those), *edges]

    wanted = found(np.arange(300))
    for at_once in (7, 64, 500):
        monkeypatch.setattr(statistics, "TEXTS_AT_ONCE", at_once)
        for a, b in zip(wanted, found(random.permutation(300)), strict=True):
            assert a.tobytes() == b.tobytes()


def test_the_interval_covers_the_mean_as_often_as_that_of_drawn_texts() -> None:
    random = np.random.default_rng(3)
    figures = random.gamma(2.0, size=(60, 400)).astype(np.float32)  # 400 samples of mean 2
    low, high = statistics.bootstrap(figures, 0)
    drawn = random.integers(60, size=(1000, 60))
    times = np.stack([np.bincount(row, minlength=60) for row in drawn])
    edges = np.percentile(times @ figures.astype(float) / 60, statistics.INTERVAL, axis=0)
    poisson = np.mean((low < 2) & (high > 2))
    exact = np.mean((edges[0] < 2) & (edges[1] > 2))
    # Percentile intervals of 60 skewed values cover a little less than 95%.
    assert abs(poisson - exact) < 0.02 and poisson > 0.9
    assert np.mean(high - low) == pytest.approx(np.mean(edges[1] - edges[0]), rel=0.05)
