"""The six metrics beside float64 loops written from the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attn_widget.errors import InputError
from attn_widget.figures.metrics import KEYS, layer_metrics, summarize, threshold
from attn_widget.figures.quartiles import quartiles
from tests.reference import naive_attention as naive
from tests.reference.samples import KINDS, SIZES, attention

TOLERANCE = 1e-5  # absolute; relative for the raw entropy, which grows with n


def assert_agrees(found: dict[str, np.ndarray], head: int, expected: dict[str, float]) -> None:
    assert set(found) == set(expected) == set(KEYS)
    for key, value in expected.items():
        assert found[key].dtype == np.float32
        got = float(found[key][head])
        if math.isnan(value):
            assert math.isnan(got), key
        else:
            bound = TOLERANCE * max(1.0, value) if key == "focus_entropy" else TOLERANCE
            assert abs(got - value) <= bound, key


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tau", [0.01, 0.2, "uniform"])
def test_metrics_agree_with_the_definitions(kind: str, n: int, tau: float | str) -> None:
    weights, allowed = attention(kind, n)
    found = layer_metrics(weights, allowed, tau)
    for head, matrix in enumerate(weights):
        expected = naive.metrics(matrix.tolist(), float(threshold(tau, n)), allowed)
        assert_agrees(found, head, expected)


@pytest.mark.parametrize("kind", ["random", "peaked", "causal"])
def test_metrics_agree_with_the_definitions_at_512_tokens(kind: str) -> None:
    weights, allowed = attention(kind, 512, heads=1)
    found = layer_metrics(weights, allowed)
    mask = None if allowed is None else allowed.tolist()
    assert_agrees(found, 0, naive.metrics(weights[0].tolist(), float(np.float32(0.01)), mask))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 9).flatmap(
        lambda n: arrays(np.float32, (n, n), elements=st.floats(-30, 30, width=32))
    )
)
def test_metrics_agree_on_any_scores(scores: np.ndarray) -> None:
    wide = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
    weights = (wide / wide.sum(axis=1, keepdims=True)).astype(np.float32)
    found = layer_metrics(weights[None])
    assert_agrees(found, 0, naive.metrics(weights.tolist(), float(np.float32(0.01))))


@pytest.mark.parametrize("n", [2, 5, 6, 100, 512])
def test_uniform_attention_has_the_largest_entropy_no_spread_and_no_sparse_cell(n: int) -> None:
    found = layer_metrics(np.full((1, n, n), 1 / n, dtype=np.float32), tau="uniform")
    assert found["focus_entropy"][0] == pytest.approx(n * math.log(n), rel=1e-6)
    assert found["focus_normalized"][0] == pytest.approx(1, abs=1e-6)
    assert found["focus_per_row"][0] == pytest.approx(math.log(n), rel=1e-6)
    assert found["uniformity"][0] == pytest.approx(0, abs=1e-8)
    assert found["sparsity"][0] == 0


def test_causal_uniform_attention_is_as_diffuse_as_its_mask_lets_it_be() -> None:
    weights, allowed = attention("causal uniform", 6)
    assert layer_metrics(weights, allowed)["focus_normalized"] == pytest.approx(1, abs=1e-6)


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


@settings(max_examples=200, deadline=None)
@given(arrays(np.float32, st.integers(1, 40), elements=st.floats(0, 1, width=32)))
def test_quartiles_are_those_of_numpy(cells: np.ndarray) -> None:
    before = cells.copy()
    expected = np.quantile(cells.astype(np.float64), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles(cells), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(cells, before)


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
