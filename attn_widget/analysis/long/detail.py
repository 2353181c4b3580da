"""Levels of detail of the matrices of one run: the coarse ones are kept, the fine ones computed where they are looked at."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from attn_widget.analysis.attention import AttentionFigures
from attn_widget.analysis.base import cached
from attn_widget.analysis.opening import sinks
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32, Head
from attn_widget.figures.long.links import Links, strongest_links
from attn_widget.figures.long.pyramid import (
    FINEST_KEPT,
    BlockPart,
    Pooling,
    Pyramid,
    assemble,
    block_part,
    coarsest_level,
    pooled,
    tokens_of_tile,
)
from attn_widget.figures.metrics import usable_cores
from attn_widget.host.threads import pool
from attn_widget.trace.base import BLOCK_ROWS, Area
from attn_widget.trace.forward import Progress
from attn_widget.trace.windows.masks import Mask

Quantity: TypeAlias = Literal["weights", "scores", "rollout"]
QUANTITIES: tuple[Quantity, ...] = ("weights", "scores", "rollout")
Value = TypeVar("Value")
PYRAMIDS = 6  # some 11 MB each at 8,192 tokens
BANDS = 2  # rows of a tile with all their keys: 8 MB each at 8,192 tokens, four times as much on level 2
ROLLOUT_TOKENS = 2048  # a rollout holds a matrix for every layer: 0.4 GB of 22 layers


class Matrix(NamedTuple):
    """A matrix of the run: a quantity of a layer, and of a head where it has heads."""

    quantity: Quantity
    layer: int
    head: Head


class LevelsOfDetail:
    """Pyramids and tiles of a run's matrices, least recently used first."""

    def __init__(self, analysis: AttentionFigures) -> None:
        self._analysis = analysis
        self._pyramids: OrderedDict[Matrix, Pyramid] = OrderedDict()
        self._bands: OrderedDict[tuple[Matrix, int, int], tuple[Area, Float32]] = OrderedDict()
        self._lock = threading.Lock()
        tokens = analysis.trace.tokens
        self._special = np.array([token.special for token in tokens], dtype=bool)
        keys = [token.special for token in analysis.trace.key_tokens]
        self._special_keys = np.array(keys, dtype=bool)

    def pyramid(self, matrix: Matrix, progress: Progress | None = None) -> Pyramid:
        """The coarse levels of a matrix, from one walk over it; kept for the last few."""
        with self._lock:
            return _kept(self._pyramids, matrix, PYRAMIDS, lambda: self._build(matrix, progress))

    def walk(self, matrix: Matrix, visit: Callable[[Area, Float32], None]) -> None:
        """Show every block of a matrix to ``visit``, one at a time in any order; its pyramid is built on the way."""
        with self._lock:
            is_cached = matrix in self._pyramids
            if not is_cached:
                _kept(self._pyramids, matrix, PYRAMIDS, lambda: self._build(matrix, None, visit))
        if is_cached:
            for area, block in self._blocks(matrix, self._areas(matrix)):
                visit(area, block)

    def tile(self, matrix: Matrix, level: int, row: int, col: int, pooling: Pooling) -> Float32:
        """A tile of any level, float32 [at most TILE, at most TILE]; NaN where the mask forbids."""
        n = self._analysis.trace.n_tokens
        pyramid = self._pyramids.get(matrix)
        if pyramid is None and level >= min(coarsest_level(n), FINEST_KEPT):
            pyramid = self.pyramid(matrix)
        if pyramid is not None and level in pyramid.maximum:
            return pyramid.tile(level, row, col, pooling)
        rows, cols = tokens_of_tile(level, row, n), tokens_of_tile(level, col, n)
        with self._lock:
            area, band = _kept(
                self._bands,
                (matrix, rows.start, rows.stop),
                BANDS,
                lambda: self._band(matrix, rows),
            )
        allowed = self._allowed(matrix)
        window = _cut(band, area, cols, _empty(matrix))
        return pooled(window, None if allowed is None else allowed[rows, cols], level, pooling)

    def links(
        self,
        matrix: Matrix,
        count: int,
        *,
        least: float,
        special: bool,
        neighbors: bool,
        itself: bool,
    ) -> Links:
        """The strongest links of a matrix; see `strongest_links`."""
        blocks = self._blocks(matrix, self._areas(matrix))
        left_out = self._special.any() or self._special_keys.any()
        keep = None if special or not left_out else (~self._special, ~self._special_keys)
        if not self._analysis.trace.square:  # places of two texts cannot be compared
            neighbors = itself = True
        allowed = self._allowed(matrix)
        possible = blocks if allowed is None else _forbidden_out(blocks, allowed)
        return strongest_links(
            possible, count, least=least, keep=keep, neighbors=neighbors, itself=itself
        )

    def _build(
        self,
        matrix: Matrix,
        progress: Progress | None,
        visit: Callable[[Area, Float32], None] | None = None,
    ) -> Pyramid:
        n, areas, allowed = (
            self._analysis.trace.n_tokens,
            self._areas(matrix),
            self._allowed(matrix),
        )
        base, signed = min(FINEST_KEPT, coarsest_level(n)), matrix.quantity == "scores"
        outside = sinks(self._analysis.trace.tokens, allowed)
        visiting = threading.Lock()

        def part(area: Area) -> BlockPart:
            ((_, block),) = self._blocks(matrix, [area])
            if visit is not None:
                with visiting:
                    visit(area, block)
            return block_part(area, block, base, allowed, outside, signed=signed)

        def reporting(parts: Iterator[BlockPart]) -> Iterator[BlockPart]:
            for i, block in enumerate(parts):
                if progress is not None:
                    progress(i, len(areas))
                yield block

        with pool(usable_cores()) as workers:
            try:
                parts = reporting(workers.map(part, areas))
                return assemble(parts, n, allowed, outside, signed=signed)
            except BaseException:
                workers.shutdown(cancel_futures=True)
                raise

    def _band(self, matrix: Matrix, rows: slice) -> tuple[Area, Float32]:
        areas = [
            area
            for area in self._areas(matrix)
            if area.rows.start >= rows.start and area.rows.stop <= rows.stop
        ]
        cols = slice(min(a.cols.start for a in areas), max(a.cols.stop for a in areas))
        parts = [
            _cut(block, area, cols, _empty(matrix)) for area, block in self._blocks(matrix, areas)
        ]
        return Area(rows, cols), np.concatenate(parts)

    def _areas(self, matrix: Matrix) -> list[Area]:
        """Rows in the blocks that all levels are computed in, so that they agree to the bit."""
        trace, n = self._analysis.trace, self._analysis.trace.n_tokens
        if matrix.quantity == "rollout":
            return [
                Area(slice(start, min(start + BLOCK_ROWS, n)), slice(0, n))
                for start in range(0, n, BLOCK_ROWS)
            ]
        key = ("row_blocks", matrix.layer)
        return cached(self._analysis, key, lambda: trace.row_blocks(matrix.layer))

    def _blocks(self, matrix: Matrix, areas: Sequence[Area]) -> Iterator[tuple[Area, Float32]]:
        trace = self._analysis.trace
        quantity, layer, head = matrix
        if quantity == "rollout":
            n = self._analysis.trace.n_tokens
            check_rollout(n)
            whole = self._analysis.rollout(layer)
            for area in areas:
                yield area, whole[area]
        elif quantity == "scores":
            if head == "mean":
                raise NotAvailableError(
                    "The mean head averages weights and has no scores.",
                    "Choose a head by its number.",
                )
            for area in areas:
                yield area, trace.scores(layer, head, area.rows, area.cols)
        elif head == "mean":
            heads = [trace.head_blocks(layer, head, areas) for head in range(trace.n_heads)]
            for area in areas:
                total = next(heads[0])[1].copy()
                for other in heads[1:]:
                    total += next(other)[1]
                yield area, total / np.float32(trace.n_heads)
        else:
            yield from trace.head_blocks(layer, head, areas)

    def _allowed(self, matrix: Matrix) -> Mask | None:
        trace = self._analysis.trace
        return None if matrix.quantity == "rollout" else trace.mask(matrix.layer)


