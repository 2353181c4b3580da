"""The metrics beside float64 loops written from the definitions."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attn_widget.checks.rounding import rounding
from attn_widget.errors import InputError
from attn_widget.figures.metrics import (
    KEYS,
    METRICS,
    Metrics,
    layer_metrics,
    metric_scale,
    summarize,
    threshold,
)
from attn_widget.figures.quartiles import order_statistics, quartiles
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.reference.samples import KINDS, SIZES, attention

GROWING = ("focus_entropy", "effective_keys")


def assert_agrees(
    found: dict[str, np.ndarray], head: int, expected: dict[str, float], n: int
) -> None:
    """Figures are sums over the keys of a row, then over rows. A metric without a reference is not compared."""
    assert set(found) == set(KEYS) >= set(expected)
    for key, value in expected.items():
        assert found[key].dtype == np.float32
        got = float(found[key][head])
        if math.isnan(value):
            assert math.isnan(got), key
        else:
            bound = rounding(max(1.0, value) if key in GROWING else 1.0, n, 2)
            assert abs(got - value) <= bound, key


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tau", [0.01, 0.2, "uniform"])
def test_metrics_agree_with_the_definitions(
    kind: str, n: int, tau: float | Literal["uniform"]
) -> None:
    weights, allowed = attention(kind, n)
    found = layer_metrics(weights, allowed, tau)
    for head, matrix in enumerate(weights):
        limit = "uniform" if tau == "uniform" else float(threshold(tau, n))
        expected = naive.metrics(
            matrix.tolist(), limit, None if allowed is None else allowed.tolist()
        )
        assert_agrees(found, head, expected, n)


@pytest.mark.parametrize("kind", ["random", "peaked", "causal"])
def test_metrics_agree_with_the_definitions_at_512_tokens(kind: str) -> None:
    weights, allowed = attention(kind, 512, heads=1)
    found = layer_metrics(weights, allowed)
    mask = None if allowed is None else allowed.tolist()
    assert_agrees(
        found,
        0,
        naive.metrics(weights[0].tolist(), float(np.float32(0.01)), mask),
        weights.shape[-1],
    )


@settings(max_examples=60)
@given(
    st.integers(1, 9).flatmap(
        lambda n: arrays(np.float32, (n, n), elements=st.floats(-30, 30, width=32))
    )
)
def test_metrics_agree_on_any_scores(scores: np.ndarray) -> None:
    wide = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    weights = (wide / wide.sum(axis=1, keepdims=True)).astype(np.float32)
    found = layer_metrics(weights[None])
    assert_agrees(found, 0, naive.metrics(weights.tolist(), float(np.float32(0.01))), len(weights))


@pytest.mark.parametrize("n", [2, 5, 6, 100, 512])
def test_uniform_attention_has_the_largest_entropy_no_spread_and_no_sparse_cell(n: int) -> None:
    found = layer_metrics(np.full((1, n, n), 1 / n, dtype=np.float32), tau="uniform")
    assert_close(found["focus_entropy"][0], n * math.log(n), terms=n, steps=2)
    assert_close(found["focus_normalized"][0], 1, terms=n, steps=2)
    assert_close(found["focus_per_row"][0], math.log(n), terms=n, steps=2)
    assert found["uniformity"][0] == pytest.approx(0, abs=1e-8)
    assert_close(found["effective_keys"][0], n, terms=n, steps=2)
    assert found["sparsity"][0] == 0


def test_causal_uniform_attention_is_as_diffuse_as_its_mask_lets_it_be() -> None:
    weights, allowed = attention("causal uniform", 6)
    assert_close(layer_metrics(weights, allowed)["focus_normalized"], 1, terms=6, steps=2)


def test_impossible_cells_do_not_make_attention_sparse() -> None:
    weights, allowed = attention("causal uniform", 6)
    assert layer_metrics(weights, allowed)["sparsity"].tolist() == [0, 0]
    assert layer_metrics(weights)["sparsity"].tolist() == pytest.approx([15 / 36] * 2)


def test_one_token_has_no_scaled_entropy() -> None:
    found = layer_metrics(np.ones((1, 1, 1), dtype=np.float32))
    assert math.isnan(found["focus_normalized"][0])
    assert found["focus_entropy"][0] == 0
    assert found["confidence_max"][0] == found["distribution_median"][0] == 1


def test_a_head_with_nan_is_na_and_the_others_are_not() -> None:
    weights = attention("random", 5)[0].copy()
    weights[0, 2] = np.nan
    found = layer_metrics(weights)
    assert all(math.isnan(found[key][0]) and not math.isnan(found[key][1]) for key in KEYS)


def test_the_threshold_is_strict() -> None:
    weights = np.full((1, 2, 2), 0.5, dtype=np.float32)
    assert layer_metrics(weights, tau=0.5)["sparsity"][0] == 0
    assert layer_metrics(weights, tau=0.51)["sparsity"][0] == 1


@pytest.mark.parametrize("tau", [0, -0.1, 1.5, float("nan"), "even", True, None])
def test_an_unknown_tau_is_refused(tau: object) -> None:
    with pytest.raises(InputError, match="tau is"):
        layer_metrics(np.ones((1, 1, 1), dtype=np.float32), tau=tau)  # pyright: ignore


@pytest.mark.parametrize("shape", [(3, 3), (1, 2, 3), (1, 0, 0)])
def test_a_shape_that_is_no_layer_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"expected \[heads, n, n\]"):
        layer_metrics(np.zeros(shape, dtype=np.float32))


@settings(max_examples=200)
@given(arrays(np.float32, st.integers(1, 40), elements=st.floats(0, 1, width=32)))
def test_quartiles_are_those_of_numpy(cells: np.ndarray) -> None:
    before = cells.copy()
    expected = np.quantile(cells.astype(np.float64), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles(cells), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(cells, before)


@pytest.mark.parametrize("size", [2**15, 2**15 + 1, 2**18 + 2, 2**18 + 3])
@pytest.mark.parametrize("kind", ["random", "sharp", "ties", "even", "half zero", "two values"])
def test_quartiles_of_many_cells_are_those_of_a_full_sort(size: int, kind: str) -> None:
    rng = np.random.default_rng(size)
    cells = {
        "random": lambda: rng.random(size),
        "sharp": lambda: np.exp(-40 * rng.random(size)) ** 3,  # a third of them are subnormal or 0
        "ties": lambda: rng.integers(0, 4, size) / 4,
        "even": lambda: np.full(size, 0.25),
        "half zero": lambda: np.where(np.arange(size) < size // 2, 0, rng.random(size)),
        "two values": lambda: np.where(np.arange(size) <= size // 4, 0.1, 0.2),
    }[kind]().astype(np.float32)
    before = cells.copy()
    expected = np.quantile(cells.astype(np.float64), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles(cells), expected, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(cells, before)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 49_999), min_size=1, max_size=5))
def test_order_statistics_are_exact_with_any_number_of_ties(seed: int, ranks: list[int]) -> None:
    rng = np.random.default_rng(seed)
    levels = int(rng.integers(1, 50_000))
    cells = (rng.integers(0, levels, 50_000) / levels).astype(np.float32)
    ranks = sorted(set(ranks))
    assert order_statistics(cells, ranks) == dict(
        zip(ranks, np.sort(cells)[ranks].tolist(), strict=True)
    )


@pytest.mark.parametrize("partitioned", [0, 2**20])
def test_many_or_few_cells_of_a_bin_are_selected_alike(
    partitioned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attn_widget.figures.quartiles.PARTITIONED_UP_TO", partitioned)
    cells = np.float32(0.25) + np.random.default_rng(3).random(60_000, dtype=np.float32) / 500
    ranks = [0, 1, 29_999, 59_999]
    expected = np.sort(cells)[ranks].tolist()
    assert order_statistics(cells, ranks) == dict(zip(ranks, expected, strict=True))


def test_a_negative_zero_is_a_zero() -> None:
    cells = np.full(40_000, 0.5, dtype=np.float32)
    cells[:10_000], cells[10_000:20_000] = 0.0, -0.0
    assert order_statistics(cells, [0, 19_999, 20_000]) == {0: 0.0, 19_999: 0.0, 20_000: 0.5}


@pytest.mark.parametrize("size", [*range(1, 12), 101, 102, 103, 104, 5000, 5003])
def test_quartiles_do_not_depend_on_the_order_of_the_cells(size: int) -> None:
    # numpy's partition sorts more than it must: a wrong cut shows in one large array of twenty.
    for seed in range(150):
        cells = np.random.default_rng(seed).permutation(size).astype(np.float32)
        assert quartiles(cells) == tuple((size - 1) * quarter / 4 for quarter in (1, 2, 3))


def test_a_summary_is_the_mean_of_the_figures_and_leaves_out_what_is_na() -> None:
    values = np.array([[1, 2, np.nan], [4, 6, 8], [np.nan] * 3], dtype=np.float32)
    summary = summarize(values)
    np.testing.assert_array_equal(summary.mean, np.float32([1.5, 6, np.nan]))
    np.testing.assert_array_equal(summary.low, np.float32([1, 4, np.nan]))
    np.testing.assert_array_equal(summary.high, np.float32([2, 8, np.nan]))
    assert summary[3:] == (21 / 5, 1, 8)
    assert all(math.isnan(value) for value in summarize(values[2:])[3:])


ROWS = {
    "one token": [1],
    "two tokens": [2, 2],
    "nine tokens": [9] * 9,
    "a hundred tokens": [100] * 100,
    "more tokens than 1 / tau": [128] * 128,
    "a causal mask": [1, 2, 3, 4, 5, 6, 7],
}


def over(counts: list[int], weight: Callable[[int], list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Attention over the first ``count`` keys of each query, and the mask that allows just these."""
    n = len(counts)
    allowed = np.arange(n) < np.array(counts)[:, None]
    weights = np.zeros((1, n, n), dtype=np.float32)
    for row, count in enumerate(counts):
        weights[0, row, :count] = weight(count)
    return weights, allowed


