"""Attention between words, with and without special tokens."""

from __future__ import annotations

import numpy as np
import pytest
from attn_widget.analysis.model.first_token import sum_positions
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_widget.analysis.merge import (
    MERGED_ID,
    MergedTrace,
    group_tokens,
    merge_language,
    merge_weights,
)
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.language import Language, Sentence, Word
from attn_widget.model.tokens import Token
from attn_widget.trace import WeightsTrace
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.reference.samples import attention, layers

# [CLS] un ##believ ##able cat ##s (space) sat [SEP]
WORDS = [None, 0, 0, 0, 1, 1, None, 2, None]
SPECIAL = [0, 8]
GROUPS = [[0], [1, 2, 3], [4, 5], [6], [7], [8]]


def words_to_tokens(words: list[int | None], special: list[int]) -> list[Token]:
    return [
        Token(f"t{i}", i, i, i + 1, word=word, special=i in special) for i, word in enumerate(words)
    ]


TOKENS = words_to_tokens(WORDS, SPECIAL)


def merged(weights: np.ndarray, renormalize: bool = True, **options: bool) -> MergedTrace:
    groups = group_tokens(TOKENS, **options)
    tokens = [TOKENS[i] for i in groups.first]
    return MergedTrace(WeightsTrace(TOKENS, list(weights)), tokens, groups, renormalize=renormalize)


@pytest.mark.parametrize("kind", ["random", "one-hot", "uniform", "causal"])
def test_rows_are_averaged_and_columns_summed(kind: str) -> None:
    weights = attention(kind, 9)[0]
    groups = group_tokens(TOKENS, words=True, special=True)
    found = merge_weights(weights, groups)
    for head, matrix in enumerate(weights):
        assert_close(found[head], naive.merge(matrix.tolist(), GROUPS), terms=9)
    assert_close(found.sum(axis=-1), 1, terms=9)


@settings(max_examples=60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(0, 1000))
def test_merged_rows_sum_to_one_for_any_words(sizes: list[int], seed: int) -> None:
    words = [word for word, size in enumerate(sizes) for _ in range(size)]
    tokens = words_to_tokens(words, [])
    weights = attention("random", len(words), seed=seed)[0]
    found = merge_weights(weights, group_tokens(tokens, words=True, special=True))
    assert found.shape == (2, len(sizes), len(sizes))
    assert_close(found.sum(axis=-1), 1, terms=len(words))


def test_512_tokens_of_one_word_are_one_position() -> None:
    tokens = words_to_tokens([0] * 512, [])
    found = merge_weights(
        attention("random", 512)[0], group_tokens(tokens, words=True, special=True)
    )
    assert_close(found, np.ones((2, 1, 1)), terms=512, steps=2)


def test_neighbors_of_two_segments_are_two_words() -> None:
    tokens = [Token("a", 0, 0, 1, word=0, segment=0), Token("b", 1, 0, 1, word=0, segment=1)]
    assert group_tokens(tokens, words=True, special=True).sizes.tolist() == [1, 1]


def test_special_tokens_are_left_out_with_and_without_renormalizing() -> None:
    weights = layers(9)
    kept = slice(1, 8)
    plain = merged(weights, renormalize=False, words=False, special=False)
    np.testing.assert_array_equal(plain.layer_weights(1), weights[1][:, kept, kept])
    scaled = merged(weights, words=False, special=False)
    rows = weights[1][:, kept, kept]
    assert_close(scaled.layer_weights(1), rows / rows.sum(axis=-1, keepdims=True), terms=9)


def test_words_without_special_tokens_are_the_block_of_the_words_with_them() -> None:
    weights = layers(9)
    whole = merged(weights, words=True, special=True).layer_weights(2)
    plain = merged(weights, renormalize=False, words=True, special=False).layer_weights(2)
    np.testing.assert_array_equal(plain, whole[:, 1:5, 1:5])
    scaled = merged(weights, words=True, special=False).layer_weights(2)
    assert_close(scaled.sum(axis=-1), 1, terms=9)
    assert_close(scaled, plain / plain.sum(axis=-1, keepdims=True), terms=9)


def test_a_row_with_nothing_left_is_na() -> None:
    weights = attention("random", 9)[0][None].copy()
    weights[0, 0, 3] = np.eye(9)[0]  # all of it on [CLS]
    found = merged(weights, words=False, special=False).layer_weights(0)
    assert np.isnan(found[0, 2]).all()
    assert np.isnan(found).sum() == 7


def test_one_head_and_the_mean_are_those_of_the_layer() -> None:
    trace = merged(layers(9), words=True, special=False)
    every = trace.layer_weights(1)
    np.testing.assert_array_equal(trace.weights(1, 0), every[0])
    np.testing.assert_array_equal(trace.weights(1, "mean"), every.mean(axis=0))
    np.testing.assert_array_equal(trace.weights(1, 1, slice(1, 3), slice(2)), every[1, 1:3, :2])


