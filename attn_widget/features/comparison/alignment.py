"""Alignment of two texts: words by the longest common subsequence, tokens by their characters inside the words."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache

from attn_widget.language.words import split_words
from attn_widget.model.tokens import Token

Pairs = tuple[tuple[int, int], ...]

# More matched words outweigh all else, then more punctuation; then come unbroken stretches, the same case and
# the same place, from the beginning or from the end.
WORD, PUNCTUATION, UNBROKEN, SAME_CASE, SAME_PLACE = 100_000_000, 10_000, 4, 2, 1
MAX_CELLS = (
    4_000_000  # words of one text times words of the other; beyond, `difflib` finds the blocks
)


@dataclass(frozen=True)
class TextWord:
    """A word of a text.

    Attributes
    ----------
    text : str
    start, end : int
        Code points in the text of its segment.
    segment : int
        0 for the text, 1 for the second one of a pair.
    """

    text: str
    start: int
    end: int
    segment: int = 0


@dataclass(frozen=True)
class Alignment:
    """Which words and tokens of two runs stand for each other.

    Attributes
    ----------
    words_a, words_b : tuple of TextWord
    words : tuple of (int, int)
        Matched words, as indices into ``words_a`` and ``words_b``.
    tokens : tuple of (int, int)
        Matched tokens, as positions in A and in B; none stands in two pairs.
    n_a, n_b : int
        Positions of each run.
    hand : tuple of (int, int)
        The pairs of ``tokens`` that were given by hand.
    """

    words_a: tuple[TextWord, ...]
    words_b: tuple[TextWord, ...]
    words: Pairs
    tokens: Pairs
    n_a: int
    n_b: int
    hand: Pairs = ()

    @property
    def by_hand(self) -> bool:
        """True if some pairs were given by hand."""
        return len(self.hand) > 0

    @property
    def unmatched_a(self) -> tuple[int, ...]:
        """Positions of A without a partner."""
        matched = {a for a, _ in self.tokens}
        return tuple(i for i in range(self.n_a) if i not in matched)

    @property
    def unmatched_b(self) -> tuple[int, ...]:
        """Positions of B without a partner."""
        matched = {b for _, b in self.tokens}
        return tuple(i for i in range(self.n_b) if i not in matched)

    def __repr__(self) -> str:
        return (
            f"<Alignment: {len(self.words)} words, {len(self.tokens)} tokens; unmatched tokens: "
            f"{len(self.unmatched_a)} of A, {len(self.unmatched_b)} of B>"
        )


def split_text(text: str, segment: int = 0) -> tuple[TextWord, ...]:
    """Words and punctuation marks of a text; a Chinese or Japanese character is one.

    >>> [word.text for word in split_text("It's 3.5, 我喜欢!")]
    ["It's", '3.5', ',', '我', '喜', '欢', '!']
    """
    return tuple(TextWord(text[start:end], start, end, segment) for start, end in split_words(text))


def align_words(a: Sequence[TextWord], b: Sequence[TextWord]) -> Pairs:
    """Longest common subsequence of two texts' words, ignoring case.

    Of several that are as long, the one with the most punctuation, then with the fewest breaks.

    >>> align_words(split_text("the cat sat"), split_text("the old cat sat"))
    ((0, 0), (1, 2), (2, 3))
    """
    keys_a, keys_b = [_key(word.text) for word in a], [_key(word.text) for word in b]
    if keys_a == keys_b:
        return tuple((i, i) for i in range(len(a)))
    if len(a) * len(b) > MAX_CELLS:
        blocks = SequenceMatcher(None, keys_a, keys_b, autojunk=False).get_matching_blocks()
        return tuple((x.a + k, x.b + k) for x in blocks for k in range(x.size))
    places: dict[str, list[int]] = {}
    for j, key in enumerate(keys_b):
        places.setdefault(key, []).append(j)
    # best[i][j] is the best score of a[:i] against b[:j]; ends[i, j] that of a chain which ends with the pair.
    best = [[0] * (len(b) + 1)]
    ends: dict[tuple[int, int], tuple[int, bool]] = {}
    for i, key in enumerate(keys_a):
        above = best[-1]
        row = [0] * (len(b) + 1)
        here = {}
        for j in places.get(key, ()):
            worth = PUNCTUATION if _is_mark(key) else WORD
            worth += SAME_CASE * (a[i].text == b[j].text)
            worth += SAME_PLACE * (i == j or len(a) - i == len(b) - j)
            goes_on = ends.get((i - 1, j - 1))
            joined = -1 if goes_on is None else goes_on[0] + UNBROKEN
            here[j] = max(joined, above[j]) + worth
            ends[i, j] = here[j], joined >= above[j]
        left = 0
        for j in range(len(b)):
            left = max(left, above[j + 1], here.get(j, 0))
            row[j + 1] = left
        best.append(row)
    return tuple(_trace_back(best, lambda i, j: ends[i, j][1]))


def align_tokens(
    tokens_a: Sequence[Token],
    tokens_b: Sequence[Token],
    texts_a: Sequence[str | None] = (),
    texts_b: Sequence[str | None] = (),
) -> Alignment:
    """Align two runs' tokens.

    Words are matched within each segment, tokens by their characters inside matched words, and special
    tokens by the place where the tokenizer puts them.

    ``texts_a``, ``texts_b``: the segments; by default what the tokens cover.

    >>> a = [Token("the", 1, 0, 3, "the"), Token("cat", 2, 4, 7, "cat")]
    >>> b = [Token("the", 1, 0, 3, "the"), Token("c", 3, 4, 5, "c"), Token("##at", 4, 5, 7, "at")]
    >>> align_tokens(a, b).tokens
    ((0, 0), (1, 2))
    """
    words_a, words_b = _words_of(tokens_a, texts_a), _words_of(tokens_b, texts_b)
    pairs: list[tuple[int, int]] = []
    for segment in (0, 1):
        of_a = [i for i, word in enumerate(words_a) if word.segment == segment]
        of_b = [j for j, word in enumerate(words_b) if word.segment == segment]
        matches = align_words([words_a[i] for i in of_a], [words_b[j] for j in of_b])
        pairs.extend((of_a[i], of_b[j]) for i, j in matches)
    inside_a, inside_b = _tokens_of(words_a, tokens_a), _tokens_of(words_b, tokens_b)
    matched = _special(tokens_a, tokens_b)
    for i, j in pairs:
        matched.extend(
            _inside(words_a[i], inside_a[i], tokens_a, words_b[j], inside_b[j], tokens_b)
        )
    n = len(tokens_a), len(tokens_b)
    if not words_a and not words_b and [*map(_name, tokens_a)] == [*map(_name, tokens_b)]:
        matched = [(i, i) for i in range(n[0])]  # patches of two images of one grid
    return Alignment(words_a, words_b, tuple(pairs), tuple(sorted(matched)), *n)


def by_hand(alignment: Alignment, pairs: Iterable[tuple[int, int]]) -> Alignment:
    """``alignment`` with these token pairs; pairs of their tokens with others give way."""
    by_user = list(pairs)
    of_a, of_b = {a for a, _ in by_user}, {b for _, b in by_user}
    unpinned = [(a, b) for a, b in alignment.tokens if a not in of_a and b not in of_b]
    return replace(
        alignment,
        tokens=tuple(sorted(unpinned + by_user)),
        hand=tuple(sorted({*by_user, *(pair for pair in alignment.hand if pair in unpinned)})),
    )


def _name(token: Token) -> str:
    return token.text


@cache
def _key(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


@cache
def _is_mark(key: str) -> bool:
    return all(unicodedata.category(mark)[0] in "PSZ" for mark in key)


def _words_of(tokens: Sequence[Token], texts: Sequence[str | None]) -> tuple[TextWord, ...]:
    """Words of the segments that tokens cover: a truncated text ends where its tokens do."""
    words: list[TextWord] = []
    for segment in (0, 1):
        own = [token for token in tokens if token.segment == segment and not token.special]
        end = max((token.end for token in own), default=0)
        text = texts[segment] if segment < len(texts) else None
        if text is None:
            characters = [" "] * end
            for token in own:
                length = token.end - token.start
                characters[token.start : token.end] = token.surface[:length].ljust(length)
            text = "".join(characters)
        words.extend(split_text(text[:end], segment))
    return tuple(words)


def _tokens_of(words: Sequence[TextWord], tokens: Sequence[Token]) -> list[list[int]]:
    """Positions of each word's tokens; a token that covers several words is of the one it covers most."""
    inside: list[list[int]] = [[] for _ in words]
    by_segment = {s: [k for k, word in enumerate(words) if word.segment == s] for s in (0, 1)}
    first = {0: 0, 1: 0}
    for i, token in enumerate(tokens):
        if token.special or token.end <= token.start:
            continue
        own = by_segment[token.segment]
        while (
            first[token.segment] < len(own) and words[own[first[token.segment]]].end <= token.start
        ):
            first[token.segment] += 1
        most, word = 0, None
        for k in own[first[token.segment] :]:
            if words[k].start >= token.end:
                break
            covered = min(words[k].end, token.end) - max(words[k].start, token.start)
            if covered > most:
                most, word = covered, k
        if word is not None:
            inside[word].append(i)
    return inside


