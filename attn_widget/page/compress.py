"""Chunks as a page carries them."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator

from attn_widget.figures.metrics import usable_cores
from attn_widget.host.threads import pool
from attn_widget.page import base85

DEFLATE = 6  # 9 saves a thousandth of a page, and takes three times as long
SHARED_FROM = 500_000  # bytes of chunks, from which cores share them


def deflate(data: bytes) -> bytes:
    """Raw deflate as text: an alphabet that cannot close an element. ``js/src/protocol/saved/inflate.ts`` reads it."""
    return base85.encode(packed(data))


def deflate_all(chunks: Collection[bytes]) -> Iterator[bytes]:
    """`deflate` of each, in their order; the usable cores share them, since zlib releases the GIL.

    >>> [len(text) for text in deflate_all([b"the cat", b""])]
    [12, 3]
    """
    if sum(map(len, chunks)) < SHARED_FROM:
        yield from map(deflate, chunks)
        return
    with pool(usable_cores()) as workers:
        yield from workers.map(deflate, chunks)


def inflate(text: str | bytes) -> bytes:
    """The data of `deflate`.

    >>> inflate(deflate(b"the cat sat on the mat"))
    b'the cat sat on the mat'
    """
    written = text.encode() if isinstance(text, str) else text
    return zlib.decompress(base85.decode(written.strip()), -zlib.MAX_WBITS)


def packed(data: bytes) -> bytes:
    """Raw deflate.

    >>> data = bytes(range(256)) * 100
    >>> zlib.decompress(packed(data), -zlib.MAX_WBITS) == data
    True
    """
    packer = zlib.compressobj(DEFLATE, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()
