"""The code ``qk``: scores as the product of two factors in whole steps, with a known error.

Softmax ignores what is added to a whole row, so keys are centered first. Of a long text the product is then split evenly
over its singular directions, because an even step costs fewest bits when both factors are equally wide. Up to twice
as many tokens as a head has numbers, the scores themselves are stored: fewer bytes still.
All heads of a layer at once: at twenty tokens a call of numpy costs more than its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.page.encodings.codec import (
    AIM,
    COARSEST,
    FINEST,
    GOOD,
    MARGIN,
    MAX_SCORE_ERROR,
    MAX_STEPS,
    MAX_WEIGHT_ERROR,
    SEARCHES,
    SHIFT_STEPS,
    SMALLEST,
    EncodedFactors,
    rounded_shift,
    softmax,
    weight_error,
)

SCORES_UP_TO = 2  # tokens, in numbers of a head: n^2 scores take fewer bytes than queries and keys
LIKELY = 4  # a weight is rarely off by more than a quarter of what the scores of its row are
SPREAD = 4.5  # standard deviations that the largest of some 10^5 errors reaches
NEGLIGIBLE = 1e-15  # squared length of a direction, as a share of the longest
SHIFT_SHARE = (
    64  # of the largest score: what rounding leaves of a row's mean hardly lengthens the scores
)
# Keys of a row that a mask leaves short: a shift of its own would take more bytes than it saves.
SHORT_ROW = 20
ALL = slice(None)


@dataclass(frozen=True)
class Factors:
    """Scores of H heads: ``left @ right.T + rest + shift``."""

    # left, right: [H, n, r]; ``right`` is None where ``left`` is the scores themselves.
    left: Float64
    right: Float64 | None
    rest: Float64  # [H, n]; what rounding took from the shift; counts as an error
    shift: Float32  # [H, n]

    @classmethod
    def of(
        cls,
        queries: Float32,
        keys: Float32,
        scaling: float,
        max_score_error: float,
        scores_up_to: float = SCORES_UP_TO,
        impossible: NDArray[np.bool_] | None = None,
    ) -> Factors:
        """Factors of queries and keys, [H, n, d]; scores themselves are 0 where ``impossible``, [H, n, n]."""
        wide = queries.astype(np.float64) * scaling
        if queries.shape[1] <= scores_up_to * queries.shape[2]:
            return cls._of_scores(wide @ keys.transpose(0, 2, 1).astype(np.float64), impossible)
        center = keys.mean(axis=1, dtype=np.float64, keepdims=True)
        exact_shift = (wide @ center.transpose(0, 2, 1))[..., 0]
        shift = rounded_shift(exact_shift, max_score_error / SHIFT_STEPS)
        return cls(*balanced(wide, keys - center), exact_shift - shift, shift)

    @classmethod
    def _of_scores(cls, scores: Float64, impossible: NDArray[np.bool_] | None) -> Factors:
        """Scores less about the mean of their row: their codes take up the rest of it. Short rows of a mask keep theirs."""
        possible = np.ones(scores.shape, bool) if impossible is None else ~impossible
        keys = possible.sum(axis=-1)
        means = np.where(possible, scores, 0).sum(axis=-1) / np.maximum(1, keys)
        masked = keys.min(axis=1, keepdims=True) < keys.shape[1]
        means[masked & (keys <= SHORT_ROW)] = 0
        coarse = np.maximum(max_abs(scores) / SHIFT_SHARE, SMALLEST)
        shift = np.stack(
            [rounded_shift(*means_and_steps) for means_and_steps in zip(means, coarse, strict=True)]
        )
        scores = np.where(possible, scores - shift[..., None], 0)
        return cls(scores, None, np.zeros_like(means), shift)

    def exact(self, rows: Any = ALL) -> Float64:
        """The product before rounding, [H, rows, n]."""
        left = self.left[:, rows]
        product = left if self.right is None else left @ self.right.transpose(0, 2, 1)
        return product + self.rest[:, rows, None]

    def rounded(self, step: Float64, heads: Any = ALL, rows: Any = ALL) -> Float64:
        """The product as a reader computes it, [heads, rows, n]."""
        step = step[:, None, None]
        left = self.left[heads][:, rows]
        if self.right is None:
            product = np.rint(left / step**2)
        else:
            right = np.rint(self.right[heads] / step).transpose(0, 2, 1)
            product = np.rint(left / step) @ right
        product *= step**2
        return product

    def codes(self, head: int, step: float) -> tuple[NDArray[np.int32], NDArray[np.int32] | None]:
        """Both factors of a head in whole steps, int32 [n, r], without directions that are all zero."""
        if self.right is None:
            return np.rint(self.left[head] / step**2).astype(np.int32), None
        left, right = (np.rint(side[head] / step) for side in (self.left, self.right))
        used = np.flatnonzero(max_abs(left, 0) * max_abs(right, 0))
        return left[:, used].astype(np.int32), right[:, used].astype(np.int32)

    def search(
        self, max_score_error: float, share_of: Callable[[Float64, Any], Float64]
    ) -> Float64:
        """The coarsest step of each head, nearly, whose errors are allowed, [H].

        ``share_of(step, heads)`` gives the errors of some heads, as a share of those that are allowed.
        """
        scores = self.right is None
        largest = max_abs(self.left, (1, 2)) / MAX_STEPS
        if self.right is None:
            low = np.maximum(FINEST, largest**0.5)
            step = np.full(
                len(low), (2 * AIM * min(max_score_error, LIKELY * MAX_WEIGHT_ERROR)) ** 0.5
            )
        else:
            low = np.maximum(FINEST, np.maximum(largest, max_abs(self.right, (1, 2)) / MAX_STEPS))
            variance = (
                sum((side**2).sum(axis=2).max(axis=1) for side in (self.left, self.right)) / 12
            )
            step = max_score_error / (SPREAD * variance**0.5 + SMALLEST)
        high = np.maximum(COARSEST, 2 * low)
        step = np.clip(step, low, high)
        share = share_of(step, ALL)
        for _ in range(SEARCHES):
            # Errors grow with the step, of scores with its square.
            done = (share >= GOOD) & (share <= 1) | (step == np.where(share > 1, low, high))
            heads = np.flatnonzero(~done)
            if not len(heads):
                break
            wider = (AIM / np.maximum(share, SMALLEST)) ** (0.5 if scores else 1)
            step[heads] = np.clip(step * wider, low, high)[heads]
            share[heads] = share_of(step[heads], heads)
        while len(heads := np.flatnonzero((share > 1) & (step > low))):
            step[heads] = np.maximum(low, step / 2)[heads]
            share[heads] = share_of(step[heads], heads)
        return step


def encode_factors(
    queries: Float32,
    keys: Float32,
    scaling: float,
    *,
    scores: Float32,
    weights: Float32,
    bias: Float32 | None = None,
    max_weight_error: float = MAX_WEIGHT_ERROR,
    max_score_error: float = MAX_SCORE_ERROR,
    scores_up_to: float = SCORES_UP_TO,
) -> list[EncodedFactors]:
    """The factors of every head's scores, each with the coarsest step that keeps both errors.

    ``queries``, ``keys``, float32 [H, n, d]: as the heads have them. ``scaling``:
    ``scores = scaling * queries @ keys.T + bias``. ``scores``, ``weights``, float32 [H, n, n]: as the kernel shows
    them, mask (``-inf``) and bias included: what errors are measured against. ``bias``, float32 [H, n, n]: what the
    model adds to the scores (the reader must be given it too). ``max_weight_error``, ``max_score_error``: the
    largest error of a weight, and of a score. ``scores_up_to``: tokens, in numbers of a head, up to which the
    scores themselves are stored.

    >>> from attn_widget.page.encodings.codec import decode_scores
    >>> q, k = np.random.default_rng(0).normal(size=(2, 3, 20, 8)).astype(np.float32)
    >>> scores = q @ k.transpose(0, 2, 1) * np.float32(8**-0.5)
    >>> encoded = encode_factors(q, k, 8**-0.5, scores=scores, weights=softmax(scores))
    >>> [bool(np.abs(decode_scores(encoded[h]) - scores[h]).max() <= MAX_SCORE_ERROR) for h in range(3)]
    [True, True, True]
    """
    impossible = np.isneginf(scores)
    found = Factors.of(queries, keys, scaling, max_score_error, scores_up_to, impossible)
    exact = found.exact()
    added = found.shift.astype(np.float64)[..., None] + (0 if bias is None else bias)
    # Up to here no weight can be off by more than is allowed, whatever the head.
    safe = weight_error(max_score_error) <= max_weight_error

    def read(product: Float64, heads: Any = ALL) -> Float32:
        """Scores as a reader computes them."""
        seen = (product + added[heads]).astype(np.float32)
        seen[impossible[heads]] = -np.inf
        return seen

    product = np.empty_like(exact)

    def share_of(step: Float64, heads: Any) -> Float64:
        product[heads] = found.rounded(step, heads)
        share = max_abs(product[heads] - exact[heads]) / max_score_error
        if safe:
            return share
        shown = softmax(read(product[heads], heads))
        return np.maximum(share, max_abs(shown - weights[heads]) / max_weight_error)

    step = found.search(max_score_error, share_of)
    seen = read(product)
    shown = softmax(seen)
    possible = np.where(impossible, 0, scores)
    seen[impossible] = 0
    # A reader's scores are rounded in units of their size, and a weight follows its score.
    margin = MARGIN * np.maximum(1, max_abs(possible))
    error = max_abs(shown - weights) + margin
    score_error = max_abs(seen - possible) + margin
    return [
        EncodedFactors(
            *found.codes(head, step[head]),
            float(step[head]),
            found.shift[head],
            shown[head],
            float(error[head]),
            float(score_error[head]),
        )
        for head in range(len(step))
    ]


def max_abs(values: NDArray[Any], axis: Any = (1, 2)) -> Float64:
    """The largest size of any number, by default of each head, [H]."""
    return np.abs(values).max(axis=axis, initial=0).astype(np.float64)


def balanced(left: Float64, right: Float64) -> tuple[Float64, Float64]:
    """Factors with the product of ``left @ right.T`` and equal lengths along every direction, [H, n, d].

    ``left = basis @ rest`` with orthonormal columns, and ``rest @ right.T = u s v.T``: the factors are
    ``basis @ u sqrt(s)`` and ``v sqrt(s)``, which is ``right @ rest.T @ u / sqrt(s)``.
    """
    # All directions are kept, so that the product is right however small the lengths: a floor below
    # them costs evenness alone.
    lengths, vectors = directions(left)
    other = right @ (vectors * lengths)
    basis = left @ (vectors / lengths)
    lengths, u = directions(other)
    root = np.sqrt(lengths)
    return basis @ u * root, other @ u / root


def directions(factor: Float64) -> tuple[Float64, Float64]:
    """Singular values [H, 1, d], the largest first, and right singular vectors: quicker than an SVD."""
    squares, vectors = np.linalg.eigh(factor.transpose(0, 2, 1) @ factor)
    floor = NEGLIGIBLE * np.maximum(squares.max(axis=1, initial=0), SMALLEST)
    return np.sqrt(np.maximum(squares, floor[:, None]))[:, None, ::-1], vectors[..., ::-1]
