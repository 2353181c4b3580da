"""A picture without a browser: of a head's weights, or of a figure of all heads."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.figures.arrays import Float32, Head
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source
from attn_widget.trace.base import LONG_TOKENS

if TYPE_CHECKING:
    pass

Kind = TypeVar("Kind", bound=Any)

PICTURE_SIDE = 448  # px, at most
PICTURE_CELLS = 128  # a side; larger matrices are max-pooled
# 17 even steps of the ramp "weight" for a light ground (js/src/draw/color/ramp.ts).
RAMP = (
    "f8f7f4 f2e6d1 f0d4af f0c08f f1a974 f0925f ef7851 e56151 d74d57 c83c5d b42d65 99296d 7f2570 "
    "65226d 4c2063 361d55 221844"
)
MASKED = (200, 200, 200)  # what the model's mask forbids
MASKED_CODE = 64  # next to as many tones of the ramp, which the eye cannot distinguish


class Picture(NamedTuple):
    """Placeholder until the page is opened: a PNG without labels, its description, one line below it."""

    png: bytes
    alt: str
    caption: str


def picture_of(source: Source, selection: Selection) -> Picture:
    """The selected head of a run, a figure of all heads of a profile, or the words of two texts; at most 20 kB."""
    if source.analysis is not None:
        return picture_of_weights(source.analysis, *selection.place)
    shades, alt, caption = source.cells(selection)
    tones = np.rint(np.nan_to_num(shades) * (MASKED_CODE - 1)).astype(np.uint8)
    codes = np.where(np.isnan(shades), np.uint8(MASKED_CODE), tones)
    return Picture(png(enlarged(codes, max(1, PICTURE_SIDE // max(codes.shape)))), alt, caption)


def picture_of_weights(analysis: Analysis, layer: int, head: Head) -> Picture:
    n, allowed = analysis.n_tokens, analysis.trace.allowed(layer)
    whole = n <= LONG_TOKENS or not analysis.trace.square
    step = n if whole else -(-n // PICTURE_CELLS)
    bands: list[Float32] = []
    possible: list[NDArray[np.bool_]] = []
    for start in range(0, n, step):  # of a long text a band of the picture at a time
        rows = slice(start, min(start + step, n))
        bands.append(pooled(analysis.attention(layer, head, rows=rows), whole=whole))
        if allowed is not None:
            possible.append(pooled(allowed[rows], whole=whole))
    weights = np.concatenate(bands)
    largest = float(weights.max(initial=0))
    codes = np.rint(weights / (largest or 1.0) * (MASKED_CODE - 1)).astype(np.uint8)
    if allowed is not None:
        codes[~np.concatenate(possible)] = MASKED_CODE
    name = "mean of the heads" if head == "mean" else f"H{head}"
    part = "" if analysis.part == "self" else f"{analysis.part} "
    keys = "" if analysis.trace.square else f" by {analysis.n_keys}"
    caption = (
        f"{title_of(analysis)}: attention weights of {part}L{layer} · {name}, {n}{keys} tokens. "
        f"Rows are queries, columns keys; 0 is light, {largest:.3g} the darkest."
    )
    image = enlarged(codes, PICTURE_SIDE // max(codes.shape))
    return Picture(png(image), "Attention weights as a heatmap", caption)


def enlarged(codes: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Each cell as a square of ``side`` px."""
    return codes.repeat(side, axis=0).repeat(side, axis=1)


def pooled(matrix: NDArray[Kind], *, whole: bool = True) -> NDArray[Kind]:
    """At most `PICTURE_CELLS` rows and columns: the largest of the cells that fall together.

    One that is not ``whole`` is the rows of one row of the picture.
    """
    rows, columns = (
        np.arange(min(size, PICTURE_CELLS)) * size // min(size, PICTURE_CELLS)
        for size in matrix.shape
    )
    if not whole and matrix.shape[1] > PICTURE_CELLS:
        rows = rows[:1]
    return np.maximum.reduceat(np.maximum.reduceat(matrix, rows, axis=0), columns, axis=1)


def png(codes: NDArray[np.uint8]) -> bytes:
    """An indexed PNG of rows of codes: along the ramp, the last what is masked."""
    height, width = codes.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with its filter: none
    rows[:, 1:] = codes
    palette = np.vstack([ramp(MASKED_CODE), MASKED]).astype(np.uint8)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, indexed
    chunks = ((b"IHDR", header), (b"PLTE", palette.tobytes()),
              (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def ramp(size: int) -> Float32:
    """Colors of the weight ramp, float32 [size, 3], 0 to 255."""
    stops = np.array([list(bytes.fromhex(stop)) for stop in RAMP.split()], dtype=np.float64)
    at, along = np.linspace(0, 1, size), np.linspace(0, 1, len(stops))
    return np.rint([np.interp(at, along, stops[:, i]) for i in range(3)]).T.astype(np.float32)
