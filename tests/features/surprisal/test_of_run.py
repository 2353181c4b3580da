"""The words of a run that is shown: those of the table where the model reads the same tokens."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.surprisal.of_run import words_of_run
from attn_widget.features.surprisal.saved import answers_of
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and the unbelievable dog looked."


def run_of(text: str, model: Any = None, **options: Any) -> aw.Analysis:
    return aw.analyze(text, model=model, tagger=None, progress=False, **options)


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen2", "gemma"])
def test_a_decoders_words_are_those_of_the_table(family: str) -> None:
    pair = tiny_models.build(family)
    found = words_of_run(run_of(TEXT, pair))
    table = aw.surprisals([TEXT], model=pair, progress=False)
    assert [TEXT[w.start : w.end] for w in found.words] == table.word.tolist() == TEXT.split()
    np.testing.assert_allclose(found.surprisal, table.surprisal, atol=1e-6)
    np.testing.assert_allclose(found.entropy, table.entropy, atol=1e-6)
    assert math.isnan(found.surprisal[0]) == any("Nothing stands" in note for note in found.notes)


def test_its_tokens_have_what_the_list_of_predictions_has() -> None:
    a = run_of(TEXT, tiny_models.build("gpt2"))
    found = words_of_run(a)
    np.testing.assert_allclose(found.tokens, a.predictions().earlier_surprisal, rtol=1e-5)


def test_an_encoders_words_are_masked_as_a_whole() -> None:
    a = run_of(TEXT)
    found = words_of_run(a)
    table = aw.surprisals([TEXT], progress=False)
    assert found.masked and not found.correction
    np.testing.assert_allclose(found.surprisal, table.surprisal, atol=1e-3)
    np.testing.assert_allclose(found.entropy, table.entropy, atol=1e-3)


def test_both_texts_of_a_pair_have_words() -> None:
    found = words_of_run(run_of("a small cat", text_pair="a big dog"))
    assert [(w.start, w.end) for w in found.words] == [(0, 1), (2, 7), (8, 11), (0, 1), (2, 5), (6, 9)]  # fmt: skip
    assert all(a.last <= b.first for a, b in zip(found.words, found.words[1:], strict=False))
    assert np.isfinite(found.surprisal).all()


def test_a_text_in_windows_has_the_words_of_each_window() -> None:
    text = "the unbelievably old cat sat on the mat " * 3
    a = run_of(text, windows=(16, 4))
    assert a.trace.windows is not None
    found = words_of_run(a)
    assert len(found.words) == len(text.split()) and np.isfinite(found.surprisal).all()
    first = run_of(
        text[: a.tokens[14].end]
    )  # what the first window has between its two special tokens
    word = found.words[1]
    assert word.last - word.first > 1
    assert found.surprisal[1] == pytest.approx(words_of_run(first).surprisal[1], abs=1e-3)


def test_a_mask_is_no_surprise() -> None:
    found = words_of_run(run_of("the old [MASK] sat"))
    assert np.isnan(found.surprisal).tolist() == [False, False, True, False]


def test_heads_that_are_off_stay_off() -> None:
    pair = tiny_models.build("llama")
    whole = run_of(TEXT, pair)
    off = whole.ablate([(0, 0), (0, 1)])
    assert np.abs(words_of_run(off).surprisal - words_of_run(whole).surprisal).max() > 1e-4


def test_scripts_without_spaces() -> None:
    text = "猫坐在垫子上。"
    found = words_of_run(run_of(text, tiny_models.build("gpt2")))
    assert "".join(text[w.start : w.end] for w in found.words) == text and len(found.words) == 7
    assert not found.correction and "A script without spaces" in found.notes[0]


def test_bad_input() -> None:
    model, tokenizer = tiny_models.build("bert")
    with pytest.raises(NotAvailableError, match="head"):
        words_of_run(run_of("a cat", (model.bert, tokenizer)))


def test_a_page_has_a_decoders_words() -> None:
    a = run_of(TEXT, tiny_models.build("llama"))
    ((request, data, arrays),) = answers_of(a, {}, PageSpec())
    reply, buffers = answer(a, request)
    assert reply["data"] == data and len(arrays) == len(buffers) == 4
    np.testing.assert_allclose(arrays["surprisal"], words_of_run(a).surprisal, rtol=1e-6)
    assert [*answers_of(run_of("a cat"), {}, PageSpec())] == []


def test_it_says_how_far_it_is_and_can_be_stopped() -> None:
    a = run_of(TEXT)
    steps: list[tuple[int, int]] = []
    words_of_run(a, lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1] == sum(not token.special for token in a.tokens)

    def stop(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        words_of_run(a, stop)
