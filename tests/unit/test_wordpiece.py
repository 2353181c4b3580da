"""The tokenizer in Python alone gives what `tokenizers` gives."""

from __future__ import annotations

import random
import sys
import unicodedata

import pytest
from tokenizers import Tokenizer

from attn_widget.model.places import MINI
from attn_widget.model.wordpiece import WordPiece
from tests.hard_texts import HARD_TEXTS

PATH = MINI / "tokenizer.json"
PARTS = ("ids", "tokens", "type_ids", "sequence_ids", "offsets", "attention_mask")


@pytest.fixture(scope="module")
def ours() -> WordPiece:
    return WordPiece(PATH)


@pytest.fixture(scope="module")
def theirs() -> Tokenizer:
    return Tokenizer.from_file(str(PATH))


def made_texts() -> list[str]:
    """Texts of random characters that both versions of Unicode know, and of random words."""
    rng = random.Random(7)
    known = [
        chr(code)
        for code in range(1, sys.maxunicode + 1)
        # The tables of Python and of tokenizers are of different versions of Unicode; both know this one.
        if unicodedata.category(chr(code)) not in ("Cn", "Cs")
        and unicodedata.ucd_3_2_0.category(chr(code)) != "Cn"
    ]
    return ["".join(rng.choices(known, k=rng.randint(1, 40))) for _ in range(300)]


@pytest.mark.parametrize("texts", [HARD_TEXTS, made_texts()], ids=["hard", "made"])
def test_tokens_ids_and_offsets_are_those_of_tokenizers(
    ours: WordPiece, theirs: Tokenizer, texts: list[str]
) -> None:
    for text in texts:
        a, b = ours.encode(text), theirs.encode(text)
        for part in PARTS:
            assert getattr(a, part) == getattr(b, part), (part, text)


@pytest.mark.parametrize("limit", [5, 8, 9, 12, 40])
def test_pairs_are_cut_alike(ours: WordPiece, theirs: Tokenizer, limit: int) -> None:
    words = "the old keeper of the light tells her [MASK] unbelievably"
    for first, second in (("cat", words), (words, "cat"), (words, words), (words, None)):
        for tokenizer in (ours, theirs):
            tokenizer.enable_truncation(limit, strategy="longest_first")
        a, b = ours.encode(first, second), theirs.encode(first, second)
        assert [getattr(a, part) for part in PARTS] == [getattr(b, part) for part in PARTS]
        assert len(a.ids) <= limit
    for tokenizer in (ours, theirs):
        tokenizer.no_truncation()


def test_the_vocabulary_is_the_same(ours: WordPiece, theirs: Tokenizer) -> None:
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.id_to_token(103) == "[MASK]" and ours.token_to_id("cat") == 4937
    assert ours.id_to_token(30_522) is None and ours.token_to_id("no such token") is None
