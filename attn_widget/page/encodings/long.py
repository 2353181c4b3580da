"""Heads of a long text, each in chunks of its own: no reader needs a matrix as a whole.

In the code ``qk`` a head's chunk has queries and keys, and the normalizer of every row, so that any cell follows from two
vectors; in the code ``weights`` the cells are in chunks of `ROWS` rows. Where a walk over the cells would take a reader
seconds, the chunk has the coarsest level of detail too: the means of its blocks, and the largest cells, in ``qk`` by their
places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.opening import sinks
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.long.pyramid import (
    FINEST_KEPT,
    BlockPart,
    assemble,
    block_part,
    coarsest_level,
    side_of,
)
from attn_widget.page.encodings.codec import (
    MARGIN,
    MAX_WEIGHT_ERROR,
    encode_cells,
    softmax,
    weight_error,
)
from attn_widget.page.encodings.factors import Factors
from attn_widget.page.encodings.planes import BYTE, Arrays, code_planes, planes
from attn_widget.protocol.pack import pack
from attn_widget.protocol.slices.long import described
from attn_widget.trace.base import Area
from attn_widget.trace.windows.masks import Mask, RowSpans

ROWS = 256  # of a chunk of encoded weights
DETAIL_FROM = 2048  # tokens, up to which a page walks over a head in half a second
SAMPLED_ROWS = 1024  # by which the step of a head is chosen, before it is measured over all rows
TIGHTER = 0.9  # of a step that was too wide beyond these rows


@dataclass
class LongLayer:
    """The chunks of a layer of a long text, and their errors."""

    # ``head-<l>-<h>``, with code ``weights`` also ``rows-<l>-<h>-<block>``; ``head-<l>-mean`` where all heads are
    # here.
    chunks: dict[str, bytes] = field(default_factory=dict)
    errors: list[float] = field(default_factory=list)  # errors, score_errors: of each head
    score_errors: list[float] = field(default_factory=list)
    # [n, n]; the mean head as a reader sees it, where it was asked for and all heads are here.
    mean: Float32 | None = None


class EncodedHead(Protocol):
    """A head that is encoded block by block."""

    error: float
    score_error: float | None

    def block(self, area: Area) -> Float32:
        """The weights of an area as a reader sees them; notes how far they are off."""
        ...

    def chunks(self, name: str) -> Iterator[tuple[str, dict[str, Any], Arrays]]:
        """Names, meta and arrays of its chunks; the first one is the head's own."""
        ...


def encode_layer(
    analysis: Analysis,
    layer: int,
    heads: Sequence[int],
    encoding: tuple[str, float],
    *,
    mean: bool = False,
) -> LongLayer:
    """The heads of a layer in chunks.

    ``encoding``: as in `attn_widget.page.encodings.chunks`. ``mean``: keep the mean matrix too, for a rollout.
    """
    trace = analysis.trace
    n, mask = trace.n_tokens, trace.mask(layer)
    encoded: list[EncodedHead] = [encode_head(analysis, layer, head, encoding) for head in heads]
    details = [Detail(analysis, layer, encoding[0]) for _ in encoded]
    whole = len(heads) == trace.n_heads
    of_mean = Detail(analysis, layer, encoding[0])
    found = LongLayer(mean=np.zeros((n, n), dtype=np.float32) if mean and whole else None)
    for area in trace.row_blocks(layer):
        total: Any = 0.0
        for encoded_head, detail in zip(encoded, details, strict=True):
            shown = encoded_head.block(area)
            detail.add(area, shown)
            if whole:
                total = total + shown.astype(np.float64)
        if whole:
            block = (total / len(encoded)).astype(np.float32)
            of_mean.add(area, block)
            if found.mean is not None:
                found.mean[area] = block
    rule = mask_arrays(mask)
    for head, encoded_head, detail in zip(heads, encoded, details, strict=True):
        (name, meta, first), *rest = encoded_head.chunks(f"{layer}-{head}")
        about, arrays = detail.answer()
        found.chunks[name] = pack({**meta, **about}, {**first, **arrays, **rule})
        found.chunks |= {name: pack(meta, arrays) for name, meta, arrays in rest}
        found.errors.append(encoded_head.error)
        if encoded_head.score_error is not None:
            found.score_errors.append(encoded_head.score_error)
    if whole:
        about, arrays = of_mean.answer()
        found.chunks[f"head-{layer}-mean"] = pack(about, {**arrays, **rule})
    return found