def test_a_cell_is_possible_when_any_pair_of_its_tokens_is() -> None:
    weights, allowed = attention("causal", 9)
    trace = WeightsTrace(TOKENS, [weights], allowed=[allowed])
    groups = group_tokens(TOKENS, words=True, special=False)
    found = MergedTrace(trace, [TOKENS[i] for i in groups.first], groups)
    np.testing.assert_array_equal(found.allowed(0), np.tri(4, dtype=bool))
    assert (found.layer_weights(0)[:, ~np.tri(4, dtype=bool)] == 0).all()


def test_the_softmax_of_the_scores_that_stayed_is_the_weights_shown() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(1, 2, 9, 9)).astype(np.float32)
    exps = np.exp(scores)
    inner = WeightsTrace(TOKENS, list(exps / exps.sum(-1, keepdims=True)), scores=list(scores))
    groups = group_tokens(TOKENS, words=False, special=False)
    trace = MergedTrace(inner, TOKENS[1:8], groups)
    assert trace.has_scores
    kept = np.exp(trace.scores(0, 1))
    assert_close(kept / kept.sum(-1, keepdims=True), trace.weights(0, 1), terms=9)
    plain = MergedTrace(inner, TOKENS[1:8], groups, renormalize=False)
    assert not plain.has_scores
    with pytest.raises(NotAvailableError, match="not the softmax"):
        plain.scores(0, 1)


def test_what_belongs_to_tokens_is_na_for_words_and_stays_without_special_ones() -> None:
    rng = np.random.default_rng(0)
    q = rng.normal(size=(1, 2, 9, 4)).astype(np.float32)
    inner = WeightsTrace(
        TOKENS, list(layers(9, layers=1)), queries=list(q), keys=list(q), values=list(q),
        scaling=[0.5],
    )  # fmt: skip
    groups = group_tokens(TOKENS, words=False, special=False)
    trace = MergedTrace(inner, TOKENS[1:8], groups)
    np.testing.assert_array_equal(trace.queries(0, 1), q[0, 1, 1:8])
    assert_close(trace.head_output(0, 1), trace.weights(0, 1) @ q[0, 1, 1:8], terms=9)
    words = group_tokens(TOKENS, words=True, special=True)
    trace = MergedTrace(inner, [TOKENS[i] for i in words.first], words)
    assert not trace.has_qkv
    for ask in (trace.queries, trace.keys, trace.values, trace.scores, trace.bias):
        with pytest.raises(NotAvailableError, match="single tokens"):
            ask(0, 1)


def test_the_first_row_by_word_is_the_sum_over_its_tokens_and_the_rest_is_special() -> None:
    rows = attention("random", 9)[0][:, 0]
    spans, weights, special = sum_positions(rows, TOKENS, words=True)
    assert spans == ((1, 4), (4, 6), (7, 8))
    for (first, end), column in zip(spans, weights.T, strict=True):
        assert_close(column, rows[:, first:end].sum(axis=1), terms=9)
    assert_close(special, rows[:, [0, 6, 8]].sum(axis=1), terms=9)


def test_words_and_sentences_keep_their_places_among_the_words() -> None:
    def word(text: str, tokens: tuple[int, int]) -> Word:
        return Word(text, *tokens, segment=0, pos=None, entity=None, tokens=tokens)

    language = Language(
        tuple(TOKENS),
        (word("unbelievable", (1, 4)), word("cats", (4, 6)), word("sat", (7, 8))),
        (Sentence("unbelievable cats", 1, 6, 0, (1, 6)), Sentence("sat", 7, 8, 0, (7, 8))),
        tagger_name=None, segmenter="full stops", notes=(), no_tags=None, no_entities=None,
    )  # fmt: skip
    groups = group_tokens(TOKENS, words=True, special=False)
    found = merge_language(language, groups, words=True)
    assert [word.tokens for word in found.words] == [(0, 1), (1, 2), (3, 4)]
    assert [sentence.tokens for sentence in found.sentences] == [(0, 2), (3, 4)]
    assert [token.text for token in found.tokens] == ["unbelievable", "cats", "t6", "sat"]
    assert [token.id for token in found.tokens] == [MERGED_ID, MERGED_ID, 6, 7]
    assert [token.end for token in found.tokens] == [4, 6, 7, 8]


def test_rows_that_miss_nothing_have_scores_whether_they_are_rescaled_or_not() -> None:
    weights = layers(9)
    inner = WeightsTrace(TOKENS, list(weights), scores=list(np.log(weights)))
    groups = group_tokens(TOKENS, words=False, special=True)
    assert MergedTrace(inner, TOKENS, groups, renormalize=False).has_scores


def test_only_special_tokens_leave_nothing() -> None:
    tokens = words_to_tokens([None, None], [0, 1])
    with pytest.raises(InputError, match="nothing is left"):
        group_tokens(tokens, words=False, special=False)
