"""Attention between the sentences of runs: decoders, words, masked tokens, long texts."""

from __future__ import annotations

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError
from attn_widget.features.sentences.isa import (
    SentenceAttention,
    isa_mass,
    mean_weights,
    strongest,
)
from attn_widget.trace.base import LONG_TOKENS
from tests.close import assert_close
from tests.reference import naive_attention as naive
from tests.unit import tiny_models
from tests.unit.test_analysis_analysis import TAGS, TEXT, WEIGHTS, made_trace


@pytest.fixture
def analysis() -> Analysis:
    return Analysis(made_trace(), text=TEXT, tagger=lambda text: TAGS)


def test_the_sentences_of_a_text_have_the_means_of_all_heads(analysis: Analysis) -> None:
    mean = naive.mean_head(WEIGHTS.reshape(-1, 12, 12).tolist())
    assert analysis.sentences.texts == ("The cats ran.", "Paris slept on!")
    assert analysis.sentences.tokens == ((1, 2, 3, 4, 5), (6, 7, 8, 9, 10))
    assert_close(
        analysis.sentences.matrix()[0, 1],
        naive.isa_mass(mean, range(1, 6), range(6, 11)),
        terms=12,
        steps=2,
    )


def test_sentences_of_a_view_of_words_account_for_all_attention(analysis: Analysis) -> None:
    found = analysis.view(words=True).sentences
    assert found.tokens == ((1, 2, 3, 4), (5, 6, 7, 8))
    assert_close(found.matrix().sum(axis=1) + found.elsewhere(), 1, terms=12)


def test_without_special_tokens_nothing_is_elsewhere(analysis: Analysis) -> None:
    assert_close(analysis.view(special=False).sentences.elsewhere(), [0, 0], terms=12, size=1)


@pytest.mark.parametrize("index", [-1, 4, True, "last", 1.5])
def test_a_layer_that_is_not_there_is_refused(analysis: Analysis, index: object) -> None:
    with pytest.raises(InputError, match="layer is"):
        analysis.sentences.matrix(layer=index)  # pyright: ignore


def test_a_masked_token_changes_no_sentence() -> None:
    a = aw.analyze("The cat sat. It slept.", tagger=None, progress=False)
    assert a.mask([2]).sentences.texts == a.sentences.texts


def test_sentences_of_a_long_text_are_summed_by_rows_and_by_heads() -> None:
    encoder = tiny_models.build("modernbert", max_position_embeddings=2048)
    text = "the cat sat on the mat and it looked at a bird . " * 90
    trace = aw.analyze(text, model=encoder, tagger=None, progress=False).trace
    assert trace.n_tokens > LONG_TOKENS
    weights = np.stack(
        [[trace.weights(i, h) for h in range(trace.n_heads)] for i in range(trace.n_layers)]
    )
    mean = mean_weights(trace)
    assert_close(
        mean, weights.mean(axis=(0, 1), dtype=np.float64), terms=weights.shape[0] * weights.shape[1]
    )
    assert_close(mean_weights(trace, 1, 0), weights[1, 0], terms=1)
    top = strongest(trace)
    np.testing.assert_array_equal(top.weights, weights.max(axis=(0, 1)))
    sentences = [range(1, 300), [300], range(301, trace.n_tokens - 1)]
    expected = [
        [
            weights.mean(axis=(0, 1), dtype=np.float64)[np.ix_(a, b)].sum() / len(a)
            for b in sentences
        ]
        for a in sentences
    ]
    assert_close(isa_mass(mean, sentences), expected, terms=trace.n_tokens)


def test_the_first_token_of_a_decoder_is_in_no_sentence() -> None:
    """Else sentence 0 would receive most of the attention of every other, because of the sink alone."""
    text = "When it rains. The cat sleeps."
    words = ["When", "it", "rains", ".", "The", "cat", "sleeps", "."]
    weights = np.tri(len(words), dtype=np.float32)[None] * np.float32(0.1)
    weights[:, :, 0] = 1 - weights[:, :, 1:].sum(axis=-1)
    a = aw.from_attentions([weights], words, text=text, tagger=None)
    assert a.sentences.tokens == ((1, 2, 3), (4, 5, 6, 7))
    assert_close(
        a.sentences.elsewhere(),
        [weights[0, rows, 0].mean() for rows in ([1, 2, 3], [4, 5, 6, 7])],
        terms=len(words),
    )
    assert (a.sentences.matrix()[1] < 0.35).all()
    both = np.full((1, len(words), len(words)), 1 / len(words), dtype=np.float32)
    encoder = aw.from_attentions([both], words, text=text, tagger=None)
    assert encoder.sentences.tokens[0] == (0, 1, 2, 3)


def test_flat_heads_of_a_decoder_are_at_chance() -> None:
    n, halves = 13, [[*range(6)], [*range(6, 13)]]
    flat = np.tri(n) / np.arange(1, n + 1)[:, None]
    a = aw.from_attentions([flat[None].astype(np.float32)], [*"abcdefghijklm"], tagger=None)
    sentences = SentenceAttention(a.trace, halves, ["abcdef", "ghijklm"])
    found = sentences.matrix(head=0)
    assert_close(found, sentences.chance(), terms=n, steps=2, size=1)
    of_rows = [np.mean([min(i + 1, 6) / (i + 1) for i in half]) for half in halves]
    assert_close(found[:, 0], of_rows, terms=n, steps=2, size=1)
    assert found[0, 1] == 0
