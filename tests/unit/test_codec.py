"""The codes of a saved page: what they promise about their errors is kept, on random and on real attention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.export.codec import (
    WORST,
    CodedFactors,
    code_factors,
    code_weights,
    decode_scores,
    decode_weights,
    error_of_weight,
)
from attn_widget.export.snapshot import snapshot
from attn_widget.widget.pack import unpack
from tests.golden.make import analysis as causal_analysis

Floats = NDArray[np.float32]


def softmax(scores: NDArray[np.floating], allowed: NDArray[np.bool_] | None = None) -> NDArray:
    wide = np.where(True if allowed is None else allowed, scores.astype(np.float64), -np.inf)
    exponentials = np.exp(wide - wide.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def sharp(seed: int, n: int, spread: float) -> Floats:
    """Attention from flat to almost one-hot."""
    return softmax(np.random.default_rng(seed).normal(size=(n, n)) * spread).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 40), st.floats(0, 60), st.sampled_from([255, 1023, 65535])
)
def test_no_decoded_weight_is_off_by_more_than_is_said(
    seed: int, n: int, spread: float, levels: int
) -> None:
    weights = sharp(seed, n, spread)
    coded = code_weights(weights, levels)
    off = np.abs(decode_weights(coded) - weights)
    assert off.max() <= coded.error <= {255: 0.004, 1023: 1e-3, 65535: 2e-5}[levels]
    # Each weight by itself, whichever of the two values a reader starts from.
    bound = np.vectorize(error_of_weight)
    assert (off <= bound(weights, levels)).all()
    assert (off <= bound(decode_weights(coded), levels)).all()
    assert ((decode_weights(coded) > 0) >= (weights > coded.largest / 4 / levels**2)).all()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.integers(1, 12),
    st.floats(0.01, 30),
    st.sampled_from([0.05, 0.005, 0.0005]),
    st.booleans(),
)
def test_no_score_or_weight_of_coded_factors_is_off_by_more_than_is_said(
    seed: int, n: int, d: int, spread: float, worst_score: float, causal: bool
) -> None:
    rng = np.random.default_rng(seed)
    q = (rng.normal(size=(n, d)) * spread).astype(np.float32)
    # Keys with a common part: it moves whole rows of scores and no weight.
    k = (rng.normal(size=(n, d)) + 5 * rng.normal(size=d)).astype(np.float32)
    allowed = np.tril(np.ones((n, n), dtype=bool)) if causal else None
    coded = code_factors(q, k, d**-0.5, allowed=allowed, worst_score=worst_score)
    exact = q.astype(np.float64) @ k.T.astype(np.float64) * d**-0.5
    assert (
        np.abs(decode_scores(coded) - exact).max() <= coded.score_error + 1e-5 * np.abs(exact).max()
    )
    off = np.abs(softmax(decode_scores(coded), allowed) - softmax(exact, allowed)).max()
    assert off <= coded.error + 1e-5


def test_factors_of_equal_keys_need_no_direction_at_all() -> None:
    q = np.ones((4, 3), dtype=np.float32)
    coded = code_factors(q, q, 1.0)
    assert coded.queries.shape == (4, 0)
    np.testing.assert_allclose(decode_scores(coded), 3)


TEXT = "The trophy does not fit into the brown suitcase because it is too large. It was a gift."


@pytest.fixture(scope="module")
def analysis() -> aw.Analysis:
    return aw.analyze(TEXT, progress=False)


@pytest.mark.parametrize("code", ["weights", "qk"])
def test_a_snapshot_bounds_the_error_of_every_real_head(analysis: aw.Analysis, code: str) -> None:
    taken = snapshot(
        analysis, views=["attention"], selection={"layer": 0, "head": 0}, title="", code=code
    )
    worst = 0.0
    for layer in range(analysis.n_layers):
        _, arrays = unpack(taken.chunks[f"layer-{layer}"])
        for head in range(analysis.n_heads):
            shown = reader(arrays, head, analysis.n_tokens)
            worst = max(worst, float(np.abs(shown - analysis.attention(layer, head)).max()))
    assert worst <= taken.error
    assert taken.error <= WORST + 1e-4


def reader(arrays: dict[str, NDArray], head: int, n: int) -> NDArray[np.float64]:
    """The weights that the documented layout gives, written from its description."""
    if "codes" in arrays:
        code = arrays["codes"][head].astype(float)
        whole = 256 * code + arrays["fine"][head] if "fine" in arrays else code
        return arrays["largest"][head] * (whole / arrays["levels"][0]) ** 2
    at = int(2 * arrays["rank"][:head].sum() * n)
    rank = int(arrays["rank"][head])
    zigzag = arrays["low"].astype(int) + 256 * arrays["high"].astype(int)
    zigzag += 65536 * arrays.get("top", np.zeros_like(arrays["low"])).astype(int)
    values = np.where(zigzag % 2 == 1, -(zigzag + 1) // 2, zigzag // 2)
    queries = values[at : at + rank * n].reshape(rank, n)
    keys = values[at + rank * n : at + 2 * rank * n].reshape(rank, n)
    scores = arrays["step"][head] ** 2 * queries.T @ keys + arrays["shift"][head][:, None]
    return softmax(scores)


def test_scores_that_queries_and_keys_do_not_make_are_saved_as_weights() -> None:
    held = causal_analysis()
    assert held.trace.has_qkv
    taken = snapshot(held, views=["attention"], selection={"layer": 0, "head": 0}, title="")
    assert taken.code == "weights"
    _, arrays = unpack(taken.chunks["layer-1"])
    assert arrays["allowed"].tolist() == np.tril(np.ones((5, 5), dtype=int)).tolist()


def test_a_snapshot_of_some_heads_selects_one_of_them(analysis: aw.Analysis) -> None:
    taken = snapshot(
        analysis,
        layers=[2, 4],
        heads=[7],
        views=["tree"],
        selection={"layer": 0, "head": 3},
        title="",
    )
    meta, arrays = unpack(taken.chunks["paint"])
    assert (meta["snapshot"]["selection"]["layer"], meta["snapshot"]["selection"]["head"]) == (2, 7)
    assert sorted(taken.chunks) == ["layer-2", "layer-4", "paint"]
    assert "weights" not in arrays


def test_coded_factors_are_whole_numbers_that_three_bytes_hold(analysis: aw.Analysis) -> None:
    coded = code_factors(
        1000 * analysis.queries(0, 0), 1000 * analysis.keys(0, 0), analysis.trace.scaling(0)
    )
    assert isinstance(coded, CodedFactors)
    assert coded.queries.dtype == coded.keys.dtype == np.int32
    assert max(np.abs(coded.queries).max(), np.abs(coded.keys).max()) < 2**23
