"""The code ``qk`` under a mask, of more tokens than twice the numbers of a head: factors of the scores, and corrections of single cells.

A mask leaves all queries and keys, but fewer cells. So three things save bytes under a causal mask:

- Heads that share their keys (grouped heads) store them once.
- A query that looks at few keys has fewer scores than numbers. Its numbers are not stored, nor are those of a key at which few
  queries look: all their scores are corrections of zero.
- Factors are coarser than the largest error of a score allows, and cells that are off by more are corrected. The fewer
  cells there are for each number of the factors, the more this saves.

Keys are not centered, so that rows have no shift: a common part of the keys is one direction more, and every direction has
its own step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.page.encodings.codec import (
    AIM,
    FINEST,
    GOOD,
    MARGIN,
    MAX_SCORE_ERROR,
    MAX_STEPS,
    MAX_WEIGHT_ERROR,
    SMALLEST,
    EncodedFactors,
    softmax,
)
from attn_widget.page.encodings.factors import balanced, max_abs
from attn_widget.page.encodings.planes import Arrays

# Standard deviation of what factors are off by, in the largest error of a score: with 0.3 and 0.4 pages of SmolLM2 and of
# random heads take half a percent more.
NOISE = 0.35
FINER = 2  # units of a correction in twice the largest error, where there are factors
# A heavier weight changes more with its score. Its score may be off by less, as much less as the weight is larger than this.
HEAVY = 0.2
FAINTEST = 40  # power of two by which the strongest direction may be longer than another
SKIP = 255  # a byte that passes over as many cells, none of them corrected
GAUSSIAN = (
    2 * np.pi * np.e
) ** 0.5  # bits of rounded Gaussian numbers: log2 of their standard deviation, in steps, times this


@dataclass(frozen=True)
class CorrectedFactors(EncodedFactors):
    """One head: ``scores = step^2 * (queries @ (2^exponents * keys).T + every * corrections)``.

    ``queries`` and ``keys`` have the rows that ``has_query`` and ``has_key`` tell; the others are zero.

    ``keys``, int32 [n', r]: the same array for all heads of a group.
    """

    keys: NDArray[np.int32]  # pyright: ignore[reportIncompatibleVariableOverride]
    exponents: NDArray[np.uint8]  # [r]
    has_query: NDArray[np.bool_]  # has_query, has_key: bool [n]; those whose numbers are stored
    has_key: NDArray[np.bool_]
    every: float  # a whole number: of steps squared, in a unit of the corrections
    # [g]; for each corrected cell the allowed cells since the last one, row by row; `SKIP` stands for as many, and
    # goes on.
    gaps: NDArray[np.uint8]
    corrections: NDArray[np.int32]  # [c]


@dataclass(frozen=True)
class Sides:
    """Factors of a group: ``left @ (2^exponents * right).T * step^2``, in whole steps."""

    left: Float64  # [g, n, r]
    right: Float64  # [n, r]
    exponents: NDArray[np.uint8]
    step: float

    @classmethod
    def of(cls, queries: Float32, keys: Float32, scaling: float, max_score_error: float) -> Sides:
        """Each direction with the step at which all of them are off by as much, so that the longest is the finest."""
        n_heads, n, d = queries.shape
        wide = queries.astype(np.float64).reshape(1, -1, d) * scaling
        (left,), (right,) = balanced(wide, keys[None].astype(np.float64))
        length = np.maximum((right**2).sum(axis=0), SMALLEST)
        exponents = np.clip(np.rint(np.log2(length.max() / length)), 0, FAINTEST)
        scale = 2.0 ** (-exponents / 2)
        left, right = left * scale, right * scale
        squares = (left**2).mean(axis=0) + (right**2).mean(axis=0)
        noise = (squares * 4.0**exponents).sum() / 12
        step = NOISE * max_score_error / max(noise, SMALLEST) ** 0.5
        largest = max(float(np.abs(side).max(initial=0)) for side in (left, right))
        least = max(FINEST, largest / MAX_STEPS)
        step = max(min(step, (2 * max_score_error) ** 0.5), least)
        left, right = np.rint(left / step), np.rint(right / step)
        used = left.any(axis=0) & right.any(axis=0)
        return cls(
            left[:, used].reshape(n_heads, n, -1),
            right[:, used],
            exponents[used].astype(np.uint8),
            step,
        )

    def stored(
        self, allowed: NDArray[np.bool_], cell_bits: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Queries, and keys, whose numbers take fewer bits than the cells that they have with each other."""
        n_heads = len(self.left)
        query, key = (
            np.log2(np.maximum(1, GAUSSIAN * side.std(axis=(*range(side.ndim - 1),)))).sum()
            for side in (self.left, self.right)
        )
        rows, columns = (np.ones(len(allowed), dtype=bool) for _ in range(2))
        before = -1
        while before != (before := rows.sum() + columns.sum()):
            rows &= cell_bits * allowed[:, columns].sum(axis=1) > query
            columns &= cell_bits * n_heads * allowed[rows].sum(axis=0) > key
        saved = cell_bits * allowed[np.ix_(rows, columns)].sum() - query * rows.sum()
        coarser = np.log2(FINER) * allowed.sum()  # all cells without factors, in wider units
        worth = n_heads * (saved - coarser) > key * columns.sum()
        return rows & worth, columns & worth


def encode_corrected(
    queries: Float32,
    keys: Float32,
    scaling: float,
    *,
    allowed: NDArray[np.bool_],
    shown: Callable[[int], tuple[Float32, Float32]],
    biases: Sequence[Float32 | None],
    max_score_error: float = MAX_SCORE_ERROR,
) -> list[CorrectedFactors]:
    """Heads that share their keys, so that no score and no weight is off by more.

    ``queries``: float32 [H, n, d]. ``keys``: float32 [n, d]. ``allowed``: bool [n, n]. ``shown``: scores and
    weights of one of the heads, float32 [n, n], as the kernel shows them. ``biases``, sequence of float32 [n, n]:
    what the model adds to the scores of each head.
    """
    while True:
        encoded = within(max_score_error, queries, keys, scaling, allowed, shown, biases)
        share = max(one.error for one in encoded) / MAX_WEIGHT_ERROR
        if share <= 1 or max_score_error < FINEST:
            return encoded
        max_score_error *= AIM / share


def within(
    max_score_error: float,
    queries: Float32,
    keys: Float32,
    scaling: float,
    allowed: NDArray[np.bool_],
    shown: Callable[[int], tuple[Float32, Float32]],
    biases: Sequence[Float32 | None],
) -> list[CorrectedFactors]:
    """`encode_corrected` without regard to weights."""
    sides = Sides.of(queries, keys, scaling, max_score_error)

    def cells(head: int) -> Float64:
        """Products of the allowed cells, row by row: scores without the bias."""
        added = biases[head]
        return shown(head)[0][allowed].astype(np.float64) - (0 if added is None else added[allowed])

    sizes = [(max_abs(one, None), one.var()) for one in map(cells, range(len(queries)))]
    largest, spread = max(size for size, _ in sizes), np.mean([size for _, size in sizes]) ** 0.5
    # A reader's scores are rounded in units of their size.
    limit = max(max_score_error - 2 * MARGIN * largest, GOOD * max_score_error)
    cell_bits = np.log2(max(2, GAUSSIAN * FINER * spread / (2 * limit)))
    has_query, has_key = sides.stored(allowed, cell_bits)
    of_factors = (has_query[:, None] & has_key)[allowed]
    unit = sides.step**2
    finer = FINER if of_factors.any() else 1
    every = max(1, np.ceil(largest / MAX_STEPS / unit), np.floor(2 * limit / finer / unit))
    right = np.ldexp(sides.right * has_key[:, None], sides.exponents.astype(int)).T
    kept_keys = sides.right[has_key].astype(np.int32)
    encoded: list[CorrectedFactors] = []
    for head, added in enumerate(biases):
        scores, weights = shown(head)
        product = (sides.left[head] * has_query[:, None]) @ right
        off = cells(head) / unit - product[allowed]
        tolerated = limit / unit / np.maximum(1, weights[allowed] / HEAVY)
        corrected = ~of_factors | (np.abs(off) > tolerated)
        corrections = np.where(corrected, np.rint(off / every), 0)
        product[allowed] += every * corrections
        seen = (product * unit + (0 if added is None else added)).astype(np.float32)
        seen[~allowed] = -np.inf
        read = softmax(seen)
        margin = MARGIN * max(1.0, float(max_abs(scores[allowed], None)))
        encoded.append(
            CorrectedFactors(
                queries=sides.left[head, has_query].astype(np.int32),
                keys=kept_keys,
                step=sides.step,
                shift=np.zeros(len(allowed), dtype=np.float32),
                decoded=read,
                error=float(max_abs(read - weights, None)) + margin,
                score_error=float(max_abs(seen[allowed] - scores[allowed], None)) + margin,
                exponents=sides.exponents,
                has_query=has_query,
                has_key=has_key,
                every=float(every),
                gaps=gaps_of(np.flatnonzero(corrected)),
                corrections=corrections[corrected].astype(np.int32),
            )
        )
    return encoded


def gaps_of(places: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Bytes of ascending places: how many lie between each and the last, with `SKIP` for as many of them.

    >>> gaps_of(np.array([0, 1, 5, 300])).tolist()
    [0, 0, 3, 255, 39]
    """
    between = np.diff(places, prepend=-1) - 1
    skips, rest = np.divmod(between, SKIP)
    gaps = np.full(len(places) + int(skips.sum()), SKIP, dtype=np.uint8)
    gaps[np.cumsum(skips + 1) - 1] = rest
    return gaps


def corrected_values(heads: Sequence[CorrectedFactors]) -> list[NDArray[np.int32]]:
    """The numbers of each head: its queries by direction, keys too if it is the first that has them, its corrections."""
    values: list[NDArray[np.int32]] = []
    for at, (one, owner) in enumerate(zip(heads, owners(heads), strict=True)):
        sides = [one.queries, one.keys] if at == owner else [one.queries]
        values += [*(side.T.ravel() for side in sides), one.corrections]
    return values


def corrected_arrays(heads: Sequence[CorrectedFactors]) -> Arrays:
    """Arrays of each head besides its numbers."""
    return {
        "keys_of": np.array(owners(heads), dtype=np.int32),
        "has_query": np.array([one.has_query for one in heads], dtype=np.uint8),
        "has_key": np.array([one.has_key for one in heads], dtype=np.uint8),
        "every": np.array([one.every for one in heads]),
        "exponents": np.concatenate([one.exponents for one in heads]),
        "gap_bytes": np.array([len(one.gaps) for one in heads], dtype=np.int32),
        "gaps": np.concatenate([one.gaps for one in heads]),
    }


def owners(heads: Sequence[CorrectedFactors]) -> list[int]:
    """For each head the place of the first one that has its keys."""
    return [next(at for at, other in enumerate(heads) if other.keys is one.keys) for one in heads]
