"""Words to tokens by character offsets; never by matching strings."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from attn_widget.language.words import Span, split_words, trim


class Part(NamedTuple):
    """A stretch of text with one tag: what the tagger gave, or what it left out (no tag)."""

    start: int
    end: int
    pos: str | None = None
    entity: str | None = None


class Aligned(NamedTuple):
    """Words that no token crosses, and the word of each token."""

    words: list[Part]  # in order, disjoint, each with at least one token
    # List of int or None, [n]; None for a token without a visible character outside every word.
    token_word: list[int | None]


def align(text: str, parts: Sequence[Part], spans: Sequence[Span]) -> Aligned:
    """Make words such that each token's visible characters lie inside exactly one.

    Stretches that no part covers become words without a tag. Parts that one token bridges become
    one word, with the tag of the part that the bridging tokens cover most (the first on a tie).

    ``parts``: in order and disjoint, inside `text`. ``spans``, sequence of (int, int), [n]: code points
    ``[start, end)`` of each token; ``start == end`` for one without characters.

    >>> parts = [Part(0, 2, "AUX"), Part(2, 5, "PART"), Part(6, 10, "VERB")]
    >>> words, token_word = align("don't move.", parts, [(0, 3), (3, 5), (6, 10), (10, 11)])
    >>> [(word.start, word.end, word.pos) for word in words], token_word
    ([(0, 5, 'AUX'), (6, 10, 'VERB'), (10, 11, None)], [0, 0, 1, 2])
    """
    parts = _cover(text, parts)
    starts = [part.start for part in parts]
    ends = [part.end for part in parts]
    first_part: list[int | None] = []
    bridged = [False] * len(parts)  # bridged[k]: a token crosses from part k into part k + 1
    overlap = [0] * len(parts)  # characters of the part inside tokens that bridge it
    for start, end in spans:
        start, end = trim(text, start, end)
        if start == end:
            first_part.append(None)
            continue
        first, last = bisect_right(ends, start), bisect_left(starts, end) - 1
        first_part.append(first)
        if first < last:
            for k in range(first, last + 1):
                bridged[k] = bridged[k] or k < last
                overlap[k] += min(end, ends[k]) - max(start, starts[k])

    words: list[Part] = []
    word_of_part: list[int] = []
    best = 0
    for k, part in enumerate(parts):
        if k and bridged[k - 1]:
            if overlap[k] > overlap[best]:
                best = k
            words[-1] = Part(words[-1].start, part.end, parts[best].pos, parts[best].entity)
        else:
            best = k
            words.append(part)
        word_of_part.append(len(words) - 1)

    word_starts = [word.start for word in words]
    token_word: list[int | None] = []
    for part, (start, end) in zip(first_part, spans, strict=True):
        if part is not None:
            token_word.append(word_of_part[part])
            continue
        # White space inside a word ("New York" as one) belongs to the word; elsewhere it belongs to none.
        word = bisect_right(word_starts, start) - 1
        inside = word >= 0 and start < end <= words[word].end
        token_word.append(word if inside else None)
    used = sorted({word for word in token_word if word is not None})
    renumbered = {word: k for k, word in enumerate(used)}
    return Aligned(
        [words[word] for word in used],
        [None if word is None else renumbered[word] for word in token_word],
    )


def _cover(text: str, parts: Sequence[Part]) -> list[Part]:
    """The visible parts, and one without a tag for every word of the stretches between them."""
    covered: list[Part] = []
    at = 0
    for part in (*parts, Part(len(text), len(text))):
        covered.extend(Part(*span) for span in split_words(text, at, part.start))
        start, end = trim(text, part.start, part.end)
        if start < end:
            covered.append(part._replace(start=start, end=end))
        at = part.end
    return covered
