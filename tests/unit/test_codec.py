"""The codes of a saved page: what they promise about their errors is kept, on random and on real attention."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.page import compress
from attn_widget.page.encodings.codec import (
    WORST_SCORE,
    decode_scores,
    encode_weights,
    error_of_weight,
    weight_error,
)
from attn_widget.page.encodings.factors import encode_factors
from attn_widget.page.encodings.scores import encode_scores
from attn_widget.page.snapshot import Snapshot, snapshot
from attn_widget.protocol.pack import unpack
from tests.golden.make import analysis as causal_analysis
from tests.unit.tiny_models import build

Floats = NDArray[np.float32]
Wide = NDArray[np.float64]
Bools = NDArray[np.bool_]

STATED = 0.004  # no page states a larger error of a weight
SIZES = st.sampled_from([1, 2, 3, 200]) | st.integers(1, 40)


def softmax(scores: NDArray[np.floating[Any]]) -> Wide:
    """By row, in float64; a row without a possible cell is zero."""
    wide = scores.astype(np.float64)
    most = wide.max(axis=1, keepdims=True)
    exponentials = np.exp(wide - np.where(np.isfinite(most), most, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)


def mask_of(kind: str, n: int) -> Bools | None:
    """Nothing, what comes after a token (decoders), or what is far from it (ModernBERT's local layers)."""
    away = np.subtract.outer(np.arange(n), np.arange(n))
    return {"none": None, "causal": away >= 0, "window": np.abs(away) <= 2}[kind]


@settings(max_examples=60, deadline=None)
@example(seed=2, n=200, spread=6.0, levels=65535)  # off by 0.04% more than stated, coded in float32
@example(seed=0, n=200, spread=5.0, levels=65535)
@given(st.integers(0, 10**6), SIZES, st.floats(0, 60), st.sampled_from([255, 1023, 4095, 65535]))
def test_no_decoded_weight_is_off_by_more_than_is_said(
    seed: int, n: int, spread: float, levels: int
) -> None:
    # From flat to almost one-hot.
    scores = np.random.default_rng(seed).normal(size=(n, n)) * spread
    weights = softmax(scores).astype(np.float32)
    coded = encode_weights(weights, levels)
    off = np.abs(coded.shown - weights)
    assert off.max() <= coded.error <= {255: STATED, 1023: 1e-3, 4095: 3e-4, 65535: 2e-5}[levels]
    # Each weight by itself, whichever of the two values a reader starts from.
    bound = np.vectorize(error_of_weight)
    assert (off <= bound(weights, levels)).all()
    assert (off <= bound(coded.shown, levels)).all()
    assert ((coded.shown > 0) >= (weights > coded.largest / 4 / levels**2)).all()


MASKS = ("none", "causal", "window")


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    SIZES,
    st.integers(1, 12),
    st.lists(st.floats(0.01, 30), min_size=1, max_size=4),
    st.sampled_from([WORST_SCORE, 0.02, 0.005, 0.0002]),
    st.sampled_from(MASKS),
    st.booleans(),
    st.booleans(),
)
def test_no_score_or_weight_is_off_by_more_than_is_said(
    seed: int,
    n: int,
    d: int,
    spreads: list[float],
    worst_score: float,
    mask: str,
    biased: bool,
    as_scores: bool,
) -> None:
    rng = np.random.default_rng(seed)
    heads = len(spreads)
    q = (rng.normal(size=(heads, n, d)) * np.array(spreads)[:, None, None]).astype(np.float32)
    # Keys with a common part: it moves whole rows of scores and no weight.
    k = (rng.normal(size=(heads, n, d)) + 5 * rng.normal(size=(heads, 1, d))).astype(np.float32)
    bias = rng.normal(size=(heads, n, n)).astype(np.float32) if biased else None
    scores = q @ k.transpose(0, 2, 1) * np.float32(d**-0.5)
    scores += 0 if bias is None else bias
    allowed = mask_of(mask, n)
    if allowed is not None:
        scores[:, ~allowed] = -np.inf
    weights = np.stack([softmax(one) for one in scores]).astype(np.float32)
    shown: dict[str, Any] = {"scores": scores, "weights": weights, "bias": bias}
    if as_scores:
        coded = encode_scores(q, k, d**-0.5, **shown, worst_score=worst_score)
    else:
        coded = [
            encode_factors(q[h], k[h], d**-0.5, **part_of(shown, h), worst_score=worst_score)
            for h in range(heads)
        ]
    for head, one in enumerate(coded):
        possible = np.isfinite(scores[head])
        found = decode_scores(one, None if bias is None else bias[head])
        assert np.abs(found - scores[head])[possible].max(initial=0) <= one.score_error
        read = softmax(np.where(possible, found, -np.inf))
        assert np.abs(read - weights[head]).max() <= one.error <= STATED
        assert np.abs(read - one.shown).max() <= 1e-7
        assert (read[~possible] == 0).all()
        # The share of a weight that a page takes for its error (js/src/protocol/precision.ts).
        shares = weights[head] * np.expm1(2 * one.score_error) + 1e-7
        assert (np.abs(read - weights[head]) <= shares).all()


