"""Words of cross-attention: views of both texts' words, and lines of alignment files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, NotAvailableError
from tests.unit import tiny_models

SOURCE = "The cat's state-of-the-art mat ."
TARGET = "A quick brown fox didn't sit ."


@cache
def cross(name: str = "bart") -> Analysis:
    model = tiny_models.build(name)
    a = aw.analyze(SOURCE, output=TARGET, model=model, tagger=None, progress=False)
    return a.of("cross")


def merged(weights: Any, rows: list[list[int]], columns: list[list[int]]) -> Any:
    """Mean over the rows of a word, sum over its columns, one cell after the other."""
    return np.array([[weights[np.ix_(r, c)].sum() / len(r) for c in columns] for r in rows])


def groups_of(tokens: Any, *, special: bool) -> list[list[int]]:
    """Tokens of a word together, every other one by itself."""
    groups: list[list[int]] = []
    for i, token in enumerate(tokens):
        if token.special and not special:
            continue
        if i and token.word is not None and token.word == tokens[i - 1].word:
            groups[-1].append(i)
        else:
            groups.append([i])
    return groups


@pytest.mark.parametrize("name", ["bart", "t5", "encoder-decoder"])
@pytest.mark.parametrize("special", [True, False])
def test_a_view_of_words_has_words_of_the_target_by_words_of_the_source(
    name: str, special: bool
) -> None:
    a = cross(name)
    rows = groups_of(a.language.tokens, special=special)
    columns = groups_of(a.of("encoder").language.tokens, special=special)
    assert (
        len(rows) < a.trace.n_tokens and len(columns) < a.trace.n_keys
    )  # some words have several tokens
    view = a.view(words=True, special=special)
    assert (view.trace.n_tokens, view.trace.n_keys) == (len(rows), len(columns)) and view.base is a
    expected = merged(a.attention(1, 1).astype(np.float64), rows, columns)
    if not special:
        expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(view.attention(1, 1), expected, rtol=1e-5)
    np.testing.assert_allclose(view.attention(1, "mean").sum(axis=1), 1, rtol=1e-5)
    words = [
        token.text for token in view.model.key_tokens if not token.special and token.text != "▁"
    ]
    assert words[:2] == ["The", "cat's"] and "didn't" in [token.text for token in view.tokens]
    places = view.attention(0, 0).astype(np.float64) @ np.arange(view.trace.n_keys)
    np.testing.assert_allclose(view.heads.monotony.expected[0, 0], places, rtol=1e-5)
    assert np.isfinite(view.metrics.focus_entropy).all()
    assert view.model.parts == ("cross",) and view.of("cross") is view
    with pytest.raises(NotAvailableError, match="Ask the analysis that this view was made from"):
        _ = view.sentences


def test_without_special_tokens_the_scores_that_stay_give_the_weights() -> None:
    a = cross()
    view = a.view(special=False)
    own = [not token.special for token in a.trace.tokens]
    keys = [not token.special for token in a.model.key_tokens]
    np.testing.assert_array_equal(view.scores(1, 0), a.scores(1, 0)[np.ix_(own, keys)])
    scores = view.scores(1, 0).astype(np.float64)
    softmax = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = softmax / softmax.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(view.attention(1, 0), expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(view.model.keys(1, 0), a.model.keys(1, 0)[keys])
    np.testing.assert_array_equal(view.model.queries(1, 0), a.model.queries(1, 0)[own])


def test_a_view_of_words_of_two_texts_is_shown_and_saved(tmp_path: Path) -> None:
    widget = aw.show(cross().view(words=True))
    widget.to_html(tmp_path / "words.html")
    assert "didn&#39;t" in (page := (tmp_path / "words.html").read_text()) or "didn't" in page
    assert "state" in page
    assert not widget.to_dataframe("attention").empty


@pytest.mark.parametrize("name", ["bart", "t5", "encoder-decoder"])
@pytest.mark.parametrize("step", ["read", "written"])
@pytest.mark.parametrize("head", [1, "mean"])
def test_each_word_of_the_target_is_aligned_with_the_word_it_looks_at_most(
    name: str, step: Any, head: Any
) -> None:
    a = cross(name)
    weights = a.attention(2, head).astype(np.float64)

    def tokens_of(text: str, tokens: Any) -> list[list[int]]:
        owner = np.cumsum([letter.isspace() for letter in text])  # words between spaces
        return [
            [
                i
                for i, token in enumerate(tokens)
                if not token.special
                and text[token.start : token.end].strip()
                and owner[token.start] == word
            ]
            for word in range(len(text.split()))
        ]

    rows, columns = tokens_of(TARGET, a.trace.tokens), tokens_of(SOURCE, a.trace.key_tokens)
    if step == "written":  # the row before has written the token
        rows = [[i - 1 for i in row] for row in rows]
    expected = merged(weights, rows, columns)
    found = a.heads.word_alignment(2, head, step=step)
    best = expected.argmax(axis=1).tolist()
    assert found.pairs == tuple((i, j) for j, i in enumerate(best))
    np.testing.assert_allclose(found.weights, expected.max(axis=1), rtol=1e-5)
    assert found.source == tuple(SOURCE.split()) and found.target == tuple(TARGET.split())
    assert found.to_pharaoh() == " ".join(f"{i}-{j}" for j, i in enumerate(best))
    record = found.to_records()[0]
    assert (record["target"], record["target_word"]) == (0, "A")
    assert a.view(words=True).heads.word_alignment(2, head, step=step).pairs == found.pairs


def test_the_model_of_dates_aligns_each_number_with_its_words() -> None:
    a = aw.analyze("8 November 1987", output="1987-11-08", model="dates", progress=False)
    assert a.of("cross").heads.word_alignment(1, 1, step="written").source == (
        "8",
        "November",
        "1987",
    )
    planted = np.zeros((1, 1, 4, 3))
    planted[0, 0, [0, 1, 2, 3], [2, 2, 0, 1]] = 1
    b = aw.from_attentions(
        planted, ["un", "##do", "the", "rest"], keys=["a", "b", "c"], tagger=None
    )
    assert b.heads.word_alignment(0).to_pharaoh() == "2-0 0-1 1-2"
    assert b.heads.word_alignment(0, step="written").to_pharaoh() == "2-0 2-1 0-2"
    assert [token.text for token in b.view(words=True).tokens] == ["undo", "the", "rest"]


def test_what_has_no_words_of_two_texts_is_refused() -> None:
    a = cross()
    for one in (a.of("decoder"), a.of("encoder")):
        with pytest.raises(NotAvailableError, match=r'An alignment is of two texts.*of\("cross"\)'):
            one.heads.word_alignment(0)
    with pytest.raises(InputError, match="step is 'both'"):
        a.heads.word_alignment(0, step="both")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="layer"):
        a.heads.word_alignment(3)
