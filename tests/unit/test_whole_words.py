"""Tokens that may only begin a word."""

from __future__ import annotations

import attn_widget as aw
from attn_widget.language.whole_words import beginnings


def test_a_token_that_the_included_vocabulary_has_as_a_word_begins_nothing_else() -> None:
    words = aw.load().tokenizer.get_vocab()
    tokens = ["ĠBras", "ĠBrazil", "▁franç", "integ", "Ġ", ",", "'s", "42", "Ġthe", "ĠRio"]
    found = beginnings(tokens)
    assert found == ["ĠBras", "▁franç", "integ"]
    assert not any(token.strip("Ġ▁").lower() in words for token in found)
