"""The code ``qk`` of a long text: queries and keys in whole steps.

Softmax ignores what is added to a whole row, so keys are centered first; the product is then split evenly
over its singular directions, because an even step costs fewest bits when both factors are equally wide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.page.encodings.codec import (
    AIM,
    COARSEST,
    FINEST,
    GOOD,
    MARGIN,
    MOST_STEPS,
    SEARCHES,
    SMALLEST,
    WORST,
    WORST_SCORE,
    EncodedFactors,
    rounded_shift,
    softmax,
    weight_error,
    worst_of,
)

SPREAD = 4.5  # standard deviations that the largest of some 10^5 errors reaches
NEGLIGIBLE = 1e-15  # squared length of a direction, as a share of the longest


def encode_factors(
    queries: Float32,
    keys: Float32,
    scaling: float,
    *,
    scores: Float32,
    weights: Float32,
    bias: Float32 | None = None,
    worst: float = WORST,
    worst_score: float = WORST_SCORE,
) -> EncodedFactors:
    """The factors of the scores, with the coarsest step that keeps both errors.

    Parameters
    ----------
    queries, keys : float32 [n, d]
        As the head has them.
    scaling : float
        ``scores = scaling * queries @ keys.T + bias``
    scores, weights : float32 [n, n]
        As the kernel shows them, mask (``-inf``) and bias included: what errors are measured against.
    bias : float32 [n, n], optional
        What the model adds to the scores (the reader must be given it too).
    worst, worst_score : float
        The largest error of a weight, and of a score.

    Examples
    --------
    >>> from attn_widget.page.encodings.codec import decode_scores
    >>> rng = np.random.default_rng(0)
    >>> q, k = rng.normal(size=(2, 20, 8)).astype(np.float32)
    >>> scores = q @ k.T * np.float32(8**-0.5)
    >>> coded = encode_factors(q, k, 8**-0.5, scores=scores, weights=softmax(scores))
    >>> bool(np.abs(decode_scores(coded) - scores).max() <= coded.score_error <= WORST_SCORE)
    True
    """
    wide = queries.astype(np.float64) * scaling
    center = keys.mean(axis=0, dtype=np.float64)
    exact_shift = wide @ center
    shift = rounded_shift(exact_shift, worst_score)
    impossible = np.isneginf(scores)
    left, right = balanced(wide, keys - center)
    product = left @ right.T
    product += (exact_shift - shift)[:, None]  # what is left of it counts as an error
    added = shift.astype(np.float64)[:, None] + (0 if bias is None else bias)

    def read(product: Float64) -> tuple[Float32, Float32]:
        """Scores and weights as a reader computes them."""
        found = (product + added).astype(np.float32)
        found[impossible] = -np.inf
        return found, softmax(found)

    # Up to here no weight can be off by more than is allowed, whatever the head.
    safe = weight_error(worst_score) <= worst

    tried: list[Rounded] = []

    def share_of(step: float) -> float:
        """The errors of a step, as a share of those that are allowed."""
        tried[:] = [Rounded.of(left, right, step)]
        share = float(np.abs(tried[0].product - product).max(initial=0)) / worst_score
        if not safe:
            share = max(share, worst_of(read(tried[0].product)[1], weights) / worst)
        return share

    step = search_step(left, right, worst_score, share_of)
    (found,) = tried
    read_scores, shown = read(found.product)
    used = np.flatnonzero(np.abs(found.queries).max(axis=0) * np.abs(found.keys).max(axis=0))
    reach = np.abs(scores[~impossible]).max(initial=1)
    return EncodedFactors(
        found.queries[:, used].astype(np.int32),
        found.keys[:, used].astype(np.int32),
        step,
        shift,
        shown,
        worst_of(shown, weights) + MARGIN,
        worst_of(read_scores[~impossible], scores[~impossible]) + MARGIN * float(reach),
    )


def search_step(
    left: Float64, right: Float64, worst_score: float, share_of: Callable[[float], float]
) -> float:
    """The coarsest step, nearly, whose errors are allowed; the last one that ``share_of`` was asked about.

    Parameters
    ----------
    left, right : float64 [n, d]
    worst_score : float
    share_of : callable
        ``step -> errors, as a share of those that are allowed``
    """
    low = max(FINEST, finest(left, right))
    high = max(COARSEST, 2 * low)
    step = min(max(first_step(left, right, worst_score), low), high)
    share = share_of(step)
    for _ in range(SEARCHES):
        # Errors grow with the step.
        end = low if share > 1 else high
        if GOOD <= share <= 1 or step == end:
            break
        step = min(max(step * AIM / max(share, SMALLEST), low), high)
        share = share_of(step)
    while step > low and share > 1:
        step = max(low, step / 2)
        share = share_of(step)
    return step


@dataclass(frozen=True)
class Rounded:
    """Factors in whole steps, and the product that they give."""

    queries: Float64
    keys: Float64
    product: Float64

    @classmethod
    def of(cls, left: Float64, right: Float64, step: float) -> Rounded:
        queries, keys = np.rint(left / step), np.rint(right / step)
        product = queries @ keys.T
        product *= step**2
        return cls(queries, keys, product)


def finest(left: Float64, right: Float64) -> float:
    """The finest step with which no number has more than `MOST_STEPS`."""
    return float(max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))) / MOST_STEPS


def first_step(left: Float64, right: Float64, worst_score: float) -> float:
    """Where to look for a step: rounding adds noise of variance ``step^2 / 12`` to every factor."""
    variance = ((left**2).sum(axis=1).max(initial=0) + (right**2).sum(axis=1).max(initial=0)) / 12
    return worst_score / (SPREAD * float(variance) ** 0.5 + SMALLEST)


def balanced(left: Float64, right: Float64) -> tuple[Float64, Float64]:
    """Factors with the product of ``left @ right.T`` and equal lengths along every direction.

    ``left = basis @ rest`` with orthonormal columns, and ``rest @ right.T = u s v.T``: the factors are
    ``basis @ u sqrt(s)`` and ``v sqrt(s)``, which is ``right @ rest.T @ u / sqrt(s)``.
    """
    # All directions are kept, so that the product is right however small the lengths: a floor below
    # them costs evenness alone.
    lengths, vectors = directions(left)
    basis, rest = left @ (vectors / lengths), (vectors * lengths).T
    other = right @ rest.T
    lengths, u = directions(other)
    root = np.sqrt(lengths)
    return basis @ u * root, other @ u / root


def directions(factor: Float64) -> tuple[Float64, Float64]:
    """Singular values, the largest first, and right singular vectors: quicker than an SVD."""
    squares, vectors = np.linalg.eigh(factor.T @ factor)
    floor = NEGLIGIBLE * max(float(squares.max(initial=0)), SMALLEST)
    return np.sqrt(np.maximum(squares, floor))[::-1], vectors[:, ::-1]