def _special(tokens_a: Sequence[Token], tokens_b: Sequence[Token]) -> list[tuple[int, int]]:
    """Special tokens before, between and after the segments, each group matched in order."""
    places_a, places_b = _places(tokens_a), _places(tokens_b)
    return [
        pair
        for place, positions in places_a.items()
        for pair in zip(positions, places_b.get(place, []), strict=False)
    ]


def _places(tokens: Sequence[Token]) -> dict[int, list[int]]:
    """Positions of special tokens by the segments that have begun before them."""
    places: dict[int, list[int]] = {}
    begun = 0
    for i, token in enumerate(tokens):
        if token.special:
            places.setdefault(begun, []).append(i)
        else:
            begun = max(begun, token.segment + 1)
    return places


def _inside(
    word_a: TextWord,
    own_a: Sequence[int],
    tokens_a: Sequence[Token],
    word_b: TextWord,
    own_b: Sequence[int],
    tokens_b: Sequence[Token],
) -> list[tuple[int, int]]:
    """Pairs, in order, of two matched words' tokens whose characters overlap most (intersection over union)."""
    spans_a = [_span(word_a, tokens_a[i]) for i in own_a]
    spans_b = [_span(word_b, tokens_b[j]) for j in own_b]
    if spans_a == spans_b:
        return list(zip(own_a, own_b, strict=True))
    best = [[0.0] * (len(spans_b) + 1) for _ in range(len(spans_a) + 1)]
    for i, a in enumerate(spans_a):
        for j, b in enumerate(spans_b):
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], best[i][j] + _overlap(a, b))
    return [(own_a[i], own_b[j]) for i, j in _trace_back(best)]


def _trace_back(
    best: Sequence[Sequence[float]], goes_on: Callable[[int, int], bool] = lambda _i, _j: False
) -> list[tuple[int, int]]:
    """Pairs, in order, of a best score; after one that ``goes_on`` the pair before it is taken too."""
    pairs: list[tuple[int, int]] = []
    i, j = len(best) - 1, len(best[0]) - 1
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
            while goes_on(i, j):
                i, j = i - 1, j - 1
                pairs.append((i, j))
    return pairs[::-1]


def _span(word: TextWord, token: Token) -> tuple[float, float]:
    """The part of a word that a token covers, from 0 to 1."""
    length = word.end - word.start
    start, end = max(token.start, word.start), min(token.end, word.end)
    return (start - word.start) / length, (end - word.start) / length


def _overlap(a: tuple[float, float], b: tuple[float, float]) -> float:
    shared = min(a[1], b[1]) - max(a[0], b[0])
    return max(0.0, shared) / (max(a[1], b[1]) - min(a[0], b[0]))
