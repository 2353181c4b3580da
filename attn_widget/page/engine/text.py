"""The model's file as text of a page: deflated, in 85 printable characters."""

from __future__ import annotations

import zlib

import numpy as np

DIGITS = 85
FIRST = 40  # "(": the digits are the characters from there on
INSTEAD = {20: "}", 52: "~"}  # for "<", which could close an element, and the backslash
LEVEL = 6

ALPHABET = "".join(INSTEAD.get(value, chr(FIRST + value)) for value in range(DIGITS))


def planes(data: bytes) -> bytes:
    """All even bytes, then all odd ones: the high bytes of float16 numbers are alike.

    Examples
    --------
    >>> planes(b"aAbBc")
    b'abcAB'
    """
    return data[0::2] + data[1::2]


def base85(data: bytes) -> bytes:
    """Five digits for four bytes, the most significant first; zeros fill the last four.

    Base64 would take 1.33 bytes for one, and these digits take 1.25. They need no escapes in an element or
    between quotes in a script.

    Examples
    --------
    >>> base85(bytes([255, 255, 255, 255, 1]))
    b'z?^4((CC1)'
    """
    words = np.frombuffer(data + bytes(-len(data) % 4), dtype=">u4").astype(np.uint32)
    digits = np.empty((len(words), 5), dtype=np.uint8)
    for place in range(4, -1, -1):
        words, rest = np.divmod(words, np.uint32(DIGITS))
        digits[:, place] = rest
    return np.frombuffer(ALPHABET.encode(), dtype=np.uint8)[digits].tobytes()


def as_text(file: bytes) -> bytes:
    """The text that js/src/engine/page/weights.ts reads: number of bytes, a blank, their digits."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(planes(file)) + packer.flush()
    return f"{len(packed)} ".encode() + base85(packed)
