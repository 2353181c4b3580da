"""What a widget opens on: a head with something to tell, its strongest word, a ramp that ends at the words."""

from __future__ import annotations

import itertools
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis.long.sample import sampled_links
from attn_widget.analysis.opening import (
    beyond_the_others,
    choose_opening,
    largest_between_words,
    links_beyond_chance,
    word_ids,
    word_pairs,
)
from attn_widget.model.tokens import Token
from attn_widget.protocol.head_scan import survey
from attn_widget.protocol.initial_payload import opening
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from tests.close import assert_close

TROPHY = "The trophy does not fit in the suitcase because it is too large."
PARIS = "Paris is the capital of France."


def slow_scores(analysis: aw.Analysis) -> np.ndarray:
    """The rule once more, cell by cell: mean excess over 1/n between different, distant words, [L, H]."""
    tokens, n = analysis.tokens, analysis.n_tokens
    surface = [token.surface for token in tokens]

    def is_word(i: int) -> bool:
        marks = all(unicodedata.category(c).startswith("P") for c in surface[i])
        return not tokens[i].special and not marks

    # One sentence of the embedded model's language: its words stand between spaces and the full stop.
    assert analysis.text is not None
    number = [len(analysis.text[: token.start].split(" ")) for token in tokens]
    cells = [
        (i, j)
        for i, j in itertools.product(range(n), range(n))
        if is_word(i)
        and is_word(j)
        and abs(number[i] - number[j]) > 2
        and surface[i].lower() != surface[j].lower()
    ]
    scores = np.zeros((analysis.n_layers, analysis.n_heads))
    for layer, head in np.ndindex(*scores.shape):
        weights = analysis.attention(layer, head)
        scores[layer, head] = np.mean([max(float(weights[c]) - 1 / n, 0) for c in cells])
    return scores


@pytest.mark.parametrize("text", [TROPHY, "The keys to the old cabinet are on the table again."])
def test_the_head_that_opens_is_the_one_that_the_rule_names(text: str) -> None:
    widget = aw.show(text, progress=False)
    scores = slow_scores(widget.analysis)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (widget.analysis.n_heads - 1)
    best = np.unravel_index((scores - others).argmax(), scores.shape)
    assert (widget.layer, widget.head) == tuple(best)
    assert_close(survey(widget.analysis).links, scores, terms=widget.analysis.n_tokens, size=1)


def test_its_strongest_word_is_the_focus_token() -> None:
    widget = aw.show(TROPHY, progress=False)
    weights = widget.analysis.attention(widget.layer, widget.head)
    pairs = word_pairs(widget.analysis.tokens)
    assert widget.token is not None
    assert weights[widget.token][pairs[widget.token]].max() == weights[pairs].max()


def test_what_was_asked_for_decides() -> None:
    def opened(**options: object) -> tuple[object, object, object]:
        widget = aw.show(TROPHY, progress=False, **options)
        return widget.layer, widget.head, widget.token

    chosen = opened()
    assert opened(layer=3, head=5) == (3, 5, None)
    assert opened(layer=0, head=0) == (0, 0, None)
    assert opened(layer=3, head=5, token=2) == (3, 5, 2)
    assert opened(token=4) == (*chosen[:2], 4)
    assert opened(pair=[2, 4]) == (*chosen[:2], None)
    assert opened(group=[2, 4]) == (*chosen[:2], None)
    assert opened(head="mean") == (0, "mean", None)
    layer, head, token = opened(layer=4)
    told = beyond_the_others(survey(aw.analyze(TROPHY, progress=False)).links)
    assert (layer, head) == (4, told[4].argmax())
    assert token is not None
    assert opened(head=7)[0] == told[:, 7].argmax()


