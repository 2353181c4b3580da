"""Word boundaries of Unicode Standard Annex 29 without the package `regex`, for a browser's kernel.

The properties that Python does not know are derived from categories and names, as the Annex derives them (Table 3).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from unicodedata import name

from attn_widget.host.pattern import ranges

_ZWJ = "\u200d"
_EXTEND = r"\u200c\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_SPACES = r" \u1680\u2000-\u2006\u2008-\u200a\u205f\u3000"
_NEWLINES = r"\n\v\f\r\x85\u2028\u2029"
_MID_LETTER = r":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a"
_MID_NUMBER = r",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe50\ufe54\uff0c\uff1b"
_MID_BOTH = r".'\u2018\u2019\u2024\ufe52\uff07\uff0e"
_NUMBER_SIGNS = r"\u0600-\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
_FLAGS = r"\U0001f1e6-\U0001f1ff"
# Letters beyond the categories of letters, and marks that are none.
_MORE_LETTERS = (
    r"\u00b8\u02c2-\u02c5\u02d2-\u02d7\u02de\u02df\u02e5-\u02eb\u02ed\u02ef-\u02ff\u055a-\u055c\u055e\u058a\u05f3"
    r"\u070f\ua708-\ua716\ua720\ua721\ua789\ua78a\uab5b\u24b6-\u24e9"
    r"\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
)
# `regex` takes an apostrophe before one of these to the word, as for an elision.
_VOWELS = "AEIOUaeiouÀÁÂÈÉÊÌÍÎÒÓÔÙÚÛàáâèéêìíîòóôùúûİ"
_KATAKANA = (
    r"\u3031-\u3035\u309b\u309c\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u32d0-\u32fe\u3300-\u3357\uff66-\uff9d"
    r"\U0001aff0-\U0001affe\U0001b000\U0001b120-\U0001b122\U0001b155\U0001b164-\U0001b167"
)
_TANGUT = r"\U00017000-\U00018aff\U00018d00-\U00018dff"
# Letters that stand alone: without spaces between words, a boundary needs a dictionary.
_ALONE = (
    "CJK ", "HIRAGANA ", "HENTAIGANA ", "THAI ", "LAO ", "MYANMAR ", "KHMER ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ",
    "TAI VIET ", "AHOM ", "NUSHU ", "KHITAN ", "IDEOGRAPHIC CLOSING", "IDEOGRAPHIC NUMBER", "HANGZHOU ", "VERTICAL KANA ", "KATAKANA ",
    "HALFWIDTH KATAKANA ",
)  # fmt: skip


@cache
def _word() -> re.Pattern[str]:
    """Matches what stands between two boundaries, one after the other."""
    hebrew = f"[{_named(('HEBREW LETTER ',))}]"
    follow = rf"(?:(?![\u070f\u200b{_NUMBER_SIGNS}])[{ranges('M', 'Cf')}{_EXTEND}{_ZWJ}])*"
    letter = rf"(?![{_named(_ALONE)}{_KATAKANA}{_TANGUT}])[{ranges('L', 'Nl')}{_MORE_LETTERS}]"
    number = rf"[{ranges('Nd')}\u066b\u19da{_NUMBER_SIGNS}]"
    katakana = f"[{_KATAKANA}]"
    joiner = rf"[{ranges('Pc')}\u202f]{follow}"
    # The lookaheads leave one way to divide a run, so that none is tried again.
    letters = (
        rf"(?:{letter}{follow}(?:{letter}{follow}|[{_MID_LETTER}{_MID_BOTH}]{follow}{letter}{follow}"
        rf"|(?<={hebrew})\"{follow}{hebrew}{follow})*(?:(?<={hebrew})'{follow})?(?!{letter}))"
    )
    numbers = rf"(?:{number}{follow}(?:{number}{follow}|[{_MID_NUMBER}{_MID_BOTH}]{follow}{number}{follow})*(?!{number}))"
    written = rf"(?:(?:{letters}|{numbers})+|(?:{katakana}{follow})+(?!{katakana}))"
    return re.compile(
        rf"\r\n|[{_NEWLINES}]|(?:['\u2019](?=[{_VOWELS}]))?(?:{written}?(?:{joiner}{written}?)+|{written})|(?:[{_FLAGS}]{follow}){{2}}"
        rf"|[{_SPACES}]+{follow}|.{follow}(?:(?<={_ZWJ})[{ranges('So')}]{follow})*",
        re.DOTALL,
    )


@cache
def _named(beginnings: tuple[str, ...]) -> str:
    """Letters whose names begin so, as a set of `re`."""
    codes = [
        code
        for code in range(0x80, sys.maxunicode + 1)
        if name(chr(code), "").startswith(beginnings)
    ]
    spans: list[list[int]] = []
    for code in codes:
        if spans and code == spans[-1][1] + 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in spans)


def word_boundaries(text: str) -> Iterator[int]:
    """Boundaries of a text, its beginning and end included.

    >>> list(word_boundaries("Don't pay 3.50!"))
    [0, 5, 6, 9, 10, 14, 15]
    """
    if text:
        yield 0
    for piece in _word().finditer(text):
        yield piece.end()
