"""One walk over the matrices of all heads: thumbnails and maxima."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.attention import walk
from attn_widget.analysis.base import cached
from attn_widget.analysis.opening import largest_between_words, sinks
from attn_widget.figures.arrays import Float32
from attn_widget.trace.base import Area
from attn_widget.trace.forward import Progress

THUMB_SIDE = 24  # cells: a thumbnail is about 24 px wide on screen
THUMB_LEAST = 18
THUMBS_BYTES = 47_000  # of all heads: a first paint of 144 heads and 128 tokens stays below 150 kB


@dataclass(frozen=True)
class Survey:
    """Results of one walk over the matrices of all heads."""

    # [L, H, t, t], or [L, H, t, u] of two texts; every matrix, max-pooled: ``255 * sqrt(weight / head_max)``,
    # rounded up, so that a weight above zero is never drawn as zero, and small ones keep their differences.
    thumbs: NDArray[np.uint8]
    head_max: NDArray[np.float32]  # [L, H]
    # [L, H]; the largest weight between two tokens that are no sinks (`attn_widget.analysis.opening.sinks`); 0
    # where there is none.
    word_max: NDArray[np.float32]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays that the page draws, by their names in the first paint."""
        return {"thumbs": self.thumbs, "head_max": self.head_max, "word_max": self.word_max}


def survey(analysis: Analysis, progress: Progress | None = None) -> Survey:
    """The survey of a run, made once."""
    return head_scan(analysis).result(progress)


def head_scan(analysis: Analysis) -> HeadScan:
    """Maker of a run's survey, layer by layer."""
    return cached(analysis, "head_scan", lambda: HeadScan(analysis))


def thumb_side(n: int, heads: int) -> int:
    """Cells on a side of a thumbnail: of many heads each is smaller, on screen too.

    >>> thumb_side(128, 72), thumb_side(128, 144), thumb_side(128, 384), thumb_side(9, 72)
    (24, 18, 18, 9)
    """
    fits = math.isqrt(THUMBS_BYTES // heads)
    return min(n, max(THUMB_LEAST, min(THUMB_SIDE, fits)))


class HeadScan:
    """The survey of a run, layer by layer.

    ``walk``: layers that it has done are here, those of a part of `found` included.
    """

    def __init__(self, analysis: Analysis) -> None:
        trace = self._trace = analysis.trace
        tokens = trace.tokens
        self._shape = n, m = analysis.trace.n_tokens, analysis.trace.n_keys
        shape = (analysis.trace.n_layers, analysis.trace.n_heads)
        self.sides = thumb_side(n, math.prod(shape)), thumb_side(m, math.prod(shape))
        self._starts, self._key_starts = (
            np.arange(side) * size // side
            for side, size in zip(self.sides, self._shape, strict=True)
        )
        self._pooled = np.zeros((*shape, *self.sides), dtype=np.float32)
        self._word_max = np.zeros(shape, dtype=np.float32)
        masks = [trace.mask(layer) for layer in range(analysis.trace.n_layers)]
        by_mask = {id(mask): sinks(tokens, mask) for mask in masks}
        self._sinks = [by_mask[id(mask)] for mask in masks]
        # Cross-attention has no mask.
        self._key_sinks = None if trace.square else sinks(trace.key_tokens, None)
        self.walk = walk(analysis, self.visit, self._begin)

    def result(self, progress: Progress | None = None) -> Survey:
        """The survey of all layers; ``progress`` is called with ``(layers done, n_layers)``, and may raise."""
        self.walk.finish(progress)
        return self.of(slice(None))

    def of(self, layers: Any) -> Survey:
        """The survey of these layers, which must be done."""
        pooled = self._pooled[layers]
        largest = pooled.max(axis=(2, 3))
        safe = np.where(largest > 0, largest, 1)[:, :, None, None]
        thumbs = np.ceil(np.sqrt(pooled / safe) * 255).clip(0, 255).astype(np.uint8)
        word_max = self._word_max[layers]
        if self._key_sinks is None:
            few = np.array([(~outside).sum() < 2 for outside in self._sinks])
            word_max = np.where(few[layers, None], np.float32(0), word_max)
        return Survey(thumbs, largest, word_max)

    def of_head(self, layer: int, head: int) -> Survey:
        """Survey of one head, [1, 1, ...], independent of the others."""
        trace, alone = self._trace, SingleHead(self, layer, head)
        for area, weights in trace.head_blocks(layer, head, trace.row_blocks(layer)):
            alone.see(area, weights)
        return alone.result()

    def with_own_results(self) -> HeadScan:
        """A copy with results of its own: the walk may be at the very layer that is asked for."""
        alone = copy(self)
        alone._pooled = np.zeros_like(self._pooled)
        alone._word_max = np.zeros_like(self._word_max)
        return alone

    def _begin(self, layer: int) -> None:
        self._pooled[layer] = self._word_max[layer] = 0

    def visit(self, layer: int, heads: slice, area: Area, weights: Float32) -> None:
        """Look at a block of some heads, float32 [heads, rows, cols]."""
        starts, special = self._starts, self._sinks[layer]
        if weights.shape[1:] == self._shape:
            whole = self.sides == self._shape
            self._pooled[layer, heads] = (
                weights if whole else pool_max(weights, starts, self._key_starts)
            )
            self._word_max[layer, heads] = largest_between_words(weights, special, self._key_sinks)
            return
        rows, cells = edges(starts, area.rows), edges(starts, area.cols)
        most = pool_max(weights, rows - area.rows.start, cells - area.cols.start)
        top, left = (int(np.searchsorted(starts, part[0], "right")) - 1 for part in (rows, cells))
        there = self._pooled[layer, heads, top : top + len(rows), left : left + len(cells)]
        np.maximum(there, most, out=there)
        words = ~special[area.rows]
        if words.any() and (~special[area.cols]).any():
            columns = (weights if words.all() else weights[:, words]).max(axis=1)
            largest = self._word_max[layer, heads]
            np.maximum(largest, columns[:, ~special[area.cols]].max(axis=1), out=largest)


class SingleHead:
    """Scan of a single head from blocks supplied by the caller."""

    def __init__(self, of: HeadScan, layer: int, head: int) -> None:
        self._scan, self._layer, self._heads = of.with_own_results(), layer, slice(head, head + 1)

    def see(self, area: Area, weights: Float32) -> None:
        """Look at a block, float32 [rows, cols]."""
        self._scan.visit(self._layer, self._heads, area, weights[None])

    def result(self) -> Survey:
        """The survey, [1, 1, ...], once all blocks were seen."""
        part = self._scan.of([self._layer])
        return Survey(*(getattr(part, field.name)[:, self._heads] for field in fields(Survey)))


def edges(starts: NDArray[np.int_], part: slice) -> NDArray[np.int_]:
    """The first place of every cell of a thumbnail that ``part`` touches, inside of it.

    >>> edges(np.array([0, 10, 20]), slice(5, 20)).tolist()
    [5, 10]
    """
    inside = starts[(starts > part.start) & (starts < part.stop)]
    return np.concatenate([[part.start], inside])


def pool_max(weights: Float32, rows: NDArray[np.int_], cols: NDArray[np.int_]) -> Float32:
    """The largest weight of each block that begins at these rows and columns, [heads, rows, cols]."""
    # Rows by slices: `reduceat` along them takes four times as long.
    bands = [weights[:, a:b].max(axis=1) for a, b in pairwise([*rows, weights.shape[1]])]
    return np.maximum.reduceat(np.stack(bands, axis=1), cols, axis=2)
