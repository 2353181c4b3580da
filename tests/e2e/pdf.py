"""Pictures of a PDF, read from its bytes."""

from __future__ import annotations

import re
import zlib


def pictures(data: bytes) -> list[tuple[int, int, int]]:
    """Width, height and number of different bytes of a PDF's pictures (PDF 32000-1, section 8.9.5)."""
    found: list[tuple[int, int, int]] = []
    for match in re.finditer(rb"<<(?:(?!>>).)*?/Subtype\s*/Image.*?>>\s*stream\r?\n", data, re.S):
        head = match.group()
        width, height = (
            int(re.search(rb"/%s (\d+)" % name, head)[1])  # pyright: ignore[reportOptionalSubscript]
            for name in (b"Width", b"Height")
        )
        body = data[match.end() : data.index(b"endstream", match.end())]
        if b"/FlateDecode" in head:
            body = zlib.decompressobj().decompress(body)
        found.append((width, height, len(set(body))))
    return found
