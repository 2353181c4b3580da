"""Words that an English vocabulary has whole, by which pieces of another vocabulary are known as such."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from attn_widget.model.places import MINI

PIECE = "##"


def beginnings(tokens: Iterable[str]) -> list[str]:
    """Tokens of a decoder's vocabulary that may only begin a word: their letters are no word of the included model's vocabulary.

    >>> beginnings(["ĠBras", "ĠBrazil", "Ġthe", "integ", ",", "42"])
    ['ĠBras', 'integ']
    """
    words = _words()
    spelled = {token: _letters(token) for token in tokens}
    return [token for token, letters in spelled.items() if letters and letters not in words]


def _letters(token: str) -> str:
    """The letters of a token in the spelling of the vocabulary; empty of a token with anything else."""
    name = unicodedata.normalize("NFD", token.strip("Ġ▁ "))
    bare = "".join(letter for letter in name if not unicodedata.combining(letter)).lower()
    return bare if bare.isalpha() else ""


@lru_cache(maxsize=1)
def _words() -> frozenset[str]:
    vocabulary = json.loads((MINI / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    return frozenset(token for token in vocabulary if not token.startswith(PIECE))
