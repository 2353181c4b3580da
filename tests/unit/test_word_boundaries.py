"""Words and sentences without the package `regex`, as a browser's kernel finds them: the same as with it."""

from __future__ import annotations

import sys
from unicodedata import category

import pytest
import regex

from attn_widget.host import pattern
from attn_widget.language import lines, segment, words
from attn_widget.language.word_boundaries import word_boundaries
from tests.hard_texts import HARD_TEXTS

BOUNDARY = regex.compile(r"(?V1)(?w)\b")
STEP = 7  # of the code points above the most used ones
FLAGS = range(0x1F1E6, 0x1F200)  # of two halves; `regex` takes the letter after a half to it


def boundaries(text: str) -> list[int]:
    return [found.start() for found in BOUNDARY.finditer(text)]


@pytest.mark.parametrize("text", HARD_TEXTS)
def test_a_hard_text_has_the_words_and_sentences_of_regex(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(words.split_words(text)), segment.sentence_starts(text)
    for module in (lines, segment):
        for name, value in list(vars(module).items()):
            if isinstance(value, pattern.Pattern):
                monkeypatch.setattr(module, name, pattern.Pattern(value._source))
    monkeypatch.setattr(pattern, "has_regex", lambda: False)
    monkeypatch.setattr(words, "has_regex", lambda: False)
    assert type(lines.GOES_ON._compiled).__module__ == "re"
    assert (list(words.split_words(text)), segment.sentence_starts(text)) == expected


def test_every_kind_of_character_breaks_where_it_does_for_regex() -> None:
    codes = [*range(0x3000), *range(0x3000, sys.maxunicode + 1, STEP)]
    known = [
        chr(code)
        for code in codes
        if category(chr(code)) not in ("Cn", "Co", "Cs") and code not in FLAGS
    ]
    differing = [
        character
        for character in known
        for text in (f"a{character}b1{character}2", f"x {character}")
        if list(word_boundaries(text)) != boundaries(text)
    ]
    assert len(known) > 25_000 and differing == []