def test_another_text_opens_anew_unless_a_head_was_chosen_by_hand() -> None:
    fresh = aw.show(PARIS, progress=False)
    widget = aw.show(TROPHY, progress=False)
    widget.run(PARIS)
    assert (widget.layer, widget.head, widget.token) == (fresh.layer, fresh.head, fresh.token)
    widget.head = (int(fresh.head) + 1) % widget.analysis.n_heads
    kept = (widget.layer, widget.head)
    widget.run(TROPHY)
    assert (widget.layer, widget.head, widget.token) == (*kept, None)

    asked = aw.show(TROPHY, layer=2, head=3, progress=False)
    asked.run(PARIS)
    assert (asked.layer, asked.head, asked.token) == (2, 3, None)


def test_a_mask_leaves_the_selection_as_it_is() -> None:
    widget = aw.show(TROPHY, progress=False)
    before = (widget.layer, widget.head, widget.token)
    widget.masked = [2]
    assert (widget.layer, widget.head, widget.token) == before


@pytest.mark.parametrize("text", ["cat", "cat cat cat", "...", "[MASK]"])
def test_a_text_without_two_words_opens_on_the_first_head(text: str) -> None:
    widget = aw.show(text, progress=False)
    assert (widget.layer, widget.head, widget.token) == (0, 0, None)


@pytest.mark.parametrize("text", ["the cat", "我爱北京天安门", "a-b", "x " * 200 + "y"])
def test_a_text_without_distant_words_takes_nearer_ones(text: str) -> None:
    assert word_pairs(aw.analyze(text, progress=False).tokens).any()


def test_pairs_of_texts_are_one_text_here() -> None:
    widget = aw.show(PARIS, "It is an old city.", progress=False)
    assert widget.token is not None
    assert not widget.analysis.tokens[widget.token].special


def test_tensors_from_outside_open_too() -> None:
    names = ["[CLS]", "one", "two", "three", "four", "five", "[SEP]"]
    weights = np.full((2, 3, 7, 7), 1 / 7, dtype=np.float32)
    weights[1, 2] = np.eye(7)[[0, 4, 5, 1, 1, 2, 6]]
    widget = aw.AttentionWidget(aw.from_attentions(weights, names))
    assert (widget.layer, widget.head, widget.token) == (1, 2, 1)
    even = aw.AttentionWidget(aw.from_attentions(np.full((2, 3, 4, 4), 0.25), ["a", "b", "c", "d"]))
    assert (even.layer, even.head) == (0, 0)
    alone = aw.AttentionWidget(aw.from_attentions(np.ones((1, 1, 1, 1)), ["[CLS]"]))
    assert (alone.layer, alone.head, alone.token) == (0, 0, None)


def test_words_are_numbered_across_pieces_punctuation_and_segments() -> None:
    spans = [("[CLS]", 0, 0, 0, True), ("un", 0, 2, 0, False), ("##do", 2, 4, 0, False)]
    spans += [(",", 4, 5, 0, False), ("it", 6, 8, 0, False), ("[SEP]", 0, 0, 0, True)]
    spans += [("it", 0, 2, 1, False), ("北", 2, 3, 1, False), ("京", 3, 4, 1, False)]
    tokens = [
        Token(text, i, start, end, text.strip("#"), segment=segment, special=special)
        for i, (text, start, end, segment, special) in enumerate(spans)
    ]
    ids = word_ids(tokens).tolist()
    assert ids[1] == ids[2]
    assert [ids[i] for i in (0, 3, 5)] == [-1, -1, -1]
    assert len({ids[i] for i in (1, 4, 6, 7, 8)}) == 5


def test_a_space_or_another_segment_ends_a_word() -> None:
    tokens = [
        Token("cat", 0, 0, 3, "cat"),
        Token("##s", 1, 3, 4, "s"),
        Token("sat", 2, 5, 8, "sat"),
        Token("up", 3, 0, 2, "up", segment=1),
        Token("##on", 4, 2, 4, "on", segment=1),
    ]
    cats, s, sat, up, on = word_ids(tokens).tolist()
    assert (cats, up) == (s, on)
    assert cats < sat < up