def check_rollout(n: int) -> None:
    """Refuse a rollout of ``n`` tokens that would take minutes and gigabytes while a page waits."""
    if n > ROLLOUT_TOKENS:
        raise NotAvailableError(
            f"Rollout multiplies {n} x {n} matrices, one for every layer, and keeps them: it is N/A for "
            f"texts of more than {ROLLOUT_TOKENS} tokens.",
            "Choose weights, or a shorter text.",
        )


def levels_of_detail(analysis: AttentionFigures) -> LevelsOfDetail:
    """The levels of detail of a run, made on first use."""
    return cached(analysis, "levels_of_detail", lambda: LevelsOfDetail(analysis))


Key = TypeVar("Key", bound=Hashable)


def _kept(cache: OrderedDict[Key, Value], key: Key, most: int, make: Callable[[], Value]) -> Value:
    if key not in cache:
        cache[key] = make()
        if len(cache) > most:
            cache.popitem(last=False)
    cache.move_to_end(key)
    return cache[key]


def _empty(matrix: Matrix) -> np.float32:
    """Value of a cell outside of all blocks: the mask forbids it."""
    return np.float32(-np.inf if matrix.quantity == "scores" else 0)


def _cut(block: Float32, area: Area, cols: slice, empty: np.float32) -> Float32:
    """Some columns of a block, ``empty`` where it has none."""
    if area.cols.start <= cols.start and cols.stop <= area.cols.stop:
        return block[:, cols.start - area.cols.start : cols.stop - area.cols.start]
    cells = np.full((len(block), cols.stop - cols.start), empty, dtype=np.float32)
    left, right = max(area.cols.start, cols.start), min(area.cols.stop, cols.stop)
    if left < right:
        part = block[:, left - area.cols.start : right - area.cols.start]
        cells[:, left - cols.start : right - cols.start] = part
    return cells


def _forbidden_out(
    blocks: Iterator[tuple[Area, Float32]], allowed: Mask
) -> Iterator[tuple[Area, Float32]]:
    for area, block in blocks:
        yield area, np.where(allowed[area], block, np.float32(-np.inf))
