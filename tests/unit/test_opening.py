"""What a widget opens on: a link between words that says something, a ramp that ends at the words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis.opening import largest_between_words, opening, rows_to_read, sinks
from attn_widget.analysis.opening_words import Kind, Role, word_ids, words_of
from attn_widget.model.tokens import Token
from attn_widget.protocol.head_scan import survey
from attn_widget.protocol.pack import unpack
from attn_widget.protocol.run_source import RunSource
from scripts.sentence import SENTENCE
from tests.unit.needs import needs_smollm2

TROPHY = "The trophy does not fit into the brown suitcase because it is too large."
PARIS = "Paris is the capital of France."
KINDS = Path(__file__).parents[2] / "benchmarks" / "kinds.txt"
# What two links of a text have in common below: eight words far from each other.
WORDS = ["some", "dogs", "quickly", "chase", "gray", "birds", "near", "lakes"]
HEADS = 4


def linked(
    words: list[str], *links: tuple[int, int, int, int, float], heads: int = HEADS, layers: int = 2
) -> aw.Analysis:
    """A run whose rows attend evenly to all, but for ``links`` (layer, head, query, key, weight)."""
    n = len(words)
    weights = np.full((layers, heads, n, n), 1 / n)
    for layer, head, query, key, weight in links:
        weights[layer, head, query] = (1 - weight) / (n - 1)
        weights[layer, head, query, key] = weight
    return aw.from_attentions(weights.astype(np.float32), words, tagger=None)


def place(analysis: aw.Analysis) -> tuple[object, ...]:
    found = opening(analysis)
    return found.layer, found.head, found.token, found.key


def test_the_hero_is_what_show_opens_on() -> None:
    root = KINDS.parents[1]
    assert SENTENCE == TROPHY
    for page in ("README.md", "site/index.md"):
        assert f'aw.show("{SENTENCE}")' in (root / page).read_text(encoding="utf-8")
    assert "in which *it* attends to *trophy*" in (root / "README.md").read_text(encoding="utf-8")
    by_hand = re.compile(r"\b(?:layer|head|token)=\d")
    for script in ("hero.py", "demo.py", "gallery.py", "site/front.py", "site/posters.py"):
        code = (root / "scripts" / script).read_text(encoding="utf-8")
        shows = [line for line in code.splitlines() if "SENTENCE" in line or "shot.text" in line]
        assert not [line for line in shows if by_hand.search(line)], script
        assert "OPEN" not in code


def test_the_heros_sentence_opens_on_what_it_stands_for() -> None:
    widget = aw.show(TROPHY, progress=False)
    assert (widget.layer, widget.head, widget.token, widget.words) == (3, 1, 11, False)
    assert opening(widget.analysis).key == 2
    assert widget.analysis.attention(3, 1)[11, 2] == pytest.approx(0.613, abs=5e-4)


@needs_smollm2
@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("The old farmer sold his tractor to a neighbour who needed it.", ("his", "farmer")),
        ("My favourite colour is blue, and hers is", ("hers", "colour")),
    ],
)
def test_a_decoder_opens_on_what_a_pronoun_stands_for(text: str, link: tuple[str, str]) -> None:
    a = aw.analyze(text, model="smollm2", tagger=None, progress=False)
    found = opening(a)
    assert found.token and found.key  # token 0 is a sink
    assert tuple(a.tokens[i].surface.strip() for i in (found.token, found.key)) == link


def test_of_many_kinds_of_texts_the_key_is_the_strongest_word_of_its_row() -> None:
    encoder = aw.load(progress=False)
    opened = 0
    for line in KINDS.read_text(encoding="utf-8").splitlines():
        a = aw.analyze(*line.split(" ||| "), model=encoder, tagger=None, progress=False)
        found = opening(a)
        if found.token is None or found.words:
            continue
        opened += 1
        assert isinstance(found.head, int) and found.key is not None
        row = a.attention(found.layer, found.head)[found.token].copy()
        row[[token.special for token in a.tokens]] = 0
        row[found.token] = 0
        joined = words_of(a.tokens, sinks(a.tokens, None))
        summed = np.add.reduceat(row[joined.tokens], joined.starts)
        assert joined.pieces(int(summed.argmax())) == [found.key]
    assert opened >= 30


# -- clauses, each with two links of which the first breaks it -----------------------------------


@pytest.mark.parametrize("word", ["the", ",", "[UNK]", "2nd-", "if", "nobody", "x"])
def test_neither_end_is_a_function_word_a_mark_or_an_unknown_word(word: str) -> None:
    words = [*WORDS]
    words[3] = word
    worse = [(0, 0, 3, 7, 0.9), (1, 0, 7, 3, 0.9)]
    if word == "2nd-":  # a word with a mark in it is one
        assert place(linked(words, *worse))[:2] == (0, 0)
        return
    assert place(linked(words, *worse, (1, 2, 1, 5, 0.5))) == (1, 2, 1, 5)


def test_the_two_ends_are_different_words() -> None:
    words = [*WORDS[:7], "Birds"]
    a = linked(words, (0, 0, 7, 5, 0.9), (1, 2, 1, 5, 0.5))
    assert place(a) == (1, 2, 1, 5)


def test_neighbors_are_no_link_while_there_is_another() -> None:
    near = (0, 0, 4, 5, 0.9)
    assert place(linked(WORDS, near, (1, 2, 1, 5, 0.5))) == (1, 2, 1, 5)
    assert place(linked(WORDS, near)) == (0, 0, 4, 5)


def test_a_head_that_looks_at_one_key_is_a_column() -> None:
    column = [(0, 0, query, 5, 0.8) for query in (0, 1, 3, 7)]
    assert place(linked(WORDS, *column, (1, 2, 1, 5, 0.5))) == (1, 2, 1, 5)
    assert place(linked(WORDS, *column[:2], (1, 2, 1, 5, 0.5)))[:2] == (0, 0)


@pytest.mark.parametrize("offset", [-3, -2, 2, 3])
def test_a_head_that_looks_over_one_distance_is_an_offset(offset: int) -> None:
    fixed = [(0, 0, i, i + offset, 0.8) for i in range(8) if 0 <= i + offset < 8]
    assert place(linked(WORDS, *fixed, (1, 2, 1, 5, 0.5))) == (1, 2, 1, 5)
    assert place(linked(WORDS, fixed[1], fixed[-2], (1, 2, 1, 5, 0.5)))[:2] == (0, 0)


def test_no_other_head_of_the_layer_gives_the_link_more_and_few_heads_have_it() -> None:
    shared = [(0, head, 3, 7, 0.8) for head in range(3)]
    assert place(linked(WORDS, *shared, (1, 2, 1, 5, 0.5))) == (1, 2, 1, 5)
    assert place(linked(WORDS, (0, 0, 3, 7, 0.7), (0, 1, 3, 7, 0.8)))[1] == 1


def test_a_link_has_twice_an_even_share() -> None:
    faint = linked(WORDS, (0, 0, 3, 7, 0.24), (1, 2, 3, 4, 0.9))
    assert place(faint)[:2] == (1, 2)
    assert place(linked(WORDS, (0, 0, 3, 7, 0.26), (1, 2, 3, 4, 0.9)))[:2] == (0, 0)


@needs_smollm2
def test_a_word_of_many_tokens_has_their_chance() -> None:
    """A fifth or two on *1969*, five of ten tokens, is less than they get by chance."""
    a = aw.analyze(
        "In 1969 the first man walked on the", model="smollm2", tagger=None, progress=False
    )
    found = opening(a)
    assert found.token is not None and found.key is not None
    assert [a.tokens[i].surface for i in (found.token, found.key)] == ["walked", "first"]


def test_a_head_of_sinks_counts_by_what_it_gives_words() -> None:
    words = ["[CLS]", *WORDS]
    a = linked(words, (0, 0, 4, 8, 0.8), (1, 2, 2, 6, 0.6))
    weights = np.stack([a.trace.layer_weights(layer) for layer in range(2)])
    weights[0, 0, :4] = weights[0, 0, 5:] = np.eye(9)[0]
    assert place(a) == (0, 0, 4, 8)
    sinking = aw.from_attentions(weights, words, tagger=None)
    assert place(sinking) == (1, 2, 2, 6)


def test_masks_come_before_pronouns_before_verbs_before_others() -> None:
    words = [
        "the",
        "old",
        "dog",
        "lost",
        "its",
        "bone",
        "near",
        "[MASK]",
        "because",
        "many",
        "walls",
        "fell",
    ]
    other, verb, pronoun, mask = (1, 5, 0.55), (3, 5, 0.55), (4, 2, 0.55), (7, 10, 0.55)
    order = [other, verb, pronoun, mask]
    for best in range(1, 4):
        links = [(i % 2, i, *link) for i, link in enumerate(order[: best + 1])]
        assert place(linked(words, *links))[2:] == order[best][:2]


def test_a_pronoun_stands_for_a_noun_before_it() -> None:
    words = ["the", "farmer", "sold", "his", "large", "tractor", "and", "then", "quickly", "left"]
    before, after = (0, 0, 3, 1, 0.5), (1, 2, 3, 5, 0.6)
    assert place(linked(words, before, after)) == (0, 0, 3, 1)
    assert place(linked(words, (0, 0, 3, 9, 0.6), (1, 2, 5, 2, 0.3)))[:2] == (1, 2)  # no noun


def test_a_copula_agrees_with_its_subject() -> None:
    words = ["the", "keys", "to", "the", "cabinet", "are", "on", "the", "table"]
    assert place(linked(words, (0, 0, 5, 1, 0.4), (1, 2, 4, 8, 0.5))) == (0, 0, 5, 1)
    there = ["once", "there", "was", "a", "king", "near", "the", "river"]
    assert place(linked(there, (0, 0, 2, 0, 0.9)))[2] is None


def test_no_form_of_be_is_a_key() -> None:
    to_was, to_lol = (0, 0, 0, 2, 0.9), (1, 2, 2, 0, 0.5)
    assert place(linked(["lol", "that", "was", "the", "of"], to_was, to_lol)) == (1, 2, 2, 0)


def test_a_predicate_is_of_a_noun_in_its_clause() -> None:
    words = ["the", "movie", "was", "not", "good", ",", "but", "the", "actors", "were", "brilliant"]
    across, within = (0, 0, 10, 1, 0.5), (1, 2, 4, 1, 0.45)
    assert place(linked(words, across, within)) == (1, 2, 4, 1)
    flies = ["the", "time", "flies", "like", "an", "arrow", "near", "gray", "walls"]
    assert place(linked(flies, (0, 0, 3, 5, 0.9), (1, 2, 7, 2, 0.4)))[:2] == (1, 2)


def test_words_are_joined_from_their_pieces_and_shown_so() -> None:
    widget = aw.show("El perro duerme en la cama de mi hermana.", progress=False)
    a, token = widget.analysis, widget.token
    found = opening(a)
    assert token is not None and found.key is not None and widget.words
    joined = a.view(words=True)
    word = {
        a.text[t.start : t.end] for t in joined.tokens if t.start <= a.tokens[token].start < t.end
    }
    key = {
        a.text[t.start : t.end]
        for t in joined.tokens
        if t.start <= a.tokens[found.key].start < t.end
    }
    assert (word, key) == ({"cama"}, {"hermana"})
    widget.run(TROPHY)
    assert not widget.words
    widget.words = True  # chosen by hand: it stays
    widget.run(PARIS)
    assert widget.words
    assert not aw.show("El perro duerme en la cama.", words=False, progress=False).words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The old farmer sold his tractor", "fCNVPN"),
        ("Anna met Ben Smith in Rome", "CCNNfN"),
        ("There was a king who ruled.", "fffNPV."),
        ("I think the keys are lost", "IVfNKA"),
        ("Mix the flour and wait", "VfNfN"),
        ("nobody in the house saw [MASK] [UNK]", "fffCNM."),
    ],
)
def test_lists_and_order_tell_what_a_word_is(text: str, expected: str) -> None:
    words = text.replace(".", " .").split()
    tokens = aw.from_attentions(
        np.full((1, 1, len(words), len(words)), 1 / len(words)), words, text=text, tagger=None
    ).tokens
    found = words_of(tokens, np.zeros(len(words), dtype=bool))
    letters = {
        Kind.OUTSIDE: ".", Kind.FUNCTION: "f", Kind.PERSON: "I", Kind.PRONOUN: "P", Kind.COPULA: "K", Kind.MASK: "M"
    }  # fmt: skip
    roles = {Role.UNTOLD: "C", Role.NOUN: "N", Role.VERB: "V", Role.PREDICATE: "A"}
    told = [letters.get(Kind(k)) or roles[Role(r)] for k, r in zip(found.kinds, found.roles, strict=True)]  # fmt: skip
    assert "".join(told) == expected


@pytest.mark.parametrize(
    "text",
    [
        "cat",
        "cat cat cat",
        "...",
        "[MASK]",
        "of the and to",
        "it",
        "[UNK] [UNK]",
        "\u2603 \ua66e",
        "x",
    ],
)
def test_a_text_in_which_nothing_is_linked_opens_on_the_first_head(text: str) -> None:
    widget = aw.show(text, progress=False)
    assert (widget.layer, widget.head, widget.token) == (0, 0, None)
    assert aw.show(text, layer=2, progress=False).layer == 2


@pytest.mark.parametrize("text", ["Dogs bark.", "I love you", "10 + 20 = 30", "red green"])
def test_a_text_without_a_link_worth_reading_opens_on_one_between_its_words(text: str) -> None:
    found = opening(aw.analyze(text, tagger=None, progress=False))
    assert found.token is not None and found.key is not None


def test_a_thousand_words_without_a_full_stop_open_on_a_link() -> None:
    text = "the farmer sold his tractor and then the teacher read her book " * 85
    a = aw.analyze(text, tagger=None, truncation=True, progress=False)
    found = opening(a)
    assert found.token is not None and found.key is not None
    assert a.tokens[found.token].surface in ("his", "her")


def test_rows_of_a_long_text_are_masks_pronouns_and_others_evenly() -> None:
    kinds = np.full(300, Kind.CONTENT)
    kinds[10::20], kinds[[7, 250]] = Kind.PRONOUN, Kind.MASK
    kinds[1::3] = Kind.OUTSIDE
    rows = rows_to_read(kinds, 64)
    assert len(rows) == 64 == len(set(rows)) and (np.diff(rows) > 0).all()
    assert Kind.OUTSIDE not in kinds[rows]
    assert set(np.flatnonzero((kinds == Kind.PRONOUN) | (kinds == Kind.MASK))) <= {*rows.tolist()}
    assert np.diff(rows).max() <= 15


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
    a = aw.analyze(TROPHY, progress=False)
    assert opened(layer=4)[0] == 4
    assert opened(layer=4)[1:] == (opening(a, layers=[4]).head, opening(a, layers=[4]).token)
    assert opened(head=7)[0] == opening(a, heads=[7]).layer
    assert opened(layer=4)[2] is not None


def test_another_text_opens_anew_unless_a_head_was_chosen_by_hand() -> None:
    fresh = aw.show(PARIS, progress=False)
    widget = aw.show(TROPHY, progress=False)
    widget.run(PARIS)
    assert (widget.layer, widget.head, widget.token) == (fresh.layer, fresh.head, fresh.token)
    widget.head = (int(fresh.head) + 1) % widget.analysis.trace.n_heads
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


def test_pairs_of_texts_are_one_text_here() -> None:
    widget = aw.show(PARIS, "It is an old city.", progress=False)
    assert widget.token is not None
    assert not widget.analysis.tokens[widget.token].special


def test_tensors_from_outside_open_too() -> None:
    names = ["[CLS]", "the", "dogs", "saw", "gray", "birds", "[SEP]"]
    weights = np.full((2, 3, 7, 7), 1 / 7, dtype=np.float32)
    weights[1, 2] = np.eye(7)[[0, 3, 5, 1, 2, 4, 6]]
    widget = aw.AttentionWidget(aw.from_attentions(weights, names))
    assert (widget.layer, widget.head, widget.token) == (1, 2, 2)
    even = aw.AttentionWidget(aw.from_attentions(np.full((2, 3, 4, 4), 0.25), ["a", "b", "c", "d"]))
    assert (even.layer, even.head, even.token) == (0, 0, None)
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


def test_a_point_or_comma_between_digits_is_part_of_a_number() -> None:
    run = aw.analyze("He paid 3.50, not 1,200. 5 left.", tagger=None, progress=False)
    numbers = word_ids(run.tokens).tolist()
    words: dict[int, str] = {}
    for token, number in zip(run.tokens, numbers, strict=True):
        words[number] = words.get(number, "") + token.surface
    assert [*words.values()][1:] == ["He", "paid", "3.50", "not", "1,200", "5", "left"]


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


def test_only_what_is_saved_is_chosen_from() -> None:
    analysis = aw.analyze(TROPHY, progress=False)
    found = opening(analysis, layers=[4, 5], heads=[1, 7])
    assert found.layer in (4, 5)
    assert found.head in (1, 7)
    assert opening(analysis, layers=[1], heads=[0]).layer == 1


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


@pytest.mark.parametrize(("words", "some"), [(1, False), (2, True)])
def test_the_largest_weight_between_words_needs_two_of_them(words: int, some: bool) -> None:
    tokens = ["[CLS]", *["cat", "dog"][:words], "[SEP]"]
    n = len(tokens)
    run = aw.from_attentions(np.full((1, 1, n, n), 1 / n), tokens, tagger=None)
    assert survey(run).word_max.tolist() == [[np.float32(1 / n) if some else 0.0]]


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("Someone said anything about everything.", "someone anything about everything"),
        ("She always came here often, now or soon.", "always here often now or soon"),
        ("You can't, you won't, you don't.", "can won don"),
        ("Les enfants jouent devant la maison depuis midi.", "les devant la depuis"),
        ("Der Hund schläft jetzt immer hinter dem Haus.", "der jetzt immer hinter dem"),
        ("El perro duerme ahora siempre bajo la mesa.", "el ahora siempre bajo la"),
        ("Il cane dorme sempre dietro alla casa.", "il sempre dietro alla"),
        ("O gato sempre dorme aqui, porém não agora.", "o sempre aqui porém não agora"),
        ("It’s late, and I'm sure she'll sleep.", "it's it’s i'm she'll"),
        ("Die Katze schläft.", "die"),
        ("Собака спит на диване, а кошка сидит у окна.", "на а у"),
        ("De hond slaapt altijd tussen het huis en niets.", "de altijd tussen het en niets"),
    ],
)
def test_words_of_closed_classes_are_no_content(text: str, function: str) -> None:
    run = aw.analyze(text, tagger=None, progress=False)
    units = words_of(run.tokens, sinks(run.tokens, None))
    written = [
        "".join(run.tokens[i].surface for i in units.pieces(u)).strip().lower()
        for u in range(len(units.starts))
    ]
    content = {
        name for name, kind in zip(written, units.kinds, strict=True) if kind == Kind.CONTENT
    }
    assert len(content) > 0 or "won" in function
    assert not content & set(function.split())


def test_english_words_that_are_function_words_elsewhere_make_no_other_language() -> None:
    run = aw.analyze("War as no son, pendant car", tagger=None, progress=False)
    units = words_of(run.tokens, sinks(run.tokens, None))
    assert (units.kinds == Kind.CONTENT).sum() == 4  # war, son, pendant, car
