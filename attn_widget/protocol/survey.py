"""One walk over the matrices of all heads: thumbnails, maxima, and what chooses the head to open on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

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
    return once(analysis, "survey", lambda: make_survey(analysis, progress))


def make_survey(analysis: Analysis, progress: Progress | None = None) -> Survey:
    n = analysis.n_tokens
    side = min(n, THUMB_SIDE)
    starts = np.arange(side) * n // side
    shape = (analysis.n_layers, analysis.n_heads)
    pooled = np.zeros((*shape, side, side), dtype=np.float32)
    word_max = np.zeros(shape, dtype=np.float32)
    links = np.zeros(shape)
    tokens = analysis.trace.tokens
    special = np.array([token.special for token in tokens])
    pairs = word_pairs(tokens)
    count = int(pairs.sum())

    def visit(layer: int, heads: slice, area: Area, weights: Float32) -> None:
        if weights.shape[1:] == (n, n):
            pooled[layer, heads] = pool_max(weights, starts, starts) if side < n else weights
            word_max[layer, heads] = largest_between_words(weights, special)
            links[layer, heads] = links_beyond_chance(weights, pairs)
            return
        rows, cells = edges(starts, area.rows), edges(starts, area.cols)
        most = pool_max(weights, rows - area.rows.start, cells - area.cols.start)
        top, left = (int(np.searchsorted(starts, part[0], "right")) - 1 for part in (rows, cells))
        there = pooled[layer, heads, top : top + len(rows), left : left + len(cells)]
        np.maximum(there, most, out=there)
        words = ~special[area.rows]
        if words.any() and (~special[area.cols]).any():
            columns = (weights if words.all() else weights[:, words]).max(axis=1)
            largest = word_max[layer, heads]
            np.maximum(largest, columns[:, ~special[area.cols]].max(axis=1), out=largest)
        # Weights that the mask forbids are below chance, and count nothing.
        beyond = np.maximum(weights - np.float32(1 / n), 0)
        counted = pairs[area].ravel().astype(np.float32)
        links[layer, heads] += beyond.reshape(len(weights), -1) @ counted / max(count, 1)

    def on_layer(layer: int) -> None:
        if progress is not None:
            progress(layer, analysis.n_layers)

    walk(analysis, visit, on_layer)
    largest = pooled.max(axis=(2, 3))
    safe = np.where(largest > 0, largest, 1)[:, :, None, None]
    thumbs = np.ceil(np.sqrt(pooled / safe) * 255).clip(0, 255).astype(np.uint8)
    if (~special).sum() < 2:
        word_max[:] = 0
    return Survey(thumbs, largest, word_max, np.nan_to_num(links))


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
