"""Heads of a long text in a saved page: chunks of their own, by the documented layout, against the whole matrix."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.page.encodings import long
from attn_widget.page.encodings.long import places_of_largest
from attn_widget.page.snapshot import Snapshot, snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.pack import unpack
from attn_widget.trace.windows.masks import RowSpans
from tests.unit.test_levels_of_detail import by_hand, modern

TOKENS = 1352  # of `modern`
LEVEL, SIDE = 3, 169
Arrays = dict[str, NDArray[Any]]


def taken(found: aw.Analysis, **options: Any) -> Snapshot:
    chosen = {"layer": 0, "head": 0, "token": 5, "quantity": "weights", **options.pop("chosen", {})}
    return snapshot(found, chosen, PageSpec(views=["attention"], **options))


def about(saved: Snapshot) -> dict[str, Any]:
    return unpack(saved.chunks["paint"])[0]["snapshot"]


@cache
def weights_alone() -> aw.Analysis:
    """Two heads of outside, causal, without queries and keys."""
    rng = np.random.default_rng(0)
    rows = np.tril(rng.gamma(0.2, size=(2, TOKENS, TOKENS)) + 1e-6)
    weights = (rows / rows.sum(axis=-1, keepdims=True)).astype(np.float32)
    return aw.from_attentions(
        weights[None],
        [f"t{i}" for i in range(TOKENS)],
        allowed=np.tri(TOKENS, dtype=bool),
        tagger=None,
    )


def mask_of(arrays: Arrays, n: int = TOKENS) -> NDArray[np.bool_] | None:
    """As the documents say: differences from row to row, and keys that all rows allow; or bits."""
    if "mask_bits" in arrays:
        bits = np.unpackbits(arrays["mask_bits"], axis=1, bitorder="little")
        return bits[:, :n].astype(bool)
    if "mask_start" not in arrays:
        return None
    start, stop = (np.cumsum(arrays[f"mask_{end}"]) for end in ("start", "stop"))
    keys = np.arange(n)
    found = (keys >= start[:, None]) & (keys < stop[:, None])
    return found | (arrays["mask_common"] != 0) if "mask_common" in arrays else found


def scores_of(arrays: Arrays) -> NDArray[np.float32]:
    rank = int(arrays["rank"][0])
    zigzag = arrays["low"].astype(int) + 256 * arrays["high"].astype(int)
    zigzag += 65536 * arrays.get("top", np.zeros_like(arrays["low"])).astype(int)
    values = np.where(zigzag % 2 == 1, -(zigzag + 1) // 2, zigzag // 2).reshape(2, rank, TOKENS)
    found = arrays["step"][0] ** 2 * values[0].T @ values[1] + arrays["shift"][:, None]
    mask = mask_of(arrays)
    return (found if mask is None else np.where(mask, found, -np.inf)).astype(np.float32)


@pytest.mark.parametrize("fineness", [0.0002, 0.05])
def test_scores_and_weights_of_every_head_are_as_exact_as_the_page_states(fineness: float) -> None:
    found = modern()
    for layer in range(found.trace.n_layers):
        heads = range(found.trace.n_heads)
        encoded = long.encode_layer(found, layer, heads, ("qk", fineness))
        # The step is chosen by sampled rows, with a reserve of a tenth; the page states what is measured on all.
        assert max(encoded.score_errors) <= 1.1 * fineness
        for head in heads:
            _, arrays = unpack(encoded.chunks[f"head-{layer}-{head}"])
            scores = scores_of(arrays)
            exact = found.scores(layer, head)
            np.testing.assert_array_equal(np.isfinite(scores), np.isfinite(exact))
            possible = np.isfinite(exact)
            off = np.abs(scores[possible] - exact[possible])
            assert off.max() <= encoded.score_errors[head]
            weights = np.exp(scores.astype(float) - arrays["log_total"][:, None])
            np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
            assert np.abs(weights - found.attention(layer, head)).max() <= encoded.errors[head]


def test_the_page_of_a_long_text_holds_no_matrix() -> None:
    found = modern()
    saved = taken(found)
    layers, heads = range(found.trace.n_layers), range(found.trace.n_heads)
    names = {f"head-{layer}-{head}" for layer in layers for head in (*heads, "mean")}
    assert set(saved.chunks) == {"paint", *names}
    assert list(saved.chunks)[:2] == ["paint", "head-0-0"]
    for name in names:
        _, arrays = unpack(saved.chunks[name])
        assert max((array.size for array in arrays.values()), default=0) < TOKENS**2 / 4
    assert saved.error <= 0.005
    assert about(saved)["rollout_error"] == saved.rollout_error is not None


@pytest.mark.parametrize("code", ["qk", "weights"])
@pytest.mark.parametrize("head", [1, "mean"])
def test_the_coarsest_level_is_that_of_the_weights_that_a_reader_sees(
    monkeypatch: pytest.MonkeyPatch, code: str, head: Any
) -> None:
    monkeypatch.setattr(long, "DETAIL_FROM", 1024)
    found = modern()
    heads = range(found.trace.n_heads)
    for layer in (0, 1):
        encoded = long.encode_layer(
            found, layer, heads, (code, 0.0002 if code == "qk" else 65535), mean=True
        )
        meta, arrays = unpack(encoded.chunks[f"head-{layer}-{head}"])
        exact = found.attention(layer, head)
        mask = found.trace.allowed(layer)
        exact = exact if mask is None else np.where(mask, exact, np.nan)
        assert (meta["coarsest"], meta["masked"]) == (LEVEL, mask is not None)
        worst = 2 * max(encoded.errors)
        np.testing.assert_allclose(arrays["mean"], by_hand(exact, LEVEL, "mean"), atol=worst)
        most = by_hand(exact, LEVEL, "max")
        if code == "weights":
            np.testing.assert_allclose(arrays["max"], most, atol=worst)
        else:
            place = arrays["places"].astype(int) + 256 * arrays["places_high"].astype(int)
            row, column = np.indices((SIDE, SIDE)) << LEVEL
            cells = exact[row + (place >> LEVEL), column + (place & (1 << LEVEL) - 1)]
            np.testing.assert_allclose(cells, most, atol=worst)
        if head == "mean":
            assert encoded.mean is not None
            assert np.abs(encoded.mean - found.attention(layer, "mean")).max() <= worst


def test_weights_alone_are_saved_by_rows() -> None:
    found = weights_alone()
    saved = taken(found)
    assert saved.code == "weights"
    meta, arrays = unpack(saved.chunks["head-0-1"])
    np.testing.assert_array_equal(mask_of(arrays), np.tri(TOKENS, dtype=bool))
    blocks = [unpack(saved.chunks[f"rows-0-1-{number}"])[1] for number in range(6)]
    assert "rows-0-1-6" not in saved.chunks
    code = np.concatenate([block["codes"] for block in blocks]).astype(float)
    if "fine" in blocks[0]:
        code = 256 * code + np.concatenate([block["fine"] for block in blocks])
    weights = meta["largest_code"] * (code / meta["levels"]) ** 2
    assert np.abs(weights - found.attention(0, 1)).max() <= saved.error


def test_without_all_heads_a_long_text_has_no_mean_head() -> None:
    found = modern()
    saved = taken(found, heads=[1], chosen={"head": "mean"})
    assert not [name for name in saved.chunks if name.endswith("mean")]
    said = about(saved)
    assert said["selection"]["head"] == 1
    assert (said["mean_levels"], said["rollout_error"]) == (None, None)


def test_a_mask_that_is_no_rule_is_saved_in_bits() -> None:
    mask = np.random.default_rng(0).random((TOKENS, TOKENS)) < 0.5
    assert RowSpans.of(mask) is None
    np.testing.assert_array_equal(mask_of(long.mask_arrays(mask)), mask)


def test_the_place_of_the_largest_cell_is_in_a_block_that_may_be_cut() -> None:
    weights = np.arange(3 * 5, dtype=np.float32).reshape(3, 5)
    # Columns 1 to 5 of blocks of two: the first block has one of them.
    assert places_of_largest(weights, 1, 1).tolist() == [[3, 3, 3], [1, 1, 1]]
