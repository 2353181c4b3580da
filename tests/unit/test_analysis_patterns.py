"""Positional patterns: the token before, the token after, and where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from attn_widget import analyze
from attn_widget.figures.choice import Choice
from attn_widget.figures.marginals import layer_marginals, stack_marginals
from attn_widget.figures.patterns import KEYS, Patterns, head_patterns
from attn_widget.protocol import answer as protocol
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.reference.samples import KINDS, SIZES, attention, layers

Masks = list[np.ndarray | None]


def wanted(key: str, kinds: list[int]) -> Callable[[int, int], bool]:
    """Whether a cell counts for a pattern, from its definition."""
    return {
        "previous": lambda i, j: j == i - 1,
        "next": lambda i, j: j == i + 1,
        "duplicate": lambda i, j: j < i and kinds[j] == kinds[i],
        "induction": lambda i, j: 1 <= j <= i and kinds[j - 1] == kinds[i],
    }[key]


def patterns(
    weights: np.ndarray, allowed: Masks | None = None, kinds: np.ndarray | None = None
) -> Patterns:
    masks = allowed or [None] * len(weights)
    n = weights.shape[-1]
    kinds = np.arange(n, dtype=np.int32) if kinds is None else kinds
    queries = [None if mask is None else Choice(mask, n).queries for mask in masks]
    stacked = stack_marginals(
        [
            layer_marginals(layer, chosen, kinds)
            for layer, chosen in zip(weights, queries, strict=True)
        ]
    )
    return head_patterns(stacked, masks, kinds)


@pytest.mark.parametrize("n", [*SIZES, 512])
@pytest.mark.parametrize("kind", KINDS)
def test_they_agree_with_the_definition(kind: str, n: int) -> None:
    weights, allowed = attention(kind, n, heads=1)
    kinds = np.random.default_rng(n).integers(0, max(n // 2, 1), n).astype(np.int32)
    found = patterns(weights[None], [allowed], kinds)
    mask = None if allowed is None else allowed.tolist()
    assert found.keys == ("previous", "next", "duplicate", "induction")
    for key in found.keys:
        mean = naive.mean_of_cells if key in ("previous", "next") else naive.mean_of_sums
        expected = mean(weights[0].tolist(), wanted(key, kinds.tolist()), mask)
        assert_close(float(found.values[key][0, 0]), expected[0], terms=n, size=1)
        assert_close(float(found.chance[key][0]), expected[1], terms=n, size=1)


def test_a_head_that_looks_one_token_back_has_one() -> None:
    back = np.eye(6, k=-1, dtype=np.float32)
    back[0, 0] = 1
    found = patterns(back[None, None])
    assert found.previous.tolist() == [[1.0]] and found.next.tolist() == [[0.0]]


def test_uniform_attention_is_at_chance() -> None:
    found = patterns(np.full((2, 3, 7, 7), 1 / 7, np.float32))
    for key in ("previous", "next"):
        assert found.values[key].shape == (2, 3)
        assert_close(found.values[key], 1 / 7, terms=7)
        assert found.chance_of(key) == 1 / 7


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
        for key in ("previous", "next"):
            matrix = weights[0, head].tolist()
            expected, _ = naive.mean_of_cells(matrix, wanted(key, []), blocks.tolist())
            assert_close(found.as_dict()[key][0, head], expected, terms=6, size=1)


def test_an_induction_head_and_a_duplicate_head_have_one() -> None:
    kinds = np.array([5, 3, 8, 5, 3, 8], dtype=np.int32)
    causal = np.tri(6, dtype=bool)
    duplicate, induction = np.zeros((2, 6, 6), dtype=np.float32)
    for i in range(6):
        duplicate[i, i - 3 if i >= 3 else 0] = 1
        induction[i, i - 2 if i >= 3 else 0] = 1
    found = patterns(np.stack([duplicate, induction])[None], [causal], kinds)
    assert found.duplicate.tolist() == [[1, 0]] and found.induction.tolist() == [[0, 1]]
    # Three queries repeat a token; of four, five and six possible keys one is right.
    assert found.chance_of("induction") == pytest.approx((1 / 4 + 1 / 5 + 1 / 6) / 3)


def test_a_text_without_a_repeated_token_has_no_duplicate() -> None:
    found = patterns(layers(5))
    assert np.isnan(found.duplicate).all() and np.isnan(found.induction).all()
    with pytest.raises(AttributeError, match="Patterns has no 'rest'; it has previous, next"):
        _ = found.rest


def test_an_analysis_has_them_and_answers_for_them() -> None:
    a = analyze("the cat sat on the mat", progress=False, tagger=None)
    kinds = [token.id for token in a.tokens]
    reply, buffers = protocol.answer(a, {"kind": "patterns"})
    assert reply["ok"] and reply["data"]["keys"] == list(a.heads.patterns.keys) == list(KEYS[:4])
    assert reply["data"]["chance"] == {
        key: a.heads.patterns.chance_of(key) for key in a.heads.patterns.keys
    }
    for array, buffer in zip(reply["arrays"], buffers, strict=True):
        key = array["name"].removeprefix("pattern:")
        sent = np.frombuffer(buffer, np.float32).reshape(array["shape"])
        assert np.array_equal(sent, a.heads.patterns.as_dict()[key])
        for layer, head in ((0, 0), (3, 5), (5, 11)):
            matrix = a.attention(layer, head).tolist()
            mean = naive.mean_of_cells if key in ("previous", "next") else naive.mean_of_sums
            expected, chance = mean(matrix, wanted(key, kinds))
            assert_close(sent[layer, head], expected, terms=len(matrix), size=1)
            assert reply["data"]["chance"][key] == pytest.approx(chance)
    assert list(a.heads.patterns.to_dataframe()) == ["layer", "head", *a.heads.patterns.keys]