def part_of(arrays: dict[str, Any], head: int | slice) -> dict[str, Any]:
    return {name: None if array is None else array[head] for name, array in arrays.items()}


def test_a_head_is_coded_in_company_as_it_is_alone() -> None:
    found = real("embedded")
    trace = found.trace
    layer = [[of(2, head) for head in range(found.n_heads)] for of in (found.queries, found.keys)]
    q, k = (np.stack(one) for one in layer)
    shown: dict[str, Any] = {
        "scores": trace.layer_scores(2),
        "weights": trace.layer_weights(2),
    }
    together = encode_scores(q, k, trace.scaling(2), **shown)
    assert len({one.step for one in together}) > 1
    for head, one in enumerate(together):
        part = slice(head, head + 1)
        cut = part_of(shown, part)
        (alone,) = encode_scores(q[part], k[part], trace.scaling(2), **cut)
        assert alone.step == one.step
        np.testing.assert_array_equal(alone.queries, one.queries)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0, 20), st.floats(1e-4, 0.5))
def test_weights_move_by_no_more_than_their_scores_allow(
    seed: int, n: int, spread: float, error: float
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n)) * spread
    moved = scores + error * rng.choice([-1, 1], size=(n, n))
    assert np.abs(softmax(moved) - softmax(scores)).max() <= weight_error(error) + 1e-12


def test_factors_of_equal_keys_need_no_direction_at_all() -> None:
    q = np.ones((4, 3), dtype=np.float32)
    coded = encode_factors(
        q, q, 1.0, scores=np.full((4, 4), 3, np.float32), weights=np.full((4, 4), 0.25, np.float32)
    )
    assert coded.queries.shape == (4, 0)
    np.testing.assert_allclose(decode_scores(coded), 3)


# Real attention, of every kind of trace.

TEXT = "The trophy does not fit into the brown suitcase because it is too large. It was a gift."
LONG = " ".join(["the old cat sat on a mat near our house while it rained"] * 16)


@cache
def real(kind: str) -> aw.Analysis:
    if kind == "embedded":
        return aw.analyze(TEXT, "It is heavy.", progress=False)
    if kind == "200 tokens":
        found = aw.analyze(" ".join(LONG.split()[:198]), progress=False)
        assert found.n_tokens == 200
        return found
    if kind == "golden causal":
        return causal_analysis()
    if kind.startswith("from_attentions"):
        n = int(kind.split()[1])
        rng = np.random.default_rng(n)
        weights = rng.dirichlet(np.full(n, 0.1), size=(2, 3, n)).astype(np.float32)
        return aw.from_attentions(weights, [f"t{i}" for i in range(n)], tagger=None)
    return aw.analyze(TEXT, model=build(kind), tagger=None, progress=False)


KINDS = (
    "embedded", "200 tokens", "bert", "roberta", "modernbert", "deberta", "deberta-v2", "mpnet",
    "golden causal", "from_attentions 1", "from_attentions 2", "from_attentions 3",
)  # fmt: skip
FACTORED = ("embedded", "200 tokens", "bert", "roberta", "modernbert")


