"""Chunks as a page carries them."""

from __future__ import annotations

import base64
import zlib

DEFLATE = 6  # 9 saves a thousandth of a page, and takes three times as long


def deflate(data: bytes) -> bytes:
    """Raw deflate in base64: an alphabet that cannot close an element."""
    packer = zlib.compressobj(DEFLATE, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.b64encode(packer.compress(data) + packer.flush())