def test_the_largest_weight_between_words_leaves_out_special_rows_and_columns() -> None:
    rng = np.random.default_rng(0)
    for marks in ("10001", "00000", "11111", "01111", "101010101010101010101", "0110011"):
        special = np.array([mark == "1" for mark in marks])
        weights = rng.random((3, special.size, special.size), dtype=np.float32)
        words = np.flatnonzero(~special)
        expected = weights[np.ix_(range(3), words, words)].max(axis=(1, 2)) if words.size > 1 else 0
        np.testing.assert_array_equal(largest_between_words(weights, special), expected)


def test_the_first_paint_has_the_ramps_end_of_every_head() -> None:
    widget = aw.show(TROPHY, progress=False)
    _, arrays = unpack(widget.first_paint)
    weights = widget.analysis.attention(2, 1)
    words = [i for i, token in enumerate(widget.analysis.tokens) if not token.special]
    assert arrays["word_max"][2, 1] == weights[np.ix_(words, words)].max()
    assert arrays["word_max"].shape == arrays["head_max"].shape


def test_heads_of_one_layer_alone_are_compared_with_nothing() -> None:
    links = np.array([[0.2], [0.3]])
    np.testing.assert_array_equal(beyond_the_others(links), links)
    assert links_beyond_chance(np.ones((1, 1, 1), np.float32), np.zeros((1, 1), bool)).tolist() == [
        0
    ]


def test_only_what_is_saved_is_chosen_from() -> None:
    analysis = aw.analyze(TROPHY, progress=False)
    found = opening(analysis, layers=[4, 5], heads=[1, 7])
    assert found.layer in (4, 5)
    assert found.head in (1, 7)
    assert choose_opening(survey(analysis).links, lambda *_: None, layers=[1], heads=[0]).layer == 1


def test_a_report_opens_each_text_on_its_own_head(tmp_path: Path) -> None:
    from attn_widget.page.saved_run import saved_run

    for text in (TROPHY, PARIS):
        widget = aw.show(text, progress=False)
        snapshot = saved_run(RunSource(aw.analyze(text, progress=False))).snapshot
        saved = unpack(snapshot.chunks["paint"])[0]["snapshot"]["selection"]
        assert {name: saved[name] for name in ("layer", "head", "token")} == {
            "layer": widget.layer, "head": widget.head, "token": widget.token
        }  # fmt: skip


def test_most_of_a_text_that_is_unknown_is_counted() -> None:
    meta, _ = unpack(aw.show("☃☃ ꙮꙮ snow 𓀀 𓂀", progress=False).first_paint)
    assert meta["unknown"] == {"count": 4, "tokens": 5, "text": "[UNK]"}
    for known in (TROPHY, "☃ snow"):
        assert unpack(aw.show(known, progress=False).first_paint)[0]["unknown"] is None


def test_a_head_is_compared_with_the_mean_of_the_others() -> None:
    links = np.array([[1.0, 0.0, 2.0], [3.0, 3.0, 3.0]])
    assert beyond_the_others(links).tolist() == [[0.0, -1.5, 1.5], [0.0, 0.0, 0.0]]


def test_a_sample_of_a_short_text_is_all_of_it() -> None:
    analysis = aw.analyze("The keys to the old cabinet are here.", tagger=None, progress=False)
    pairs = word_pairs(analysis.trace.tokens)
    expected = [
        links_beyond_chance(analysis.trace.layer_weights(layer), pairs)
        for layer in range(analysis.n_layers)
    ]
    assert_close(sampled_links(analysis), expected, terms=analysis.n_tokens, size=1)


@pytest.mark.parametrize(("words", "some"), [(1, False), (2, True)])
def test_the_largest_weight_between_words_needs_two_of_them(words: int, some: bool) -> None:
    tokens = ["[CLS]", *["cat", "dog"][:words], "[SEP]"]
    n = len(tokens)
    run = aw.from_attentions(np.full((1, 1, n, n), 1 / n), tokens, tagger=None)
    assert survey(run).word_max.tolist() == [[np.float32(1 / n) if some else 0.0]]