class Detail:
    """The coarsest level of a matrix, out of its blocks; nothing of a text whose matrices a page walks over itself."""

    def __init__(self, analysis: Analysis, layer: int, code: str) -> None:
        tokens = analysis.trace.tokens
        self._n, self._mask = len(tokens), analysis.trace.mask(layer)
        self._special = sinks(tokens, self._mask)
        self._by_place, self._rest = code == "qk", analysis.trace.has_rest
        self._parts: list[BlockPart] = []
        self._level = coarsest_level(self._n)
        side = side_of(self._n, self._level)
        self._places = np.zeros((side, side), dtype=np.uint16)

    def add(self, area: Area, weights: Float32) -> None:
        """The next block of rows."""
        if self._n <= DETAIL_FROM:
            return
        base = min(FINEST_KEPT, self._level)
        self._parts.append(block_part(area, weights, base, self._mask, self._special))
        if self._by_place:
            possible = None if self._mask is None else self._mask[area]
            shown = weights if possible is None else np.where(possible, weights, np.float32(-1))
            row, col = area.rows.start >> self._level, area.cols.start >> self._level
            places = places_of_largest(shown, self._level, area.cols.start % (1 << self._level))
            self._places[row : row + places.shape[0], col : col + places.shape[1]] = places

    def answer(self) -> tuple[dict[str, Any], Arrays]:
        """The answer to ``pyramid``; with places of the largest cells, ``places``, for ``max``."""
        if self._n <= DETAIL_FROM:
            return {}, {}
        found = assemble(self._parts, self._n, self._mask, self._special)
        about, arrays = described(found, masked=self._mask is not None, rest=self._rest)
        if not self._by_place:
            return about, arrays
        low, high = self._places.astype(np.uint8), (self._places >> 8).astype(np.uint8)
        del arrays["max"]
        return about, {**arrays, "places": low, "places_high": high}