def taken(found: aw.Analysis, **options: Any) -> Snapshot:
    chosen = {"layer": 0, "head": 0}
    return snapshot(found, views=["attention"], selection=chosen, title="", **options)


def heads_read(saved: Snapshot, found: aw.Analysis) -> Iterator[tuple[int, int, Wide, Wide | None]]:
    """Weights and scores of every head out of the documented layout, in a decoder written from its words."""
    n = found.n_tokens
    for layer in range(found.n_layers):
        _, arrays = unpack(saved.chunks[f"layer-{layer}"])
        for head in range(found.n_heads):
            if "codes" in arrays:
                code = arrays["codes"][head].astype(float)
                whole = 256 * code + arrays["fine"][head] if "fine" in arrays else code
                yield (
                    layer,
                    head,
                    arrays["largest"][head] * (whole / arrays["levels"][0]) ** 2,
                    None,
                )
                continue
            at = int(2 * arrays["rank"][:head].sum() * n)
            rank = int(arrays["rank"][head])
            zigzag = arrays["low"].astype(int) + 256 * arrays["high"].astype(int)
            zigzag += 65536 * arrays.get("top", np.zeros_like(arrays["low"])).astype(int)
            values = np.where(zigzag % 2 == 1, -(zigzag + 1) // 2, zigzag // 2)
            queries = values[at : at + rank * n].reshape(rank, n)
            keys = values[at + rank * n : at + 2 * rank * n].reshape(rank, n)
            scores = arrays["step"][head] ** 2 * queries.T @ keys + arrays["shift"][head][:, None]
            if "bias" in arrays:
                scores = scores + arrays["bias"][head]
            if "allowed" in arrays:
                scores = np.where(arrays["allowed"] != 0, scores, -np.inf)
            yield layer, head, softmax(scores), scores


@pytest.mark.parametrize(
    ("kind", "code"),
    [*((kind, "weights") for kind in KINDS), *((kind, "qk") for kind in FACTORED)],
)
def test_a_snapshot_bounds_the_error_of_every_real_head(kind: str, code: Any) -> None:
    found = real(kind)
    saved = taken(found, code=code)
    assert saved.error <= STATED
    assert saved.code == code
    for layer, head, weights, scores in heads_read(saved, found):
        exact = found.attention(layer, head)
        assert np.abs(weights - exact).max() <= saved.error, (layer, head)
        if scores is not None:
            assert saved.score_error is not None
            own = found.scores(layer, head)
            np.testing.assert_array_equal(np.isfinite(scores), np.isfinite(own))
            possible = np.isfinite(own)
            off = np.abs(scores[possible] - own[possible])
            assert off.max() <= saved.score_error, (layer, head)


@pytest.mark.parametrize("kind", KINDS)
def test_the_coarsest_code_still_keeps_the_bound_that_it_states(kind: str) -> None:
    """What the output of a cell keeps."""
    found = real(kind)
    saved = taken(found, light=True)
    assert saved.error <= STATED
    for layer, head, weights, _ in heads_read(saved, found):
        assert np.abs(weights - found.attention(layer, head)).max() <= saved.error, (layer, head)


@pytest.mark.parametrize(
    ("kind", "code"),
    [*((kind, "weights") for kind in KINDS), *((kind, "qk") for kind in FACTORED)],
)
def test_the_mean_head_of_a_page_without_all_heads_keeps_the_bounds_that_it_states(
    kind: str, code: Any
) -> None:
    found = real(kind)
    saved = taken(found, code=code, heads=[0])
    said = unpack(saved.chunks["paint"])[0]["snapshot"]
    levels = said["mean_levels"]
    for layer in range(found.n_layers):
        _, arrays = unpack(saved.chunks[f"layer-{layer}"])
        whole = 256 * arrays["mean_codes"][0].astype(float) + arrays["mean_fine"][0]
        assert arrays["mean_levels"][0] == levels
        mean = arrays["mean_largest"][0] * (whole / levels) ** 2
        off = np.abs(mean - found.attention(layer, "mean"))
        assert off.max() <= said["error"]
        assert (off <= np.vectorize(error_of_weight)(mean, levels)).all()


def test_a_page_of_all_heads_has_no_mean_of_its_own() -> None:
    meta, _ = unpack(taken(real("bert")).chunks["paint"])
    assert meta["snapshot"]["mean_levels"] is None


def test_the_error_of_a_page_bounds_its_mean_head_too() -> None:
    """A head that looks at one token is coded without an error; the mean of all is not."""
    n = 40
    rows = np.random.default_rng(0).dirichlet(np.ones(n), size=n)
    weights = np.stack([np.eye(n), rows, rows.T / rows.T.sum(axis=1, keepdims=True)])
    found = aw.from_attentions(
        weights[None].astype(np.float32), [f"t{i}" for i in range(n)], tagger=None
    )
    saved = taken(found, heads=[0])
    _, arrays = unpack(saved.chunks["layer-0"])
    whole = 256 * arrays["mean_codes"][0].astype(float) + arrays["mean_fine"][0]
    mean = arrays["mean_largest"][0] * (whole / arrays["mean_levels"][0]) ** 2
    assert np.abs(mean - found.attention(0, "mean")).max() <= saved.error


@pytest.mark.parametrize("kind", ["modernbert", "golden causal"])
def test_what_the_mask_forbids_is_forbidden_in_the_page(kind: str) -> None:
    found = real(kind)
    saved = taken(found)
    masks = [found.trace.allowed(layer) for layer in range(found.n_layers)]
    assert any(mask is not None and not mask.all() for mask in masks)
    for layer, mask in enumerate(masks):
        _, arrays = unpack(saved.chunks[f"layer-{layer}"])
        kept = arrays.get("allowed", np.ones((found.n_tokens,) * 2))
        np.testing.assert_array_equal(kept != 0, True if mask is None else mask)


def test_scores_that_queries_and_keys_do_not_make_are_saved_as_weights() -> None:
    held = causal_analysis()
    assert held.trace.has_qkv
    assert taken(held).code == "weights"


def test_a_snapshot_of_some_heads_selects_one_of_them() -> None:
    saved = snapshot(
        real("embedded"),
        layers=[2, 4],
        heads=[7],
        views=["tree"],
        selection={"layer": 0, "head": 3},
        title="",
    )
    meta, arrays = unpack(saved.chunks["paint"])
    assert (meta["snapshot"]["selection"]["layer"], meta["snapshot"]["selection"]["head"]) == (2, 7)
    assert sorted(saved.chunks) == ["layer-2", "layer-4", "paint"]
    assert "weights" not in arrays


def test_codes_are_whole_numbers_that_three_bytes_hold() -> None:
    found = real("embedded")
    q, k = 1000 * found.queries(0, 0), 1000 * found.keys(0, 0)
    scaling = found.trace.scaling(0)
    scores = q @ k.T * np.float32(scaling)
    weights = softmax(scores).astype(np.float32)
    both = [
        encode_factors(q, k, scaling, scores=scores, weights=weights),
        *encode_scores(q[None], k[None], scaling, scores=scores[None], weights=weights[None]),
    ]
    for coded in both:
        assert coded.queries.dtype == coded.keys.dtype == np.int32
        assert max(np.abs(coded.queries).max(), np.abs(coded.keys).max()) < 2**23


def test_chunks_are_packed_about_as_small_as_the_better_way_makes_them() -> None:
    rng = np.random.default_rng(0)
    weights = np.rint(255 * np.sqrt(rng.dirichlet(np.full(300, 0.3), 300))).astype(np.uint8)
    text = b"the cat sat on the mat, " * 9000
    chunks = [weights.tobytes(), text, rng.bytes(100_000), b"", b"a"]
    for data in chunks:
        assert zlib.decompress(compress.packed(data), -zlib.MAX_WBITS) == data
    shares = [len(compress.packed(data)) / len(zlib.compress(data)[2:-4]) for data in chunks]
    assert shares[0] < 0.95  # by pieces
    assert shares[1] == 1  # as a whole: repetitions reach over pieces
    assert shares[2] < 1 + 16 / compress.PIECE  # noise: no more than the ends of its pieces
    many = chunks * 3  # shared by the cores
    assert [*compress.deflate_all(many)] == [compress.deflate(data) for data in many]
    assert sum(map(len, many)) > compress.SHARED_FROM
