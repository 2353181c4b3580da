"""Pyramid, tiles and strongest links against numpy on the full matrix."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.analysis.long.detail import Matrix, levels_of_detail
from attn_widget.errors import NotAvailableError
from attn_widget.figures.long import pooled, strongest_links
from attn_widget.figures.long.pyramid import (
    FINEST_KEPT,
    TILE,
    assemble,
    block_part,
    coarsest_level,
    tiles_of,
    tokens_of_tile,
)
from attn_widget.protocol import answer as protocol
from attn_widget.trace.base import BLOCK_ROWS, Area
from tests.close import assert_close
from tests.unit import tiny_models

WORDS = ["the", "cat", "sat", "on", "the", "mat", ",", "and", "it", "looked", "at", "a", "bird"]
WORDS_READ = 1100  # levels 0 to 3, and blocks that are cut at every edge


def by_hand(matrix: NDArray[np.float32], level: int, pooling: str) -> NDArray[np.float32]:
    """Every block of the matrix, padded to whole blocks; NaN cells are forbidden."""
    size = 2**level
    side = -(-len(matrix) // size)
    padded = np.full((side * size, side * size), np.nan)
    padded[: len(matrix), : len(matrix)] = matrix
    blocks = padded.reshape(side, size, side, size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # blocks of NaN alone
        found = (np.nanmax if pooling == "max" else np.nanmean)(blocks, axis=(1, 3))
    return found.astype(np.float32)


@cache
def modern(n: int = WORDS_READ) -> Analysis:
    """Every third layer looks at the whole text, the others through a window of 128 tokens."""
    model = tiny_models.build("modernbert", max_position_embeddings=2048)
    text = " ".join(WORDS[i % len(WORDS)] for i in range(n - 2))
    return aw.analyze(text, model=model, progress=False)


def full(analysis: Analysis, matrix: Matrix) -> NDArray[np.float32]:
    """The whole matrix in the blocks of rows that everything is computed in; NaN where forbidden."""
    n, trace = analysis.trace.n_tokens, analysis.trace
    whole = np.zeros((n, n), dtype=np.float32)
    head = matrix.head
    for area in trace.row_blocks(matrix.layer):
        if matrix.quantity == "scores":
            assert head != "mean"
            whole[area] = trace.scores(matrix.layer, head, area.rows, area.cols)
        elif head == "mean":
            whole[area] = trace.weights(matrix.layer, "mean", area.rows, area.cols)
        else:
            ((_, block),) = trace.head_blocks(matrix.layer, head, [area])
            whole[area] = block
    allowed = trace.allowed(matrix.layer)
    return whole if allowed is None else np.where(allowed, whole, np.float32(np.nan))


@pytest.mark.parametrize("quantity", ["weights", "scores"])
@pytest.mark.parametrize("layer", [0, 1])
def test_every_tile_of_every_level_is_numpys_on_the_full_matrix(quantity: str, layer: int) -> None:
    analysis = modern()
    matrix = Matrix(quantity, layer, 1)  # pyright: ignore[reportArgumentType]
    whole, levels = full(analysis, matrix), levels_of_detail(analysis)
    n = analysis.trace.n_tokens
    assert coarsest_level(n) == 3
    for level in range(4):
        tiles = range(tiles_of(n, level))
        for pooling in ("max", "mean"):
            expected = by_hand(whole, level, pooling)
            found = np.block(
                [[levels.tile(matrix, level, i, j, pooling) for j in tiles] for i in tiles]
            )
            if pooling == "max" or level == 0:
                np.testing.assert_array_equal(found, expected)
            else:
                assert_close(found, expected, terms=4**level, size=np.nan_to_num(whole))


def test_the_full_matrix_in_blocks_is_the_matrix_of_the_trace() -> None:
    analysis = modern()
    for layer in (0, 1):
        whole = np.nan_to_num(full(analysis, Matrix("weights", layer, 0)))
        assert_close(whole, analysis.attention(layer, 0), terms=32)


def test_the_mean_head_has_the_same_levels() -> None:
    analysis = modern()
    matrix = Matrix("weights", 1, "mean")
    found = levels_of_detail(analysis).pyramid(matrix)
    whole = full(analysis, matrix)
    for level in (3,):
        assert_close(found.maximum[level], by_hand(whole, level, "max"), terms=32)
        assert_close(found.mean[level], by_hand(whole, level, "mean"), terms=32)


def test_what_is_known_of_the_matrix_as_a_whole() -> None:
    analysis = modern()
    found = levels_of_detail(analysis).pyramid(Matrix("weights", 1, 0))
    whole = full(analysis, Matrix("weights", 1, 0))
    assert found.largest == np.nanmax(whole) and found.smallest == 0
    scores = full(analysis, Matrix("scores", 1, 0))
    signed = levels_of_detail(analysis).pyramid(Matrix("scores", 1, 0))
    assert (signed.largest, signed.smallest) == (np.nanmax(scores), np.nanmin(scores))
    assert found.word_max == np.nanmax(whole[1:-1, 1:-1])
    # Of the queries that may look at a key.
    assert_close(found.received, np.nanmean(whole, axis=0), terms=len(whole))


@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 511, 513, 1025])
def test_edges_of_any_length(n: int) -> None:
    weights = np.random.default_rng(n).dirichlet(np.ones(n), size=n).astype(np.float32)
    coarsest, words = coarsest_level(n), np.zeros(n, dtype=bool)
    parts = [
        block_part(
            Area(slice(a, min(a + BLOCK_ROWS, n)), slice(0, n)),
            weights[a : a + BLOCK_ROWS], min(FINEST_KEPT, coarsest), None, words,
        )
        for a in range(0, n, BLOCK_ROWS)
    ]  # fmt: skip
    found = assemble(parts, n, None, words)
    assert -(-n >> coarsest) <= TILE and found.coarsest == coarsest
    assert tokens_of_tile(coarsest, 0, n) == slice(0, n)
    for level, maximum in found.maximum.items():
        np.testing.assert_array_equal(maximum, by_hand(weights, level, "max"))
        assert_close(found.mean[level], by_hand(weights, level, "mean"), terms=4**level)


def test_a_window_may_begin_inside_a_block() -> None:
    matrix = np.random.default_rng(0).random((8, 20)).astype(np.float32)
    padded = np.full((8, 23), -np.inf, dtype=np.float32)
    padded[:, 3:] = matrix
    np.testing.assert_array_equal(
        pooled(matrix, None, 2, "max", first=3), pooled(padded[:, :23], None, 2, "max")
    )


def links_by_hand(
    matrix: NDArray[np.float32], is_special: NDArray[np.bool_], count: int, **skip: bool
) -> list[tuple[int, int]]:
    n = len(matrix)
    found = [
        (-float(matrix[i, j]), i, j)
        for i in range(n)
        for j in range(n)
        if not np.isnan(matrix[i, j])
        and not (skip["special"] and (is_special[i] or is_special[j]))
        and not (skip["neighbors"] and abs(i - j) == 1)
        and not (skip["itself"] and i == j)
    ]
    return [(i, j) for _, i, j in sorted(found)[:count]]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("neighbors", [False, True])
@pytest.mark.parametrize("itself", [False, True])
@pytest.mark.parametrize("layer", [0, 1])
def test_strongest_links_leave_out_what_is_chosen(
    layer: int, special: bool, neighbors: bool, itself: bool
) -> None:
    analysis = modern(180)
    matrix = Matrix("weights", layer, 0)
    tokens = np.array([token.special for token in analysis.trace.tokens])
    found = levels_of_detail(analysis).links(
        matrix, 40, least=-np.inf, special=not special, neighbors=not neighbors, itself=not itself
    )
    expected = links_by_hand(
        full(analysis, matrix), tokens, 40, special=special, neighbors=neighbors, itself=itself
    )
    assert list(zip(found.queries.tolist(), found.keys.tolist(), strict=True)) == expected


def test_links_from_a_weight_on_are_counted() -> None:
    analysis = modern(180)
    matrix = Matrix("weights", 0, 0)
    whole = full(analysis, matrix)
    found = levels_of_detail(analysis).links(
        matrix, 5, least=0.006, special=True, neighbors=True, itself=True
    )
    assert found.total == int((whole >= np.float32(0.006)).sum()) > 5
    assert len(found.weights) == 5 and (np.diff(found.weights) <= 0).all()


def test_of_many_equal_links_the_first_are_kept() -> None:
    equal = np.full((300, 300), 1 / 300, dtype=np.float32)
    blocks = [(Area(slice(a, a + 100), slice(0, 300)), equal[a : a + 100]) for a in (0, 100, 200)]
    found = strongest_links(blocks, 4)
    assert found.queries.tolist() == [0, 0, 0, 0] and found.keys.tolist() == [0, 1, 2, 3]
    assert found.total == 90_000


# The slices


def asked(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], dict[str, Any], int]:
    reply, buffers = protocol.answer(analysis, request)
    arrays = {
        found["name"]: np.frombuffer(buffer, dtype=found["dtype"]).reshape(found["shape"])
        for found, buffer in zip(reply.get("arrays", []), buffers, strict=True)
    }
    return reply, arrays, sum(len(buffer) for buffer in buffers)


def test_no_answer_about_a_long_text_is_larger_than_one_megabyte() -> None:
    analysis = modern()
    reply, arrays, size = asked(analysis, kind="pyramid", layer=1, head=0)
    assert reply["ok"] and size <= 1_000_000
    assert reply["data"]["masked"] is True and reply["data"]["coarsest"] == 3
    side = -(-analysis.trace.n_tokens // 8)
    assert arrays["max"].shape == (side, side)
    assert arrays["received"].shape == (analysis.trace.n_tokens,)
    assert np.isnan(arrays["max"][0, -1]), "far away the mask forbids everything"
    reply, arrays, size = asked(
        analysis, kind="tile", layer=1, head=0, level=0, row=1, col=1, pooling="max"
    )
    assert reply["ok"] and size == 4 * TILE * TILE
    expected = full(analysis, Matrix("weights", 1, 0))[256:512, 256:512]
    np.testing.assert_array_equal(arrays["tile"], expected)
    reply, arrays, _ = asked(analysis, kind="links", layer=1, head=0, count=7, special=False)
    assert reply["ok"] and len(arrays["weights"]) == 7 and reply["data"]["total"] > 7


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"kind": "tile", "layer": 9, "head": 0}, "layer 9 is out of range"),
        ({"kind": "tile", "level": 4}, "level 4 is out of range"),
        ({"kind": "tile", "row": 6}, "row 6 is out of range"),
        ({"kind": "tile", "col": -1}, "col -1 is out of range"),
        ({"kind": "tile", "row": "0"}, "row must be an integer"),
        ({"kind": "tile", "pooling": "median"}, "pooling is 'median'"),
        ({"kind": "tile", "quantity": "alti"}, "quantity is 'alti'"),
        ({"kind": "tile", "quantity": "scores", "head": "mean"}, "has no scores"),
        ({"kind": "links", "count": 501}, "count 501 is out of range"),
        ({"kind": "links", "least": "much"}, "least must be a number"),
        ({"kind": "links", "least": float("nan")}, "least must be a number"),
        ({"kind": "links", "special": 1}, "special must be true or false"),
    ],
)
def test_requests_that_make_no_sense_are_refused_in_words(
    request_: dict[str, Any], words: str
) -> None:
    base = {"layer": 0, "head": 0, "level": 0, "row": 0, "col": 0, "pooling": "max"}
    reply, _, _ = asked(modern(), **{**base, **request_})
    assert not reply["ok"] and words in reply["error"], reply


def test_a_rollout_of_a_long_text_is_refused_before_it_fills_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("attn_widget.analysis.long.detail.ROLLOUT_TOKENS", 179)
    with pytest.raises(NotAvailableError, match="more than 179 tokens"):
        levels_of_detail(modern(180)).pyramid(Matrix("rollout", 1, "mean"))
    reply, _ = protocol.answer(modern(180), {"kind": "rollout", "layer": 1, "rows": [3, 4]})
    assert not reply["ok"] and "more than 179 tokens" in reply["error"], reply


def test_a_rollout_has_levels_too() -> None:
    analysis = modern(180)
    found = levels_of_detail(analysis).pyramid(Matrix("rollout", 1, "mean"))
    np.testing.assert_array_equal(found.maximum[0], analysis.rollout(1))
