"""Positional patterns: the token before, the token after, and where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attn_widget import analyze, from_attentions
from attn_widget.figures.marginals import layer_marginals, stack_marginals
from attn_widget.figures.patterns import KEYS, Patterns, positional_patterns
from attn_widget.protocol import answer as protocol
from tests.reference.samples import KINDS, SIZES, attention, layers

Masks = list[np.ndarray | None]


def naive(matrix: list[list[float]], offset: int, allowed: np.ndarray | None = None) -> float:
    """Mean of ``A[i][i + offset]`` over the queries that have such a key."""
    n = len(matrix)
    queries = [i for i in range(n) if 0 <= i + offset < n]
    seen = [matrix[i][i + offset] for i in queries if allowed is None or allowed[i, i + offset]]
    return sum(seen) / len(seen) if seen else math.nan


def patterns(weights: np.ndarray, allowed: Masks | None = None) -> Patterns:
    stacked = stack_marginals([layer_marginals(layer) for layer in weights])
    return positional_patterns(stacked, allowed or [None] * len(weights))


@pytest.mark.parametrize("n", [*SIZES, 512])
@pytest.mark.parametrize("kind", KINDS)
def test_they_agree_with_the_definition(kind: str, n: int) -> None:
    weights = attention(kind, n, heads=1)[0]
    found = patterns(weights[None])
    for key, offset in (("previous", -1), ("next", 1)):
        expected = naive(weights[0].tolist(), offset)
        got = float(found.as_dict()[key][0, 0])
        assert got == pytest.approx(expected, abs=1e-5, nan_ok=True), key


def test_a_head_that_looks_one_token_back_has_one() -> None:
    back = np.eye(6, k=-1, dtype=np.float32)
    back[0, 0] = 1
    found = patterns(back[None, None])
    assert found.previous.tolist() == [[1.0]] and found.next.tolist() == [[0.0]]


def test_uniform_attention_is_at_chance() -> None:
    found = patterns(np.full((2, 3, 7, 7), 1 / 7, np.float32))
    for values in found.as_dict().values():
        assert values.shape == (2, 3)
        np.testing.assert_allclose(values, 1 / 7, atol=1e-6)


def test_one_token_has_no_neighbors() -> None:
    found = patterns(np.ones((1, 2, 1, 1), np.float32))
    assert all(np.isnan(values).all() for values in found.as_dict().values())


def test_a_neighbor_that_the_mask_forbids_is_na_and_not_zero() -> None:
    causal = np.tril(np.ones((5, 5), dtype=bool))
    weights = layers(5, layers=2) * causal
    weights /= weights.sum(axis=-1, keepdims=True)
    found = patterns(weights, [causal, None])
    assert np.isnan(found.next[0]).all()
    assert found.next[1].tolist() == [0.0] * found.next.shape[1]
    assert np.isfinite(found.previous).all()


def test_only_the_queries_that_may_look_there_are_counted() -> None:
    blocks = np.kron(np.eye(2, dtype=bool), np.ones((3, 3), dtype=bool))  # two texts of 3 tokens
    weights = layers(6, layers=1) * blocks
    weights /= weights.sum(axis=-1, keepdims=True)
    found = patterns(weights, [blocks])
    for head in range(weights.shape[1]):
        for key, offset in (("previous", -1), ("next", 1)):
            expected = naive(weights[0, head].tolist(), offset, blocks)
            assert found.as_dict()[key][0, head] == pytest.approx(expected, abs=1e-6)


def test_an_analysis_has_them_and_answers_for_them() -> None:
    a = analyze("the cat sat on the mat", progress=False, tagger=None)
    reply, buffers = protocol.answer(a, {"kind": "patterns"})
    assert reply["ok"] and reply["data"] == {"keys": list(KEYS), "chance": 1 / a.n_tokens}
    for array, buffer in zip(reply["arrays"], buffers, strict=True):
        key = array["name"].removeprefix("pattern:")
        sent = np.frombuffer(buffer, np.float32).reshape(array["shape"])
        assert np.array_equal(sent, a.patterns.as_dict()[key])
        for layer, head in ((0, 0), (3, 5), (5, 11)):
            matrix = a.attention(layer, head).tolist()
            offset = {"previous": -1, "next": 1}[key]
            assert sent[layer, head] == pytest.approx(naive(matrix, offset), abs=1e-5)
    assert list(a.patterns.to_dataframe()) == ["layer", "head", *KEYS]


def test_words_have_neighbors_too() -> None:
    weights = layers(4, layers=1)
    a = from_attentions(weights, ["un", "##do", "it", "now"], tagger=None)
    merged = a.view(words=True)
    matrix = merged.attention(0, 0).tolist()
    assert len(matrix) == 3
    assert merged.patterns.previous[0, 0] == pytest.approx(naive(matrix, -1), abs=1e-6)
