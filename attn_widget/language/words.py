"""Words by Unicode's own rules, for texts that no tagger has divided."""

from __future__ import annotations

from collections.abc import Iterator

from attn_widget.host.pattern import Pattern, has_regex
from attn_widget.language.word_boundaries import word_boundaries

# The flag w turns \b into the default word boundary of Unicode Standard Annex 29: contractions,
# decimal numbers, combining accents and joined emoji stay whole.
_BOUNDARY = Pattern(r"(?V1)(?w)\b")

Span = tuple[int, int]


def trim(text: str, start: int, end: int) -> Span:
    """``[start, end)`` without white space at its ends; ``start == end`` if nothing is left."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def split_words(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Words and punctuation marks of ``text[start:end]``, white space left out.

    Scripts written without spaces have no words here: Han and hiragana come character by
    character, Thai by grapheme cluster (Annex 29 asks for a dictionary there).

    ``start``, ``end``: code points ``[start, end)``; to the end of the text when `end` is None. Returns: code
    points ``[start, end)`` in `text`, in order, disjoint, never empty.

    References
    ----------
    Unicode Standard Annex 29, "Unicode Text Segmentation", section 4.

    Examples
    --------
    >>> text = "Don't pay 3.50!"
    >>> [text[start:end] for start, end in split_words(text)]
    ["Don't", 'pay', '3.50', '!']
    """
    piece = text[start:end]
    left = 0
    found = (
        (boundary.start() for boundary in _BOUNDARY.finditer(piece))
        if has_regex()
        else word_boundaries(piece)
    )
    for right in found:
        yield from _visible(text, start + left, start + right)
        left = right
    yield from _visible(text, start + left, start + len(piece))


def _visible(text: str, start: int, end: int) -> Iterator[Span]:
    first, last = trim(text, start, end)
    if first < last:
        yield first, last
