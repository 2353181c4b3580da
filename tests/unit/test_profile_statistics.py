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
