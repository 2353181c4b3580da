"""Attention between sentences: mass, maximum, drill-down, witness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.sentences.isa import SentenceAttention, mean_weights
from attn_widget.trace import WeightsTrace
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.reference.samples import attention, layers, tokens

SENTENCES = [[1, 2, 3], [4, 5], [7, 8, 9, 10]]  # 0 and 11 are special, 6 is in no sentence
SCOPES = [(None, None), (1, None), (None, 0), (2, 1)]


def analysis(weights: np.ndarray, sentences: list[list[int]] = SENTENCES) -> SentenceAttention:
    trace = WeightsTrace(tokens(weights.shape[-1]), list(weights))
    return SentenceAttention(trace, sentences, [f"Sentence {i}." for i in range(len(sentences))])


def scoped(weights: np.ndarray, layer: int | None, head: int | None) -> np.ndarray:
    weights = weights if layer is None else weights[layer : layer + 1]
    return weights if head is None else weights[:, head : head + 1]


@pytest.mark.parametrize(("layer", "head"), SCOPES)
def test_mass_agrees_with_the_definition_and_rows_are_whole(
    layer: int | None, head: int | None
) -> None:
    weights = layers(12)
    found = analysis(weights)
    flat = scoped(weights, layer, head).reshape(-1, 12, 12).tolist()
    mean = naive.mean_head(flat)
    matrix = found.matrix(layer=layer, head=head)
    expected = [[naive.isa_mass(mean, a, b) for b in SENTENCES] for a in SENTENCES]
    assert_close(matrix, expected, terms=12 * len(flat))
    whole = matrix.sum(axis=1) + found.elsewhere(layer=layer, head=head)
    assert_close(whole, 1, terms=12 * len(flat))


@pytest.mark.parametrize(("layer", "head"), SCOPES)
def test_maximum_and_its_witness_agree_with_the_definition(
    layer: int | None, head: int | None
) -> None:
    weights = layers(12)
    found = analysis(weights)
    matrix = found.matrix("max", layer=layer, head=head)
    for a, queries in enumerate(SENTENCES):
        for b, keys in enumerate(SENTENCES):
            part = scoped(weights, layer, head).tolist()
            value, in_layer, in_head, query, key = naive.isa_max(part, queries, keys)
            witness = found.witness(a, b, layer=layer, head=head)
            assert matrix[a, b] == witness.weight == np.float32(value)
            assert (witness.query, witness.key) == (query, key)
            assert witness.layer == (in_layer if layer is None else layer)
            assert witness.head == (in_head if head is None else head)
            assert weights[witness.layer, witness.head, query, key] == witness.weight


@pytest.mark.parametrize(("layer", "head"), SCOPES)
def test_a_drill_down_is_under_the_aggregation_of_its_cell(
    layer: int | None, head: int | None
) -> None:
    found = analysis(layers(12))
    mass = found.drill(2, 0, layer=layer, head=head)
    assert mass.queries == (7, 8, 9, 10)
    assert mass.keys == (1, 2, 3)
    cell = found.matrix(layer=layer, head=head)[2, 0]
    assert_close(mass.weights.sum(axis=1).mean(), cell, terms=12)
    largest = found.drill(2, 0, "max", layer=layer, head=head)
    assert largest.weights.max() == found.matrix("max", layer=layer, head=head)[2, 0]


def test_sentences_of_512_tokens_agree_with_the_definition() -> None:
    weights = np.stack([attention("random", 512, heads=1, seed=i)[0] for i in range(2)])
    parts = [list(range(1, 200)), list(range(200, 511))]
    found = analysis(weights, parts).matrix()
    mean = weights.astype(np.float64).mean(axis=(0, 1)).tolist()
    expected = [[naive.isa_mass(mean, a, b) for b in parts] for a in parts]
    assert_close(found, expected, terms=512)


def test_the_mean_is_that_of_all_heads_of_all_layers() -> None:
    weights = layers(6)
    found = mean_weights(WeightsTrace(tokens(6), list(weights)))
    assert_close(found, weights.mean(axis=(0, 1)), terms=6)


def test_one_sentence_is_a_single_cell_with_a_word_about_it() -> None:
    found = analysis(layers(5), [[1, 2, 3]])
    assert found.matrix().shape == found.matrix("max").shape == (1, 1)
    assert found.note == "The text is one sentence, so there is no other to compare it with."
    assert analysis(layers(12)).note is None


def test_no_sentence_is_an_empty_matrix_with_a_word_about_it() -> None:
    found = analysis(layers(3), [])
    assert found.matrix().shape == (0, 0)
    assert found.note == "No sentence was found in the text."


@pytest.mark.parametrize("sentences", [[[1], []], [[1, 2], [2]], [[1], [5]], [[-1]]])
def test_sentences_that_cannot_be_are_refused(sentences: list[list[int]]) -> None:
    with pytest.raises(InputError, match=r"at least one token|disjoint lists of tokens, 0 to 4"):
        analysis(layers(5), sentences)


def test_what_is_not_there_is_refused() -> None:
    found = analysis(layers(12))
    with pytest.raises(InputError, match="sentence is 3, expected 0 to 2"):
        found.drill(3, 0)
    with pytest.raises(InputError, match="layer is 3, expected 0 to 2"):
        found.matrix(layer=3)
    with pytest.raises(InputError, match="head is 'mean', expected an int"):
        found.matrix(head="mean")  # pyright: ignore
    with pytest.raises(InputError, match="kind is 'sum', expected one of 'mass', 'max'"):
        found.matrix("sum")  # pyright: ignore


def test_a_table_has_a_row_for_each_pair() -> None:
    found = analysis(layers(12))
    table = found.to_dataframe("max", layer=0)
    assert table.columns.tolist() == ["from", "to", "from_text", "to_text", "max"]
    assert table["max"].tolist() == pytest.approx(found.matrix("max", layer=0).ravel().tolist())


def test_any_matrix_is_gathered_between_sentences() -> None:
    a = aw.analyze("The cat sat on the mat. It was tired. She slept.", progress=False)
    groups = a.sentences.tokens
    for matrix in (
        a.mixing.matrix("norms", 3, 5),
        a.mixing.matrix("alti", 1),
        a.mixing.rollout("mixing"),
    ):
        shares = matrix / matrix.sum(axis=1, keepdims=True)
        mass = [[np.mean([shares[i, list(b)].sum() for i in g]) for b in groups] for g in groups]
        assert_close(a.sentences.gather(matrix), mass, terms=a.trace.n_tokens)
        largest = [[max(matrix[i, j] for i in g for j in b) for b in groups] for g in groups]
        np.testing.assert_allclose(a.sentences.gather(matrix, "max"), largest)
    mean = a.attention(2, "mean")
    assert_close(
        a.sentences.gather(mean), a.sentences.matrix("mass", layer=2), terms=a.trace.n_tokens
    )


@pytest.mark.parametrize("matrix", [np.ones((2, 2)), np.full((9, 9), np.nan), "a", None])
def test_a_matrix_that_is_none_is_refused(matrix: Any) -> None:
    a = aw.analyze("The cat sat. It slept.", tagger=None, progress=False)
    with pytest.raises((InputError, InputTypeError), match="matrix"):
        a.sentences.gather(matrix)
