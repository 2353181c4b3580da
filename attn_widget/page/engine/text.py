"""The model's file as text of a page: deflated, in 85 printable characters."""

from __future__ import annotations

import zlib

from attn_widget.page import base85

LEVEL = 6


def planes(data: bytes) -> bytes:
    """All even bytes, then all odd ones: the high bytes of float16 numbers are alike.

    Examples
    --------
    >>> planes(b"aAbBc")
    b'abcAB'
    """
    return data[0::2] + data[1::2]


def as_text(file: bytes) -> bytes:
    """The text that js/src/engine/page/weights.ts reads."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base85.encode(packer.compress(planes(file)) + packer.flush())
