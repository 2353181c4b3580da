"""Alignment of hard pairs: every matched word is one that a reader would match, and none is matched twice."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import attn_widget as aw
from attn_widget.features.comparison.alignment import align_tokens, align_words, split_text
from attn_widget.model.tokens import Token
from tests.unit import tiny_models

# Two texts, and the matched words of A and of B, by their places. "=" : the same places in both.
PAIRS: list[tuple[str, str, str]] = [
    # One word is another
    ("he is here", "she is here", "1-1 2-2"),
    ("The keys are here.", "The key are here.", "0-0 2-2 3-3 4-4"),
    ("the cat sat", "the dog sat", "0-0 2-2"),
    ("the cat sat", "the cat ran", "0-0 1-1"),
    ("cats sat", "dogs sat", "1-1"),
    ("a b c d", "a x c y", "0-0 2-2"),
    ("He said it.", "He did not say it.", "0-0 2-4 3-5"),
    ("colour matters", "color matters", "1-1"),
    ("The nurse said he left", "The nurse said she left", "0-0 1-1 2-2 4-4"),
    ("It costs 3.50 now", "It costs 4.50 now", "0-0 1-1 3-3"),
    # Insertions
    ("the cat sat", "the old cat sat", "0-0 1-2 2-3"),
    ("the cat sat", "today the cat sat", "0-1 1-2 2-3"),
    ("the cat sat", "the cat sat down", "0-0 1-1 2-2"),
    ("the cat sat", "the very very old cat sat", "0-0 1-4 2-5"),
    ("I like it", "I do not like it", "0-0 1-3 2-4"),
    ("Yes.", "Yes, sir.", "0-0 1-3"),
    ("the cat sat", "the cat, sat", "0-0 1-1 2-3"),
    ("the cat sat", '"the cat sat"', "0-1 1-2 2-3"),
    ("a cat", "once upon a time there was a cat", "0-6 1-7"),
    ("we left early", "we, as you know, left early", "0-0 1-6 2-7"),
    # Deletions
    ("the old cat sat", "the cat sat", "0-0 2-1 3-2"),
    ("today the cat sat", "the cat sat", "1-0 2-1 3-2"),
    ("the cat sat down", "the cat sat", "0-0 1-1 2-2"),
    ("I do not like it", "I like it", "0-0 3-1 4-2"),
    ("Well, he left.", "he left.", "2-0 3-1 4-2"),
    ("one two three four five", "one five", "0-0 4-1"),
    ("one two three four five", "three", "2-0"),
    ("really, really good", "good", "3-0"),
    # Repeats
    ("the the cat", "the cat", "1-0 2-1"),
    ("the cat", "the the cat", "0-1 1-2"),
    ("very very good", "very good", "1-0 2-1"),
    ("no no no", "no no", "0-0 1-1"),
    ("a a b", "b a a", "0-1 1-2"),
    ("cat dog cat", "cat", "0-0"),
    ("the dog saw the cat", "the cat", "3-0 4-1"),
    ("the cat and the dog", "the dog", "3-0 4-1"),
    ("the dog saw the cat", "the dog", "0-0 1-1"),
    ("to be or not to be", "to be", "0-0 1-1"),
    ("to be or not to be", "not to be", "3-0 4-1 5-2"),
    ("ha ha ha", "ha ha ha ha", "0-0 1-1 2-2"),
    # Swapped clauses: the longer one stays
    ("when it rains I read", "I read when it rains", "0-2 1-3 2-4"),
    ("I read when it rains", "when it rains I read", "2-0 3-1 4-2"),
    ("the big dog ran, the cat sat", "the cat sat, the big dog ran", "0-4 1-5 2-6 3-7"),
    ("cats chase dogs", "dogs chase cats", "1-1"),
    ("if you go I will stay here", "I will stay here if you go", "3-0 4-1 5-2 6-3"),
    ("red green blue", "blue red green", "0-1 1-2"),
    # Case and punctuation
    ("The Cat", "the cat", "="),
    ("THE CAT SAT", "the cat sat", "="),
    ("the cat sat.", "the cat sat!", "0-0 1-1 2-2"),
    ("it's here", "it’s here", "="),
    ("don't go", "do not go", "1-2"),
    ("Hello, world!", "Hello world", "0-0 2-1"),
    ("yes , no", "no , yes", "0-2"),
    ("well... fine", "well fine", "0-0 4-1"),
    ("(a) b", "a b", "1-0 3-1"),
    ("ﬁne day", "fine day", "="),
    ("café closed", "cafe\u0301 closed", "="),
    ("Straße hier", "STRASSE hier", "="),
    # Nothing, or next to nothing, in common
    ("cats purr", "dogs bark", ""),
    ("cats", "cat", ""),
    ("one.", "two.", "1-1"),
    ("hello", "你好", ""),
    ("a", "a", "="),
    ("a", "b", ""),
    # Chinese and Japanese: a character is a word, katakana stays whole
    ("我喜欢猫", "我喜欢狗", "0-0 1-1 2-2"),
    ("我喜欢猫", "我不喜欢猫", "0-0 1-2 2-3 3-4"),
    ("他在这里", "她在这里", "1-1 2-2 3-3"),
    ("今天下雨", "下雨", "2-0 3-1"),
    ("我说，你听。", "我说你听。", "0-0 1-1 3-2 4-3 5-4"),
    ("猫がすき", "犬がすき", "1-1 2-2 3-3"),
    ("コーヒーを飲む", "コーヒーも飲む", "0-0 2-2 3-3"),
    ("我有 iPhone", "我没有 iPhone", "0-0 1-2 2-3"),
    # From right to left, and other scripts
    ("הוא כאן", "היא כאן", "1-1"),
    ("الولد هنا", "البنت هنا", "1-1"),
    ("هو يقرأ الكتاب", "هو لا يقرأ الكتاب", "0-0 1-2 2-3"),
    ("שלום, עולם", "שלום עולם", "0-0 2-1"),
    ("кот спит", "Кот не спит", "0-0 1-2"),
    ("η γάτα κοιμάται", "η γάτα τρέχει", "0-0 1-1"),
    ("मैं यहाँ हूँ", "तुम यहाँ हो", "1-1"),
    ("나는 여기 있다", "너는 여기 있다", "1-1 2-2"),
    # Numbers, emoji, links of words
    ("in 1998 he left", "in 1999 he left", "0-0 2-2 3-3"),
    ("good 🙂 day", "good 🙁 day", "0-0 2-2"),
    ("state-of-the-art", "state of the art", "0-0 2-1 4-2 6-3"),
    ("a/b", "a or b", "0-0 2-2"),
]


def expected(text: str, n: int) -> list[tuple[int, int]]:
    if text == "=":
        return [(i, i) for i in range(n)]
    return [(int(a), int(b)) for a, b in (pair.split("-") for pair in text.split())]


def test_there_are_eighty() -> None:
    assert len(PAIRS) >= 80


@pytest.mark.parametrize(("a", "b", "pairs"), PAIRS)
def test_words_that_a_reader_would_match(a: str, b: str, pairs: str) -> None:
    words_a, words_b = split_text(a), split_text(b)
    assert list(align_words(words_a, words_b)) == expected(pairs, len(words_a))


def test_the_subsequence_is_as_long_as_any() -> None:
    for a, b in itertools.product(itertools.product("xyz", repeat=4), repeat=2):
        lengths = [[0] * 5 for _ in range(5)]
        for i, j in itertools.product(range(4), repeat=2):
            one = lengths[i][j] + 1 if a[i] == b[j] else 0
            lengths[i + 1][j + 1] = max(one, lengths[i][j + 1], lengths[i + 1][j])
        found = align_words(split_text(" ".join(a)), split_text(" ".join(b)))
        assert len(found) == lengths[4][4]
        assert all(a[i] == b[j] for i, j in found)
        assert all(x[0] < y[0] and x[1] < y[1] for x, y in itertools.pairwise(found))


TEXTS = [
    "The cat sat on the mat, and naïve Dr. Smith's dog ran.",
    "我喜欢猫 and 犬 🙂🙂",
    "שלום עולם x",
]
CHANGED = [
    "The old cat sat on a mat; naïve Dr. Smith's dogs ran.",
    "我不喜欢 and 犬 🙂",
    "שלום לך עולם y",
]


def checked(a: Any, b: Any) -> Any:
    """The alignment, if nothing is matched twice and matched tokens stand in matched words."""
    found = aw.compare(a, b).alignment
    for side in (0, 1):
        places = [pair[side] for pair in found.tokens]
        assert len(set(places)) == len(places)
        assert sorted([*places, *(found.unmatched_a, found.unmatched_b)[side]]) == [
            *range((a, b)[side].n_tokens)
        ]
    words = {(found.words_a[i].start, found.words_b[j].start) for i, j in found.words}
    for i, j in found.tokens:
        one, other = a.trace.tokens[i], b.trace.tokens[j]
        assert one.special == other.special
        if not one.special:
            # In the same pair of words
            assert any(
                found.words_a[u].start < one.end
                and one.start < found.words_a[u].end
                and found.words_b[v].start < other.end
                and other.start < found.words_b[v].end
                for u, v in found.words
            ), (one, other, words)
    return found


@pytest.mark.parametrize(
    "families",
    [("bert", "bert"), ("bert", "roberta"), ("modernbert", "albert"), ("albert", "modernbert")],
)
def test_tokens_of_two_tokenizers(families: tuple[str, str]) -> None:
    first, second = (tiny_models.build(family) for family in families)
    for text, changed in zip(TEXTS, CHANGED, strict=True):
        a = aw.analyze(text, model=first, tagger=None, progress=False)
        b = aw.analyze(changed, model=second, tagger=None, progress=False)
        found = checked(a, b)
        assert (0, 0) in found.tokens and (
            a.trace.n_tokens - 1,
            b.trace.n_tokens - 1,
        ) in found.tokens
        same = checked(a, a)
        assert (
            same.tokens == tuple((i, i) for i in range(a.trace.n_tokens)) or families[0] != "bert"
        )


def test_pairs_and_masks() -> None:
    model = tiny_models.build("bert")

    def run(*text: str) -> Any:
        return aw.analyze(*text, model=model, tagger=None, progress=False)

    a, b = run("the cat sat", "the dog ran"), run("the dog ran", "the cat sat")
    found = checked(a, b)  # segments are not mixed
    segments = [a.trace.tokens[i].segment == b.trace.tokens[j].segment for i, j in found.tokens]
    assert all(segments) and len(found.tokens) > 3
    single = checked(run("the cat sat"), a)
    assert single.tokens[-1][0] == run("the cat sat").n_tokens - 1 and single.unmatched_b
    masked = run("the cat sat").mask([2])
    assert checked(run("the cat sat"), masked).tokens == tuple(
        (i, i) for i in range(masked.n_tokens)
    )


def test_tokens_inside_a_word() -> None:
    def pieces(*surfaces: str) -> list[Token]:
        ends = [*itertools.accumulate(map(len, surfaces))]
        return [
            Token(text, 0, end - len(text), end, text)
            for text, end in zip(surfaces, ends, strict=True)
        ]

    found = align_tokens(pieces("un", "believable"), pieces("unbeliev", "able"))
    assert found.tokens == ((0, 0), (1, 1))
    assert align_tokens(pieces("cats"), pieces("c", "ats")).tokens == ((0, 1),)
    assert align_tokens(pieces("c", "ats"), pieces("ca", "ts")).words == ((0, 0),)
