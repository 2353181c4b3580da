"""Words of a text as a link reads them: joined from their pieces, and what each one is as far as lists and order tell.

js/src/features/engine/page/opening/words.ts is the same for a text that is typed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple
from unicodedata import category, east_asian_width

import numpy as np
from numpy.typing import NDArray

from attn_widget.language.function_words import (
    ALSO_ENGLISH,
    BEFORE_ADJECTIVES,
    BEFORE_VERBS,
    CONJUNCTIONS,
    COPULAS,
    DETERMINERS,
    ELSEWHERE,
    FUNCTION_WORDS,
    PRONOUNS,
    REFERRING,
    uncontracted,
)
from attn_widget.model.tokens import Token

MASKS, UNKNOWN = ("[MASK]", "<mask>"), ("[UNK]", "<unk>")  # texts of tokens
FEW_WORDS = 4  # fewer tell no language
SHORT_LATIN = re.compile(r"[a-z\u00df-\u017f]{1,3}")  # a common word of another language
UMLAUT = re.compile("[äöüß]")
COMMON = 3  # one in so many words of one token is common where no list knows the language
# Chinese characters that are words of grammar; hiragana are that as well.
GRAMMAR = re.compile("[的了在是和不也就都而及与着或一个这那们里上下吗呢吧被把给让从到对为于之其子我你他她它\u3041-\u309f]+")  # fmt: skip
APOSTROPHES = ("'", "’")
SENTENCE_ENDS = frozenset('.!?:"“')
ENDS = SENTENCE_ENDS | frozenset(",;") | CONJUNCTIONS | {""}  # an order may follow: *mix the flour*


class Kind(IntEnum):
    """Kinds of units, as far as links depend on them."""

    OUTSIDE = 0  # punctuation, a symbol, an unknown word, part of a word whose rest is a sink
    FUNCTION = 1
    PERSON = 2  # a pronoun that stands for who speaks or is spoken to
    CONTENT = 3
    PRONOUN = 4  # that may stand for a word before it
    COPULA = 5
    MASK = 6


class Role(IntEnum):
    """Roles of a content word, as far as its neighbors tell."""

    UNTOLD = 0
    NOUN = 1
    VERB = 2
    PREDICATE = 3  # after a form of *be*, or a degree


class Words(NamedTuple):
    """Units of a text: words, marks and symbols, each of consecutive tokens; sinks are in none."""

    tokens: NDArray[np.intp]  # [t]; the tokens of all units, in order
    # starts, sizes: [u]; where the tokens of each unit begin in ``tokens``, and how many they are.
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]
    names: NDArray[np.intp]  # [u]; equal for equal words
    kinds: NDArray[np.intp]  # kinds, roles: [u]; of `Kind` and `Role`
    roles: NDArray[np.intp]

    def pieces(self, unit: int) -> list[int]:
        """The tokens of a unit."""
        start = self.starts[unit]
        return self.tokens[start : start + self.sizes[unit]].tolist()


def word_ids(
    tokens: Sequence[Token], outside: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """The number of each token's word, int [n]; -1 for punctuation, symbols, white space and the tokens ``outside``.

    By default these are the special ones.

    Words are what white space, punctuation, symbols or special tokens set apart; a Chinese or Japanese character
    begins one. A point or comma between two digits is part of a number. This is less than `language` knows, and needs neither a segmenter nor a tagger.

    >>> from attn_widget import analyze
    >>> word_ids(analyze("a catfish, a bird", progress=False).tokens).tolist()
    [-1, 1, 2, -1, 4, 5, -1]
    """
    ids = np.full(len(tokens), -1, dtype=np.int32)
    number = -1
    before: Token | None = None
    for i, token in enumerate(tokens):
        in_number = _is_in_number(tokens, i)
        apart = (
            before is None
            or before.segment != token.segment
            or before.end < token.start
            or _is_wide(token.surface)
        )
        left_out = token.special if outside is None else outside[i]
        # A tokenizer of letters, or one of bytes, has tokens of white space alone.
        if left_out or not (in_number or _is_spelled(token.surface)):
            number, before = number + 1, None
            continue
        number += apart
        ids[i], before = number, token
    return ids


def words_of(tokens: Sequence[Token], outside: NDArray[np.bool_]) -> Words:
    """The units of a text without the tokens ``outside``, bool [n]."""
    ids = word_ids(tokens, outside).tolist()
    units: list[list[int]] = []
    for i in np.flatnonzero(~outside).tolist():
        if units and units[-1][-1] == i - 1 and ids[i] >= 0 and ids[i] == ids[i - 1]:
            units[-1].append(i)
        else:
            units.append([i])
    written = ["".join(tokens[i].surface for i in unit).strip() for unit in units]
    names = [word.lower() for word in written]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    kinds = _kinds(tokens, outside, units, names)
    sizes = np.array([len(unit) for unit in units], dtype=np.intp)
    return Words(
        np.array([i for unit in units for i in unit], dtype=np.intp),
        np.cumsum(sizes) - sizes,
        sizes,
        np.array([numbers[name] for name in names], dtype=np.intp),
        np.array(kinds, dtype=np.intp),
        np.array(_roles(written, names, kinds), dtype=np.intp),
    )


def _kinds(
    tokens: Sequence[Token],
    outside: NDArray[np.bool_],
    units: Sequence[Sequence[int]],
    names: Sequence[str],
) -> list[Kind]:
    common = _common(tokens, units, names)

    def kind(
        unit: Sequence[int], name: str, is_common: bool, before: str, after: str, third: str
    ) -> Kind:
        first, name = unit[0], uncontracted(name)
        if tokens[first].text in MASKS:
            return Kind.MASK
        rest_is_sink = (
            first > 0
            and outside[first - 1]
            and not tokens[first - 1].special
            and tokens[first - 1].end == tokens[first].start
        )
        if rest_is_sink or not _is_word(name) or any(tokens[i].text in UNKNOWN for i in unit):
            return Kind.OUTSIDE
        if name in REFERRING:
            return Kind.PRONOUN
        if name in COPULAS and before not in PRONOUNS and before != "there":
            return Kind.COPULA
        if name in PRONOUNS:
            return Kind.PERSON
        if name == "like" and after in DETERMINERS and before not in BEFORE_VERBS:
            return Kind.FUNCTION  # of a comparison
        if after in APOSTROPHES and third == "t":
            return Kind.FUNCTION  # *won* of *won't*
        letter = len(name) == 1 and name.isascii() and name.isalpha()
        is_function = name in FUNCTION_WORDS or GRAMMAR.fullmatch(name)
        return Kind.FUNCTION if is_function or is_common or letter else Kind.CONTENT

    around = (["", *names][: len(names)], [*names[1:], ""], [*names[2:], "", ""])
    return [
        kind(*one)
        for one in zip(units, names, common, *(some[: len(names)] for some in around), strict=True)
    ]


def _common(
    tokens: Sequence[Token], units: Sequence[Sequence[int]], names: Sequence[str]
) -> list[bool]:
    """Which words are common in a text of another language: by a list, and where no list knows it by their place in the vocabulary."""
    words = [_is_word(name) for name in names]
    english, elsewhere = (
        sum(name in known for name in names) for known in (FUNCTION_WORDS, ELSEWHERE | ALSO_ENGLISH)
    )
    foreign = any(name in ELSEWHERE - FUNCTION_WORDS or UMLAUT.search(name) for name in names)
    if foreign and elsewhere > english:
        return [
            name in ELSEWHERE or name in ALSO_ENGLISH or SHORT_LATIN.fullmatch(name) is not None
            for name in names
        ]
    if english or sum(words) < FEW_WORDS:
        return [False] * len(units)
    ranked = [
        is_word and len(unit) == 1 and not _is_wide(name)
        for unit, name, is_word in zip(units, names, words, strict=True)
    ]
    ranks = sorted(tokens[unit[0]].id for unit, one in zip(units, ranked, strict=True) if one)
    early = ranks[(len(ranks) - 1) // COMMON] if ranks else -1
    return [one and tokens[unit[0]].id <= early for unit, one in zip(units, ranked, strict=True)]


def _roles(written: Sequence[str], names: Sequence[str], kinds: Sequence[Kind]) -> list[Role]:
    """Nouns and verbs among the content words: verbs by what stands around them, nouns at the end of what is left of a phrase."""
    count = len(names)
    padded = [*names, "", ""]  # also what stands before the first one
    content = [*(kind == Kind.CONTENT for kind in kinds), False, False]
    capital = [category(word[:1] or " ") == "Lu" for word in written]
    named = [u > 0 and capital[u] and padded[u - 1] not in SENTENCE_ENDS for u in range(count)] + [
        False,
        False,
    ]

    def before_of(u: int) -> str:
        """The word before, or before *not* or *n't*."""
        if padded[u - 1] == "t" and u > 2 and padded[u - 2] in APOSTROPHES:
            return padded[u - 3].removesuffix("n")
        return padded[u - 2] if padded[u - 1] == "not" and u > 1 else padded[u - 1]

    def is_verb(u: int) -> bool:
        before, after = before_of(u), padded[u + 1]
        if not content[u] or named[u]:
            return False
        if before in COPULAS or before in ("be", "been", "being"):
            return names[u].endswith(("ed", "ing")) or after in ("by", "in")
        if before == "to":
            return after in DETERMINERS or after in PRONOUNS
        if before == "that" and u > 1 and content[u - 2] and not is_verb(u - 2):
            return True  # of a relative clause
        follows = content[u - 1] or before in ENDS
        follows &= after in DETERMINERS or names[u].endswith("ed")
        return before in BEFORE_VERBS or follows

    verbs = [*(is_verb(u) for u in range(count)), False, False]

    def is_noun(u: int) -> bool:
        if names[u].endswith("ly"):
            return False
        ends = named[u] or not content[u + 1] or verbs[u + 1]
        ends |= capital[u] and named[u + 1]
        return ends

    def role(u: int) -> Role:
        if not content[u]:
            return Role.UNTOLD
        if verbs[u]:
            return Role.VERB
        if before_of(u) in BEFORE_ADJECTIVES:
            return Role.PREDICATE
        return Role.NOUN if is_noun(u) else Role.UNTOLD

    return [role(u) for u in range(count)]


def _is_in_number(tokens: Sequence[Token], i: int) -> bool:
    """True of a point or a comma between two digits."""
    if tokens[i].surface not in (".", ",") or not 0 < i < len(tokens) - 1:
        return False
    before, point, after = tokens[i - 1 : i + 2]
    between = before.surface[-1:].isdecimal() and after.surface[:1].isdecimal()
    return between and before.end == point.start and point.end == after.start


def _is_wide(text: str) -> bool:
    return east_asian_width(text[:1] or " ") in "FW"


def _is_spelled(text: str) -> bool:
    """True of a token with a letter, a number or a mark on a letter."""
    return any(category(character)[0] in "LNM" for character in text)


def _is_word(name: str) -> bool:
    return any(category(letter)[0] in "LN" for letter in name)
