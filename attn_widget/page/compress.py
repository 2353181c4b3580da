"""Chunks as a page carries them."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator

from attn_widget.figures.metrics import usable_cores
from attn_widget.host.threads import pool
from attn_widget.page import base85

DEFLATE = 6  # 9 saves a thousandth of a page, and takes three times as long
# Numbers of one direction of queries or keys are spread alike, and those of the next otherwise: pieces of some 16
# directions of 512 tokens each get codes of their own, and their bytes are 5% fewer.
PIECE = 8192  # bytes
# Whole numbers of steps hardly repeat, so looking for repetitions costs more bytes than it saves.
STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY)
# If matching saves less than 3% on the pieces, skip it for all bytes: it takes half of the time.
REPEATS = 0.97
SHARED_FROM = 500_000  # bytes of chunks, from which cores share them


def deflate(data: bytes) -> bytes:
    """Raw deflate as text: an alphabet that cannot close an element. ``js/src/protocol/saved/inflate.ts`` reads it."""
    return base85.encode(packed(data))


def deflate_all(chunks: Collection[bytes]) -> Iterator[bytes]:
    """`deflate` of each, in their order; the usable cores share them, since zlib releases the GIL.

    Examples
    --------
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

    Examples
    --------
    >>> inflate(deflate(b"the cat sat on the mat"))
    b'the cat sat on the mat'
    """
    written = text.encode() if isinstance(text, str) else text
    return zlib.decompress(base85.decode(written.strip()), -zlib.MAX_WBITS)


def packed(data: bytes) -> bytes:
    """Raw deflate: one run over all bytes, or piece by piece by the strategy that suits it, whichever is smaller.

    Examples
    --------
    >>> data = bytes(range(256)) * 100
    >>> zlib.decompress(packed(data), -zlib.MAX_WBITS) == data
    True
    """
    starts = range(0, len(data), PIECE)
    pieces = [in_all_ways(data[at : at + PIECE], last=at == starts[-1]) for at in starts]
    best = b"".join(min(ways, key=len) for ways in pieces)
    plain, by_number = (sum(len(ways[of]) for ways in pieces) for of in (0, -1))
    if best and plain > REPEATS * by_number:
        return best
    whole = deflated(data, zlib.Z_DEFAULT_STRATEGY, zlib.Z_FINISH)
    return min(whole, best or whole, key=len)


def in_all_ways(piece: bytes, *, last: bool) -> list[bytes]:
    """A piece by each strategy; it can be read without those before it, and all but the last end at a whole byte."""
    end = zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH
    return [deflated(piece, strategy, end) for strategy in STRATEGIES]


def deflated(data: bytes, strategy: int, end: int) -> bytes:
    packer = zlib.compressobj(DEFLATE, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    return packer.compress(data) + packer.flush(end)
