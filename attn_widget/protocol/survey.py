"""One walk over the matrices of all heads: thumbnails, maxima, and what chooses the head to open on."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.attention import walk
from attn_widget.analysis.base import once
from attn_widget.analysis.opening import largest_between_words, links_beyond_chance, word_pairs

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.figures.arrays import Float32
    from attn_widget.trace.base import Area
    from attn_widget.trace.forward import Progress

THUMB_SIDE = 24  # cells: a thumbnail is about 24 px wide on screen
THUMB_LEAST = 18
THUMBS_BYTES = 47_000  # of all heads: a first paint of 144 heads and 128 tokens stays below 150 kB


@dataclass(frozen=True)
class Survey:
    """Results of one walk over the matrices of all heads.

    Attributes
    ----------
    thumbs : uint8 [L, H, t, t]
        Every matrix, max-pooled: ``255 * sqrt(weight / head_max)``, rounded up, so that a weight above
        zero is never drawn as zero, and small ones keep their differences.
    head_max : float32 [L, H]
    word_max : float32 [L, H]
        The largest weight between two tokens that are not special; 0 where there is none.
    links : float64 [L, H]
        See `attn_widget.analysis.opening.links_beyond_chance`.
    """

    thumbs: NDArray[np.uint8]
    head_max: NDArray[np.float32]
    word_max: NDArray[np.float32]
    links: NDArray[np.float64]


def survey(analysis: Analysis, progress: Progress | None = None) -> Survey:
    """The survey of a run, made once."""
    return surveyor(analysis).result(progress)


def surveyor(analysis: Analysis) -> Surveyor:
    """Maker of a run's survey, layer by layer."""
    return once(analysis, "surveyor", lambda: Surveyor(analysis))


def thumb_side(n: int, heads: int) -> int:
    """Cells on a side of a thumbnail: of many heads each is smaller, on screen too.

    Examples
    --------
    >>> thumb_side(128, 72), thumb_side(128, 144), thumb_side(128, 384), thumb_side(9, 72)
    (24, 18, 18, 9)
    """
    fits = math.isqrt(THUMBS_BYTES // heads)
    return min(n, max(THUMB_LEAST, min(THUMB_SIDE, fits)))


class Surveyor:
    """The survey of a run, layer by layer.

    Attributes
    ----------
    walk : LayeredWalk
        Layers that it has done are here, those of a part of `found` included.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._trace = analysis.trace
        tokens = analysis.trace.tokens
        n = self._n = analysis.n_tokens
        self.side = thumb_side(n, analysis.n_layers * analysis.n_heads)
        self._starts = np.arange(self.side) * n // self.side
        shape = (analysis.n_layers, analysis.n_heads)
        self._pooled = np.zeros((*shape, self.side, self.side), dtype=np.float32)
        self._word_max = np.zeros(shape, dtype=np.float32)
        self._links = np.zeros(shape)
        self._special = np.array([token.special for token in tokens])
        self._found_pairs: tuple[NDArray[np.bool_], int] | None = None
        self._alone = False
        self.walk = walk(analysis, self.visit, self._begin)

    def _pairs(self) -> tuple[NDArray[np.bool_], int]:
        """Links between words, [n, n], and how many: of a long text not before its first picture."""
        if self._found_pairs is None:
            pairs = word_pairs(self._trace.tokens)
            self._found_pairs = pairs, int(pairs.sum())
        return self._found_pairs

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
        if (~self._special).sum() < 2:
            word_max = np.zeros_like(word_max)
        return Survey(thumbs, largest, word_max, np.nan_to_num(self._links[layers]))

    def of_head(self, layer: int, head: int) -> Survey:
        """The survey of one head, [1, 1, ...], whatever is done of the others."""
        trace, alone = self._trace, OneHead(self, layer, head)
        for area, weights in trace.head_blocks(layer, head, trace.row_blocks(layer)):
            alone.see(area, weights)
        return alone.result()

    def alone(self) -> Surveyor:
        """A copy with results of its own: the walk may be at the very layer that is asked for."""
        alone = copy(self)
        alone._alone = True
        alone._pooled = np.zeros_like(self._pooled)
        alone._word_max, alone._links = np.zeros_like(self._word_max), np.zeros_like(self._links)
        return alone

    def _begin(self, layer: int) -> None:
        for arrays in (self._pooled, self._word_max, self._links):
            arrays[layer] = 0

    def visit(self, layer: int, heads: slice, area: Area, weights: Float32) -> None:
        """Look at a block of some heads, float32 [heads, rows, cols]."""
        n, starts, special = self._n, self._starts, self._special
        if weights.shape[1:] == (n, n):
            pooled = pool_max(weights, starts, starts) if self.side < n else weights
            self._pooled[layer, heads] = pooled
            self._word_max[layer, heads] = largest_between_words(weights, special)
            self._links[layer, heads] = links_beyond_chance(weights, self._pairs()[0])
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
        if self._alone:  # one head for the first picture, whose links are not asked for
            return
        pairs, count = self._pairs()
        # Weights that the mask forbids are below chance, and count nothing.
        beyond = np.maximum(weights - np.float32(1 / n), 0)
        counted = pairs[area].ravel().astype(np.float32)
        self._links[layer, heads] += beyond.reshape(len(weights), -1) @ counted / max(count, 1)


class OneHead:
    """The survey of one head whose blocks come from elsewhere, whatever is done of the others."""

    def __init__(self, of: Surveyor, layer: int, head: int) -> None:
        self._surveyor, self._layer, self._heads = of.alone(), layer, slice(head, head + 1)

    def see(self, area: Area, weights: Float32) -> None:
        """Look at a block, float32 [rows, cols]."""
        self._surveyor.visit(self._layer, self._heads, area, weights[None])

    def result(self) -> Survey:
        """The survey, [1, 1, ...], once all blocks were seen."""
        part = self._surveyor.of([self._layer])
        return Survey(*(getattr(part, field.name)[:, self._heads] for field in fields(Survey)))


def edges(starts: NDArray[np.int_], part: slice) -> NDArray[np.int_]:
    """The first place of every cell of a thumbnail that ``part`` touches, inside of it.

    Examples
    --------
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