def uniform(count: int) -> list[float]:
    return [1 / count] * count


def one_hot(count: int) -> list[float]:
    return [1] + [0] * (count - 1)


@pytest.mark.parametrize("tau", [0.01, "uniform"])
@pytest.mark.parametrize("counts", ROWS.values(), ids=ROWS)
def test_the_scale_has_the_figure_of_uniform_attention(
    counts: list[int], tau: float | Literal["uniform"]
) -> None:
    # A threshold of 1/m is compared with cells of just that: in float64, as the scale does.
    weights, allowed = over(counts, uniform)
    cells = np.where(allowed, 1 / np.array(counts)[:, None], 0)
    expected = naive.metrics(cells.tolist(), tau, allowed.tolist())
    [scale] = metric_scale([np.array(counts)], tau)
    assert set(scale) == {key for key, metric in METRICS.items() if metric.card is not None}
    for key in scale.keys() & expected.keys():
        assert scale[key][2] == pytest.approx(expected[key], abs=1e-9), key
    assert weights.shape == (1, len(counts), len(counts))


@pytest.mark.parametrize("counts", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("kind", [uniform, one_hot])
def test_figures_stay_in_their_range(counts: list[int], kind: Callable[[int], list[float]]) -> None:
    weights, allowed = over(counts, kind)
    found = layer_metrics(weights, allowed)
    [scale] = metric_scale([np.array(counts)])
    for key, (least, most, _) in scale.items():
        allowed_error = rounding(max(1, most), len(counts), 2)
        assert least - allowed_error <= found[key][0] <= most + allowed_error, key


def test_ranges_end_at_what_attention_can_be() -> None:
    [scale] = metric_scale([np.full(9, 9)])
    spread = layer_metrics(over([9] * 9, one_hot)[0])["uniformity"][0]
    assert scale["focus_entropy"][1] == pytest.approx(9 * math.log(9))
    assert_close(scale["uniformity"][1], spread, terms=9, steps=2)


def test_layers_that_differ_have_a_scale_each_and_others_one() -> None:
    local, whole = np.array([1, 2, 3]), np.array([3, 3, 3])
    assert len(metric_scale([whole, whole])) == 1
    first, second = metric_scale([local, whole])
    assert first["confidence_avg"][0] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert second["confidence_avg"][0] == pytest.approx(1 / 3)


def test_metrics_are_attributes_and_others_are_no_metric() -> None:
    metrics = Metrics({key: np.zeros((2, 3), dtype=np.float32) for key in KEYS})
    assert metrics.sparsity.shape == (2, 3)
    assert set(KEYS) <= set(dir(metrics))
    assert pickle.loads(pickle.dumps(metrics)).keys == KEYS
    with pytest.raises(AttributeError, match="Metrics has no 'sparcity'; it has confidence_max"):
        _ = metrics.sparcity
