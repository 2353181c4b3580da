"""Words of a text, and the tokens of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from attn_widget.model.tokens import Token

WORD = re.compile(r"\S+")
# Scripts that are written without spaces: Chinese and Japanese, Thai, Lao, Myanmar, Khmer, Tibetan.
UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)


@dataclass(frozen=True)
class Word:
    """A word and its tokens.

    Attributes
    ----------
    start, end : int
        Characters of the text.
    first, last : int
        Its tokens: ``tokens[first:last]``.
    """

    start: int
    end: int
    first: int
    last: int


def is_unspaced(text: str) -> bool:
    """True if most letters of a text belong to scripts that are written without spaces.

    Examples
    --------
    >>> is_unspaced("猫坐在垫子上。"), is_unspaced("hello"), is_unspaced("the word 猫 means cat")
    (True, False, False)
    """
    letters = sum(character.isalpha() for character in text)
    return 2 * len(UNSPACED.findall(text)) > letters > 0


def words_of(text: str, tokens: Sequence[Token], *, single: bool = False) -> list[Word]:
    """The words of a text, divided at white space, with their tokens.

    Punctuation belongs to the word that it is written to. White space belongs to the word after it. Words that share a
    token are one.

    Parameters
    ----------
    text : str
    tokens : sequence of Token
        Special tokens belong to no word.
    single : bool
        Each token is a word of its own; those that share a character are one.
    """
    spans = [match.span() for match in WORD.finditer(text)]
    own = [(k, token) for k, token in enumerate(tokens) if not token.special]
    words: list[Word] = []
    at = 0
    for k, token in own:
        while at < len(spans) and spans[at][1] <= token.start:
            at += 1
        if at == len(spans):
            break  # white space at the end
        start, end = spans[at]
        if single:
            start, end = max(start, token.start), max(start, token.end)
        shares = bool(words) and words[-1].first < k and start < words[-1].end
        if shares:
            before = words.pop()
            words.append(Word(before.start, max(before.end, end), before.first, k + 1))
        else:
            words.append(Word(start, end, k, k + 1))
        while at + 1 < len(spans) and spans[at + 1][0] < token.end:  # a token of several words
            at += 1
            last = words.pop()
            words.append(Word(last.start, spans[at][1], last.first, k + 1))
    return [word for word in words if word.end > word.start]
