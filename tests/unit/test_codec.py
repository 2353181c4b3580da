"""The codes of a saved page: what they promise about their errors is kept, on random and on real attention."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.model.tokens import Token
from attn_widget.page import compress
from attn_widget.page.compress import packed
from attn_widget.page.encodings.chunks import (
    Code,
    encode_heads,
    factor_values,
    layer_arrays,
    weight_arrays,
)
from attn_widget.page.encodings.codec import (
    MARGIN,
    MAX_SCORE_ERROR,
    decode_scores,
    encode_weights,
    weight_error,
)
from attn_widget.page.encodings.factors import SHORT_ROW, encode_factors
from attn_widget.page.encodings.planes import planes
from attn_widget.page.snapshot import Snapshot, snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.pack import pack, unpack
from attn_widget.trace.qkv import LayerQKV, QKVTrace
from tests.golden.make import analysis as causal_analysis
from tests.unit.test_long_saved import mask_of as stored_mask
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


def error_of_weight(weight: float, levels: int) -> float:
    """The most that a weight of this size can be off when it is encoded: half a step at its place.

    Largest where the head's largest weight is 1; concave, so that the bound of a mean of weights holds
    for their mean.
    """
    return weight**0.5 / levels + 0.25 / levels**2 + MARGIN * weight


def mask_of(kind: str, n: int) -> Bools | None:
    """Nothing, what comes after a token (decoders), or what is far from it (ModernBERT's local layers)."""
    away = np.subtract.outer(np.arange(n), np.arange(n))
    return {"none": None, "causal": away >= 0, "window": np.abs(away) <= 2}[kind]


@settings(max_examples=60)
@example(
    seed=2, n=200, spread=6.0, levels=65535
)  # off by 0.04% more than stated, encoded in float32
@example(seed=0, n=200, spread=5.0, levels=65535)
@given(st.integers(0, 10**6), SIZES, st.floats(0, 60), st.sampled_from([255, 1023, 4095, 65535]))
def test_no_decoded_weight_is_off_by_more_than_is_said(
    seed: int, n: int, spread: float, levels: int
) -> None:
    # From flat to almost one-hot.
    scores = np.random.default_rng(seed).normal(size=(n, n)) * spread
    weights = softmax(scores).astype(np.float32)
    encoded = encode_weights(weights, levels)
    off = np.abs(encoded.decoded - weights)
    assert off.max() <= encoded.error <= {255: STATED, 1023: 1e-3, 4095: 3e-4, 65535: 2e-5}[levels]
    # Each weight by itself, whichever of the two values a reader starts from.
    bound = np.vectorize(error_of_weight)
    assert (off <= bound(weights, levels)).all()
    assert (off <= bound(encoded.decoded, levels)).all()
    assert ((encoded.decoded > 0) >= (weights > encoded.largest / 4 / levels**2)).all()


MASKS = ("none", "causal", "window")


@settings(max_examples=80)
@given(
    st.integers(0, 10**6),
    SIZES,
    st.integers(1, 12),
    st.lists(st.floats(0.01, 30), min_size=1, max_size=4),
    st.sampled_from([MAX_SCORE_ERROR, 0.02, 0.005, 0.0002]),
    st.sampled_from(MASKS),
    st.booleans(),
    st.booleans(),
)
def test_no_score_or_weight_is_off_by_more_than_is_said(
    seed: int,
    n: int,
    d: int,
    spreads: list[float],
    max_score_error: float,
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
    limits: dict[str, Any] = {
        "max_score_error": max_score_error,
        "scores_up_to": np.inf if as_scores else 0,
    }
    encoded = encode_factors(q, k, d**-0.5, **shown, **limits)
    for head, one in enumerate(encoded):
        possible = np.isfinite(scores[head])
        found = decode_scores(one, None if bias is None else bias[head])
        assert np.abs(found - scores[head])[possible].max(initial=0) <= one.score_error
        read = softmax(np.where(possible, found, -np.inf))
        assert np.abs(read - weights[head]).max() <= one.error <= STATED
        assert np.abs(read - one.decoded).max() <= 1e-7
        assert (read[~possible] == 0).all()
        # The share of a weight that a page takes for its error (js/src/protocol/saved/precision.ts).
        shares = weights[head] * np.expm1(2 * one.score_error) + 1e-7
        assert (np.abs(read - weights[head]) <= shares).all()


def part_of(arrays: dict[str, Any], head: int | slice) -> dict[str, Any]:
    return {name: None if array is None else array[head] for name, array in arrays.items()}


def test_a_head_is_coded_in_company_as_it_is_alone() -> None:
    found = real("embedded")
    trace = found.trace
    layer = [
        [of(2, head) for head in range(found.trace.n_heads)]
        for of in (found.model.queries, found.model.keys)
    ]
    q, k = (np.stack(one) for one in layer)
    shown: dict[str, Any] = {
        "scores": trace.layer_scores(2),
        "weights": trace.layer_weights(2),
    }
    together = encode_factors(q, k, trace.scaling(2), **shown)
    assert len({one.step for one in together}) > 1
    for head, one in enumerate(together):
        part = slice(head, head + 1)
        cut = part_of(shown, part)
        (alone,) = encode_factors(q[part], k[part], trace.scaling(2), **cut)
        assert alone.step == one.step
        np.testing.assert_array_equal(alone.queries, one.queries)


@settings(max_examples=50)
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
    scores = np.full((1, 4, 4), 3, np.float32)
    weights = np.full((1, 4, 4), 0.25, np.float32)
    (encoded,) = encode_factors(
        q[None], q[None], 1.0, scores=scores, weights=weights, scores_up_to=0
    )
    assert encoded.queries.shape == (4, 0)
    np.testing.assert_allclose(decode_scores(encoded), 3)


# Real attention, of every kind of trace.

TEXT = "The trophy does not fit into the brown suitcase because it is too large. It was a gift."
LONG = " ".join(["the old cat sat on a mat near our house while it rained"] * 16)


@cache
def real(kind: str) -> aw.Analysis:
    if kind == "embedded":
        return aw.analyze(TEXT, "It is heavy.", progress=False)
    if kind == "200 tokens":
        found = aw.analyze(" ".join(LONG.split()[:198]), progress=False)
        assert found.trace.n_tokens == 200
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
    "gpt2", "llama", "mistral", "bloom", "gemma2", "gpt_oss", "golden causal", "from_attentions 1", "from_attentions 2", "from_attentions 3",
)  # fmt: skip
FACTORED = ("embedded", "200 tokens", "bert", "roberta", "modernbert", "gpt2", "llama", "mistral")


def taken(found: aw.Analysis, code: Code | None = None, **options: Any) -> Snapshot:
    chosen = {"layer": 0, "head": 0}
    return snapshot(found, chosen, PageSpec(views=["attention"], **options), code=code)


def decoded(arrays: dict[str, Any], prefix: str, head: int) -> Wide:
    """Weights of the cells that the mask allows, row by row."""
    code = arrays[f"{prefix}codes"][head].astype(float)
    if f"{prefix}fine" in arrays:
        code = 256 * code + arrays[f"{prefix}fine"][head]
    return (arrays[f"{prefix}largest"][head] * (code / arrays[f"{prefix}levels"][0]) ** 2).ravel()


def allowed_in(arrays: dict[str, NDArray[Any]], n: int) -> Bools:
    mask = stored_mask(arrays, n)
    return np.ones((n, n), dtype=bool) if mask is None else mask


def heads_read(saved: Snapshot, found: aw.Analysis) -> Iterator[tuple[int, int, Wide, Wide | None]]:
    """Weights and scores of every head out of the documented layout, in a decoder written from its words."""
    for layer in range(found.trace.n_layers):
        _, arrays = unpack(saved.chunks[f"layer-{layer}"])
        yield from (
            (layer, *one) for one in layer_read(arrays, found.trace.n_tokens, found.trace.n_heads)
        )


def layer_read(
    arrays: dict[str, NDArray[Any]], n: int, n_heads: int
) -> Iterator[tuple[int, Wide, Wide | None]]:
    allowed = allowed_in(arrays, n)
    if "codes" in arrays:
        for head in range(n_heads):
            weights = np.zeros((n, n))
            weights[allowed] = decoded(arrays, "", head)
            yield head, weights, None
        return
    zigzag = arrays["low"].astype(int) + 256 * arrays["high"].astype(int)
    zigzag += 65536 * arrays.get("top", np.zeros_like(arrays["low"])).astype(int)
    values = np.where(zigzag % 2 == 1, -(zigzag + 1) // 2, zigzag // 2)
    for head, product in enumerate(products_read(arrays, values, allowed, n_heads)):
        scores = arrays["step"][head] ** 2 * product + arrays["shift"][head][:, None]
        if "bias" in arrays:
            scores = scores + arrays["bias"][head]
        scores = np.where(allowed, scores, -np.inf)
        yield head, softmax(scores), scores


def products_read(
    arrays: dict[str, NDArray[Any]], values: NDArray[np.int_], allowed: Bools, n_heads: int
) -> Iterator[Wide]:
    n = len(allowed)

    def taken(count: int) -> NDArray[np.int_]:
        nonlocal values
        part, values = values[:count], values[count:]
        return part

    keys: dict[int, Wide] = {}
    gaps, exponents = arrays.get("gaps", np.empty(0, int)), arrays.get("exponents")
    for head in range(n_heads):
        rank = int(arrays["rank"][head])
        product = np.zeros((n, n))
        if rank < 0:
            product.T[allowed.T] = taken(allowed.sum())
        elif exponents is None:
            queries, of_keys = taken(2 * rank * n).reshape(2, rank, n)
            product = (queries.T @ of_keys).astype(float)
        else:
            owner = arrays["keys_of"][head]
            queries = np.zeros((rank, n))
            has = arrays["has_query"][head] > 0
            queries[:, has] = taken(rank * has.sum()).reshape(rank, has.sum())
            if owner == head:
                keys[head] = np.zeros((rank, n))
                has = arrays["has_key"][head] > 0
                keys[head][:, has] = taken(rank * has.sum()).reshape(rank, has.sum())
            product = queries.T @ (2.0 ** exponents[:rank, None] * keys[owner])
            exponents = exponents[rank:]
            mine, gaps = np.split(gaps, [arrays["gap_bytes"][head]])
            at = np.cumsum(np.where(mine == 255, 255, mine.astype(int) + 1))[mine != 255] - 1
            places = np.flatnonzero(allowed)[at]
            product.ravel()[places] += arrays["every"][head] * taken(len(places))
        yield product
    assert not len(values) and not len(gaps)


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
    for layer in range(found.trace.n_layers):
        _, arrays = unpack(saved.chunks[f"layer-{layer}"])
        assert arrays["mean_levels"][0] == levels
        mean = np.zeros((found.trace.n_tokens,) * 2)
        mean[allowed_in(arrays, found.trace.n_tokens)] = decoded(arrays, "mean_", 0)
        off = np.abs(mean - found.attention(layer, "mean"))
        assert off.max() <= said["error"]
        assert (off <= np.vectorize(error_of_weight)(mean, levels)).all()


def test_a_page_of_all_heads_has_no_mean_of_its_own() -> None:
    meta, _ = unpack(taken(real("bert")).chunks["paint"])
    assert meta["snapshot"]["mean_levels"] is None


def test_the_error_of_a_page_bounds_its_mean_head_too() -> None:
    """A head that looks at one token is encoded without an error; the mean of all is not."""
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
    masks = [found.trace.allowed(layer) for layer in range(found.trace.n_layers)]
    assert any(mask is not None and not mask.all() for mask in masks)
    for layer, mask in enumerate(masks):
        _, arrays = unpack(saved.chunks[f"layer-{layer}"])
        kept = allowed_in(arrays, found.trace.n_tokens)
        np.testing.assert_array_equal(kept, True if mask is None else mask)


def run_of(q: Floats, k: Floats, allowed: Bools | None) -> aw.Analysis:
    """A layer with these queries [H, n, d] and keys [H or fewer, n, d]."""
    tokens = [Token(f"t{i}", i, i, i + 1, f"t{i}", special=False) for i in range(q.shape[1])]
    mask = None if allowed is None else torch.from_numpy(allowed)[None]
    of_keys = torch.from_numpy(k)
    layer = LayerQKV(torch.from_numpy(q), of_keys, of_keys, q.shape[2] ** -0.5, allowed=mask)
    return aw.Analysis(QKVTrace(tokens, [layer]), tagger=None)


def arrays_of(run: aw.Analysis, max_score_error: float) -> tuple[dict[str, Any], list[Any]]:
    heads = list(range(run.trace.n_heads))
    encoded = encode_heads(run, 0, heads, ("qk", max_score_error))
    return layer_arrays(run, 0, heads, encoded), encoded


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, 2]),
    SIZES,
    st.integers(1, 12),
    st.sampled_from([0.0, 0.01, 1.0, 30.0]),
    st.sampled_from([MAX_SCORE_ERROR, 0.005, 0.0002]),
    st.sampled_from(["causal", "window"]),
)
def test_grouped_heads_under_a_mask_keep_the_errors_that_are_said(
    seed: int, groups: int, size: int, n: int, d: int, spread: float, limit: float, mask: str
) -> None:
    """Against what the kernel shows; queries of some tokens are longer than those of others."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(groups * size, n, d)) * spread * rng.exponential(size=(1, n, 1))
    k = rng.normal(size=(groups, n, d)) + 5 * rng.normal(size=(groups, 1, d))
    allowed = mask_of(mask, n)
    assert allowed is not None
    run = run_of(q.astype(np.float32), k.astype(np.float32), allowed)
    arrays, encoded = arrays_of(run, limit)
    read = list(layer_read(arrays, n, run.trace.n_heads))
    for (head, weights, scores), one in zip(read, encoded, strict=True):
        own = run.scores(0, head)
        assert scores is not None
        off = np.abs(scores[allowed] - own[allowed])
        assert off.max() <= one.score_error <= limit + 1e-6 * np.abs(own[allowed]).max()
        assert np.abs(weights - run.attention(0, head)).max() <= one.error <= STATED
        page = softmax(scores.astype(np.float32))
        assert np.abs(page - one.decoded).max() <= 1e-7


def test_a_causal_page_has_the_keys_of_a_group_once_and_corrects_few_of_its_cells() -> None:
    """The bytes of a layer at 512 tokens, in shares of those without a mask; weights are as exact in both."""
    rng = np.random.default_rng(0)
    q, k = (rng.normal(size=(count, 512, 64)).astype(np.float32) for count in (3, 1))
    q *= 2
    shares: dict[str, float] = {}
    for name, keys in (("grouped", k), ("own", np.concatenate([k, k[:, ::-1], -k]))):
        found = [arrays_of(run_of(q, keys, allowed), 0.005) for allowed in (None, np.tri(512) > 0)]
        (whole, _), (causal, encoded) = found
        shares[name] = len(packed(pack({}, causal))) / len(packed(pack({}, whole)))
        assert max(one.error for one in encoded) <= 0.00125
        factors = encoded[0].has_query[:, None] & encoded[0].has_key
        cells = np.tri(512) > 0
        assert len(encoded[0].corrections) - (cells & ~factors).sum() < 0.01 * cells.sum()
    assert shares["grouped"] <= 0.6 < shares["own"] <= 0.9, shares


@pytest.mark.parametrize("code", ["qk", "weights"])
def test_a_head_has_no_bytes_for_what_a_causal_mask_forbids(code: str) -> None:
    """The same queries and keys take little more than half with the mask."""
    n, d = 100, 64
    q, k = np.random.default_rng(0).normal(size=(2, 1, n, d)).astype(np.float32)
    sizes: list[int] = []
    for allowed in (None, np.tri(n, dtype=bool)):
        scores = q @ k.transpose(0, 2, 1) * np.float32(d**-0.5)
        scores[:, ~np.broadcast_to(True if allowed is None else allowed, (n, n))] = -np.inf
        weights = softmax(scores[0]).astype(np.float32)
        if code == "weights":
            arrays = weight_arrays([encode_weights(weights, 65535)], allowed)
        else:
            limit: dict[str, Any] = {"max_score_error": 0.0002}
            (one,) = encode_factors(q, k, d**-0.5, scores=scores, weights=weights[None], **limit)
            arrays = planes(np.concatenate([*factor_values(one, allowed)]))
        sizes.append(sum(len(zlib.compress(array.tobytes())) for array in arrays.values()))
    assert sizes[1] <= 0.55 * sizes[0], sizes


def test_a_short_row_has_no_shift_where_a_mask_makes_it_short() -> None:
    """At 20 tokens the shifts of a causal head take more bytes than they save; those of an unmasked head stay."""
    n, d = 24, 64
    q, k = np.random.default_rng(0).normal(size=(2, 1, n, d)).astype(np.float32)
    k += 1  # rows whose means are far from zero
    for allowed in (np.ones((n, n), dtype=bool), np.tri(n, dtype=bool)):
        scores = q @ k.transpose(0, 2, 1) * np.float32(d**-0.5)
        scores[:, ~allowed] = -np.inf
        weights = softmax(scores[0]).astype(np.float32)
        (one,) = encode_factors(q, k, d**-0.5, scores=scores, weights=weights[None])
        short = allowed.sum(axis=1) <= SHORT_ROW
        assert not one.shift[short].any()
        assert one.shift[~short].all()
        seen = one.step**2 * one.queries + one.shift[:, None]
        assert np.abs(seen - scores[0])[allowed].max() <= one.score_error <= MAX_SCORE_ERROR


def test_scores_that_queries_and_keys_do_not_make_are_saved_as_weights() -> None:
    held = causal_analysis()
    assert held.trace.has_qkv
    assert taken(held).code == "weights"


def test_a_snapshot_of_some_heads_selects_one_of_them() -> None:
    saved = snapshot(
        real("embedded"),
        {"layer": 0, "head": 3},
        PageSpec(layers=[2, 4], heads=[7], views=["tree"]),
    )
    meta, arrays = unpack(saved.chunks["paint"])
    assert (meta["snapshot"]["selection"]["layer"], meta["snapshot"]["selection"]["head"]) == (2, 7)
    assert sorted(saved.chunks) == ["layer-2", "layer-4", "paint"]
    assert "weights" not in arrays


def test_codes_are_whole_numbers_that_three_bytes_hold() -> None:
    found = real("embedded")
    q, k = 1000 * found.model.queries(0, 0), 1000 * found.model.keys(0, 0)
    scaling = found.trace.scaling(0)
    scores = q @ k.T * np.float32(scaling)
    weights = softmax(scores).astype(np.float32)
    shown: dict[str, Any] = {"scores": scores[None], "weights": weights[None]}
    for limit in (0, np.inf):
        (encoded,) = encode_factors(q[None], k[None], scaling, **shown, scores_up_to=limit)
        assert (encoded.keys is None) == (limit > 0)
        for side in (encoded.queries, encoded.keys):
            assert side is None or (side.dtype == np.int32 and np.abs(side).max() < 2**23)


def test_chunks_are_packed_as_zlib_packs_them_on_however_many_cores() -> None:
    chunks = [
        b"the cat sat on the mat, " * 9000,
        np.random.default_rng(0).bytes(400_000),
        b"",
        b"a",
    ]
    for data in chunks:
        assert compress.packed(data) == zlib.compress(data)[2:-4]
        assert zlib.decompress(compress.packed(data), -zlib.MAX_WBITS) == data
    assert sum(map(len, chunks)) > compress.SHARED_FROM
    assert [*compress.deflate_all(chunks)] == [compress.deflate(data) for data in chunks]
