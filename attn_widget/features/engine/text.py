"""The model's file as text of a page: deflated, in 85 printable characters."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from attn_widget.page import base85

LEVEL = 6
PIECE = (
    500_000  # characters of an element: a browser reads many short texts sooner than one long one
)
assert PIECE % base85.GROUP == 0  # each is decoded by itself


def planes(data: bytes) -> bytes:
    """All even bytes, then all odd ones: the high bytes of float16 numbers are alike.

    >>> planes(b"aAbBc")
    b'abcAB'
    """
    return data[0::2] + data[1::2]


def as_text(file: bytes) -> bytes:
    """The text that js/src/features/engine/page/weights.ts reads."""
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base85.encode(packer.compress(planes(file)) + packer.flush())


def elements(text: bytes, notices: bytes = b"") -> Iterator[bytes]:
    """The elements of a page that hold the text, which are decoded while the next ones are read; after a comment with ``notices``.

    >>> [len(element) for element in elements(b"0" * 600_000)]
    [500055, 100055]
    """
    if notices:
        yield b"<!--\n" + notices + b"-->\n"
    for start in range(0, len(text), PIECE):
        yield (
            b'<script type="text/plain" class="aw-weights">'
            + text[start : start + PIECE]
            + b"</script>\n"
        )