def places_of_largest(weights: Float32, level: int, first: int) -> NDArray[np.uint16]:
    """Place of the largest cell of every block of ``2**level`` tokens a side: its row and column in the block.

    ``weights``, float32 [r, c]: begins at a block's first row. ``first``: columns of its first block that lie
    before the window. Returns uint16 [ceil(r / 2**level), ceil((c + first) / 2**level)]:
    ``row * 2**level + column``.

    >>> places_of_largest(np.array([[0, 1, 2], [3, 0, 1]], dtype=np.float32), 1, 0).tolist()
    [[2, 0]]
    """
    size = 1 << level
    rows, cols = -(-len(weights) // size), -(-(weights.shape[1] + first) // size)
    wide = np.full((rows * size, cols * size), -np.inf, dtype=np.float32)
    wide[: len(weights), first : first + weights.shape[1]] = weights
    blocks = wide.reshape(rows, size, cols, size).transpose(0, 2, 1, 3)
    return blocks.reshape(rows, cols, size * size).argmax(axis=2).astype(np.uint16)


def encode_head(
    analysis: Analysis, layer: int, head: int, encoding: tuple[str, float]
) -> EncodedHead:
    """A head in one code."""
    code, fineness = encoding
    if code == "weights":
        return LongWeights(analysis, layer, head, int(fineness))
    return LongFactors(analysis, layer, head, fineness)


class LongFactors:
    """Queries and keys in whole steps, the normalizer of every row, and how far weights and scores are off."""

    def __init__(self, analysis: Analysis, layer: int, head: int, max_score_error: float) -> None:
        self._trace, self._place = analysis.trace, (layer, head)
        self._mask: Mask | None = analysis.trace.mask(layer)
        queries, keys = (
            side(layer, head)[None] for side in (analysis.trace.queries, analysis.trace.keys)
        )
        found = Factors.of(
            queries, keys, analysis.trace.scaling(layer), max_score_error, scores_up_to=0
        )
        n = analysis.trace.n_tokens
        rows = np.linspace(0, n - 1, min(n, SAMPLED_ROWS)).astype(np.intp)
        possible = True if self._mask is None else self._mask[rows, slice(0, n)]
        exact = found.exact(rows)[0]
        checks_weights = weight_error(max_score_error) > MAX_WEIGHT_ERROR
        # A tenth is left for the rows that are not among the sampled ones.
        max_score_error *= TIGHTER

        def share_of(step: Float64, heads: Any) -> Float64:
            product = found.rounded(step, heads, rows)[0]
            share = np.abs(product - exact).max(initial=0, where=possible) / max_score_error
            if checks_weights:
                seen, wanted = (
                    softmax(np.where(possible, scores, -np.inf)) for scores in (product, exact)
                )
                share = max(
                    share, np.abs(seen - wanted).max(initial=0) / (TIGHTER * MAX_WEIGHT_ERROR)
                )
            return np.array([share])

        (self.step,) = found.search(max_score_error, share_of)
        (self._shift,) = found.shift
        queries, keys = found.codes(0, self.step)
        assert keys is not None  # `scores_up_to` is 0
        self._queries, self._keys = queries.astype(np.float64), keys.astype(np.float64)
        self._log_total = np.full(n, np.inf)
        self.error = MARGIN
        self.score_error: float | None = MARGIN

    def block(self, area: Area) -> Float32:
        exact = self._trace.scores(*self._place, area.rows, area.cols)
        ((_, weights),) = self._trace.head_blocks(*self._place, [area])
        product = self._queries[area.rows] @ self._keys[area.cols].T
        product *= self.step**2
        product += self._shift[area.rows, None].astype(np.float64)
        scores = product.astype(np.float32)
        if self._mask is not None:
            scores[~self._mask[area.rows, area.cols]] = -np.inf
        where = np.isfinite(exact)
        off = np.subtract(scores, exact, out=np.zeros_like(scores), where=where)
        reach = float(np.abs(exact).max(initial=1, where=where))
        self.score_error = max(
            self.score_error or 0, float(np.abs(off).max(initial=0)) + MARGIN * reach
        )
        wide = scores.astype(np.float64)
        most = wide.max(axis=1, initial=-np.inf)
        most[np.isneginf(most)] = 0
        with np.errstate(divide="ignore"):
            log_total = most + np.log(np.exp(wide - most[:, None]).sum(axis=1))
        # A row without a possible key: every weight is 0.
        log_total[np.isneginf(log_total)] = np.inf
        self._log_total[area.rows] = log_total
        shown = np.exp(wide - log_total[:, None]).astype(np.float32)
        self.error = max(self.error, float(np.abs(shown - weights).max(initial=0)) + MARGIN)
        return shown

    def chunks(self, name: str) -> Iterator[tuple[str, dict[str, Any], Arrays]]:
        sides = [side.astype(np.int32).T.ravel() for side in (self._queries, self._keys)]
        arrays: Arrays = {
            "rank": np.array([self._queries.shape[1]], dtype=np.int32),
            "step": np.array([self.step]),
            "shift": self._shift,
            "log_total": self._log_total,
            **planes(np.concatenate(sides)),
        }
        yield f"head-{name}", {}, arrays


class LongWeights:
    """Weights in one or two bytes a cell, in chunks of some rows."""

    score_error: float | None = None

    def __init__(self, analysis: Analysis, layer: int, head: int, levels: int) -> None:
        self._trace, self._place = analysis.trace, (layer, head)
        self._levels = levels
        areas = analysis.trace.row_blocks(layer)
        blocks = analysis.trace.head_blocks(layer, head, areas)
        self._largest = max((float(block.max(initial=0)) for _, block in blocks), default=0.0)
        n = analysis.trace.n_tokens
        kind = np.uint16 if levels > BYTE else np.uint8
        self._codes = [np.zeros((min(ROWS, n - at), n), dtype=kind) for at in range(0, n, ROWS)]
        self.error = MARGIN

    def block(self, area: Area) -> Float32:
        ((_, weights),) = self._trace.head_blocks(*self._place, [area])
        codes, shown = encode_cells(weights, self._largest, self._levels)
        number, first = divmod(area.rows.start, ROWS)
        self._codes[number][first : first + len(codes), area.cols] = codes
        self.error = max(self.error, float(np.abs(shown - weights).max(initial=0)) + MARGIN)
        return shown

    def chunks(self, name: str) -> Iterator[tuple[str, dict[str, Any], Arrays]]:
        yield f"head-{name}", {"largest_code": self._largest, "levels": self._levels}, {}
        for number, codes in enumerate(self._codes):
            yield f"rows-{name}-{number}", {}, code_planes(codes, self._levels)


def mask_arrays(mask: Mask | None) -> Arrays:
    """A mask by rule as differences from row to row, which compress to nothing; another one as bits.

    >>> rule = RowSpans(np.array([0, 0, 1]), np.array([1, 2, 3]))
    >>> {name: array.tolist() for name, array in mask_arrays(rule).items()}
    {'mask_start': [0, 0, 1], 'mask_stop': [1, 1, 1]}
    """
    if mask is None:
        return {}
    rule = mask if isinstance(mask, RowSpans) else RowSpans.of(mask)
    if rule is None:
        return {"mask_bits": np.packbits(np.asarray(mask), axis=1, bitorder="little")}
    arrays: Arrays = {
        f"mask_{name}": np.diff(ends, prepend=0).astype(np.int32)
        for name, ends in (("start", rule.start), ("stop", rule.stop))
    }
    if rule.common is not None:
        arrays["mask_common"] = rule.common.astype(np.uint8)
    return arrays
