"""A picture without a browser: of a head's weights, or of a figure of all heads."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32
from attn_widget.page.escaping import markup
from attn_widget.page.labeled import RAMP, SIGNED, svg, visible
from attn_widget.page.pooling import pooled
from attn_widget.page.view_cells import view_cells
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells, Source

PICTURE_SIDE = 448  # px, at most
MASKED = (200, 200, 200)  # what the model's mask forbids
MASKED_CODE = 64  # next to as many tones of the ramp, which the eye cannot distinguish


class Picture(NamedTuple):
    """Picture that a document shows where the page cannot run."""

    png: bytes  # without labels, for hosts that show nothing else
    # An element with the labels of rows and columns, described for readers who do not see it.
    svg: str
    caption: str  # one line below it


def figure(picture: Picture, *, inline: bool = True) -> str:
    """The element that a document shows; not ``inline`` as an image, which hosts that sanitize outputs keep."""
    drawing = picture.svg
    if not inline:
        (label,) = re.findall('aria-label="([^"]*)"', drawing)
        data = base64.b64encode(drawing.encode()).decode()
        drawing = f'<img alt="{label}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{drawing}<figcaption>{markup(visible(picture.caption))}</figcaption></figure>"


def picture_of(source: Source, selection: Selection, *, quick: bool = False) -> Picture:
    """The open view of a run, a figure of all heads of a profile, or what a score is made of.

    ``quick``: nothing that takes a pass of the model for each token, for the output of a cell, which waits for it.
    """
    analysis = source.analysis
    return drawn(
        source.cells(selection)
        if analysis is None
        else view_cells(analysis, selection, quick=quick)
    )


def drawn(cells: Cells) -> Picture:
    """Both forms of a picture."""
    return Picture(png(cells), svg(cells), cells.caption)


def png(cells: Cells) -> bytes:
    """An indexed PNG of at most 20 kB; the last color is what is masked."""
    shades = pooled(cells.shades)
    along = (shades + 1) / 2 if cells.signed else shades
    tones = np.rint(np.nan_to_num(along) * (MASKED_CODE - 1)).astype(np.uint8)
    codes = np.where(np.isnan(shades), np.uint8(MASKED_CODE), tones)
    codes = enlarged(codes, max(1, PICTURE_SIDE // max(codes.shape)))
    height, width = codes.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with its filter: none
    rows[:, 1:] = codes
    ramp = between(SIGNED if cells.signed else RAMP, MASKED_CODE)
    palette = np.vstack([ramp, MASKED]).astype(np.uint8)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, indexed
    chunks = ((b"IHDR", header), (b"PLTE", palette.tobytes()),
              (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def enlarged(codes: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Each cell as a square of ``side`` px."""
    return codes.repeat(side, axis=0).repeat(side, axis=1)


def between(colors: str, size: int) -> Float32:
    """Colors along a ramp, float32 [size, 3], 0 to 255."""
    stops = np.array([list(bytes.fromhex(stop)) for stop in colors.split()], dtype=np.float64)
    at, along = np.linspace(0, 1, size), np.linspace(0, 1, len(stops))
    return np.rint([np.interp(at, along, stops[:, i]) for i in range(3)]).T.astype(np.float32)
