"""Attention in few bytes: two codes, and the largest error that each of them made.

``weights``: one or two bytes a cell on a square-root scale, so that small weights are less far off than
large ones. Grows with ``n^2``; smaller for short texts.

``qk``: the factors of the score matrix, from which a reader computes scores and weights. Grows with ``n``.
Softmax ignores what is added to a whole row, so keys are centred first; the product is then split evenly
over its singular directions, because an even step costs fewest bits when both factors are equally wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.arrays import Float32, Float64

MOST_LEVELS = 2**16 - 1
WORST = 0.0039  # weights: what one byte allows at 1 anyway (half a step of a square is 1 / 255)
# Scores of a sharp head may be far off before a weight is: this keeps two digits.
WORST_SCORE = 0.05
MARGIN = 1e-7  # the reader's arithmetic: half a unit of float32 at 1, and softmax in another order
FINEST, COARSEST = 2.0**-20, 0.5  # steps of the factors that are tried
MOST_STEPS = 2**22  # a whole number of steps fits into three bytes as zigzag
SEARCHES = 4
GOOD, AIM = 0.6, 0.85  # shares of the allowed error: good enough, and aimed at
SPREAD = 4.5  # standard deviations that the largest of some 10^5 errors reaches
SMALLEST = 1e-12
NEGLIGIBLE = 1e-15  # squared length of a direction, as a share of the longest


@dataclass(frozen=True)
class CodedWeights:
    """One head: ``weight = largest * (code / levels)^2``.

    Attributes
    ----------
    codes : uint16 [n, n]
    levels : int
        Steps from 0 to the largest weight.
    largest : float
    error : float
        The largest error of any weight.
    """

    codes: NDArray[np.uint16]
    levels: int
    largest: float
    error: float


@dataclass(frozen=True)
class CodedFactors:
    """One head: ``scores = step^2 * queries @ keys.T + shift[:, None]``; weights are its softmax by row.

    Attributes
    ----------
    queries, keys : int32 [n, r]
        Whole numbers of steps; ``r <= head_dim`` directions, the strongest first.
    step : float
    shift : float32 [n]
        What centring the keys took from each row.
    error : float
        The largest error of any weight.
    score_error : float
        The largest error of any score.
    """

    queries: NDArray[np.int32]
    keys: NDArray[np.int32]
    step: float
    shift: Float32
    error: float
    score_error: float


def code_weights(weights: Float32, levels: int = 255) -> CodedWeights:
    """One byte a cell, or two above 255 levels.

    Parameters
    ----------
    weights : float32 [n, n], in [0, 1]
    levels : int
        At most 65,535.

    Examples
    --------
    >>> weights = np.array([[0.5, 0.5], [0.01, 0.99]], dtype=np.float32)
    >>> [bool(code_weights(weights, n).error < bound) for n, bound in ((255, 4e-3), (65535, 2e-5))]
    [True, True]
    >>> coded = code_weights(weights)
    >>> bool(np.abs(decode_weights(coded) - weights).max() <= coded.error)
    True
    """
    largest = float(weights.max(initial=0))
    share = weights / largest if largest > 0 else weights
    codes = np.rint(np.sqrt(share) * levels).astype(np.uint16)
    coded = CodedWeights(codes, levels, largest, 0.0)
    error = float(np.abs(decode_weights(coded) - weights).max(initial=0)) + MARGIN
    return CodedWeights(codes, levels, largest, error)


def decode_weights(coded: CodedWeights) -> Float32:
    """The weights that a reader sees, float32 [n, n]."""
    return (coded.largest * (coded.codes / coded.levels) ** 2).astype(np.float32)


def error_of_weight(weight: float, levels: int) -> float:
    """The most that a weight of this size can be off when it is coded: half a step at its place.

    Largest where the head's largest weight is 1; concave, so that the bound of a mean of weights holds
    for their mean.

    Examples
    --------
    >>> [f"{error_of_weight(weight, 255):.4f}" for weight in (0, 0.01, 1)]
    ['0.0000', '0.0004', '0.0039']
    """
    return weight**0.5 / levels + 0.25 / levels**2 + MARGIN * weight


def code_factors(
    queries: Float32,
    keys: Float32,
    scaling: float,
    *,
    bias: Float32 | None = None,
    allowed: NDArray[np.bool_] | None = None,
    worst: float = WORST,
    worst_score: float = WORST_SCORE,
) -> CodedFactors:
    """The factors of the scores, with the coarsest step that keeps both errors.

    Parameters
    ----------
    queries, keys : float32 [n, d]
        As the head has them.
    scaling : float
        ``scores = scaling * queries @ keys.T``
    bias : float32 [n, n], optional
        What the model adds to the scores (the reader must be given it too).
    allowed : bool [n, n], optional
        False where the mask forbids.
    worst, worst_score : float
        The largest error of a weight, and of a score.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q, k = rng.normal(size=(2, 20, 8)).astype(np.float32)
    >>> coded = code_factors(q, k, 8**-0.5)
    >>> exact = q @ k.T * 8**-0.5
    >>> bool(np.abs(decode_scores(coded) - exact).max() <= coded.score_error)
    True
    """
    wide = queries.astype(np.float64) * scaling
    centre = keys.mean(axis=0, dtype=np.float64)
    left, right = balanced(wide, keys - centre)
    shift = (wide @ centre).astype(np.float32)
    product = wide @ (keys - centre).T
    extra: Float64 = np.zeros((1, 1)) if bias is None else bias.astype(np.float64)
    exact = softmax(product + extra, allowed)

    def rounded(step: float) -> Rounded:
        whole, other = np.rint(left / step), np.rint(right / step)
        scores = (whole @ other.T) * step**2
        error = float(np.abs(softmax(scores + extra, allowed) - exact).max(initial=0))
        return Rounded(whole, other, error, float(np.abs(scores - product).max(initial=0)))

    widest = float(max(np.abs(left).max(initial=0), np.abs(right).max(initial=0)))
    low = max(FINEST, widest / MOST_STEPS)
    high = max(COARSEST, 2 * low)
    step = min(max(first_step(left, right, worst_score), low), high)
    found = rounded(step)
    for _ in range(SEARCHES):
        # Errors grow with the step.
        share = max(found.score_error / worst_score, found.error / worst)
        end = low if share > 1 else high
        if GOOD <= share <= 1 or step == end:
            break
        step = min(max(step * AIM / max(share, SMALLEST), low), high)
        found = rounded(step)
    while step > low and (found.score_error > worst_score or found.error > worst):
        step = max(low, step / 2)
        found = rounded(step)
    whole, other = found.queries, found.keys
    used = np.flatnonzero(np.abs(whole).max(axis=0) * np.abs(other).max(axis=0))
    reach = float(np.abs(product).max(initial=0)) + float(np.abs(shift).max(initial=0))
    margin = MARGIN * max(1.0, reach)
    return CodedFactors(
        whole[:, used].astype(np.int32),
        other[:, used].astype(np.int32),
        step,
        shift,
        found.error + margin,
        found.score_error + margin,
    )


@dataclass(frozen=True)
class Rounded:
    """Factors in whole steps, and what that costs."""

    queries: Float64
    keys: Float64
    error: float
    score_error: float


def first_step(left: Float64, right: Float64, worst_score: float) -> float:
    """Where to look for a step: rounding adds noise of variance ``step^2 / 12`` to every factor."""
    variance = ((left**2).sum(axis=1).max(initial=0) + (right**2).sum(axis=1).max(initial=0)) / 12
    return worst_score / (SPREAD * float(variance) ** 0.5 + SMALLEST)


def decode_scores(coded: CodedFactors) -> Float32:
    """The scores that a reader sees, without mask and bias, float32 [n, n]."""
    product = coded.queries.astype(np.float64) @ coded.keys.astype(np.float64).T
    return (product * coded.step**2 + coded.shift[:, None]).astype(np.float32)


def balanced(left: Float64, right: Float64) -> tuple[Float64, Float64]:
    """Factors with the product of ``left @ right.T`` and equal lengths along every direction."""
    left_basis, left_rest = basis_of(left)
    right_basis, right_rest = basis_of(right)
    u, s, vt = np.linalg.svd(left_rest @ right_rest.T)
    root = np.sqrt(s)
    return left_basis @ u[:, : s.size] * root, right_basis @ vt[: s.size].T * root


def basis_of(factor: Float64) -> tuple[Float64, Float64]:
    """``factor = basis @ rest`` with orthonormal columns, from ``factor.T @ factor``: quicker than QR."""
    values, vectors = np.linalg.eigh(factor.T @ factor)
    held = values > NEGLIGIBLE * max(float(values.max(initial=0)), SMALLEST)
    lengths, vectors = np.sqrt(values[held]), vectors[:, held]
    return factor @ (vectors / lengths), (vectors * lengths).T


def softmax(scores: Float64, allowed: NDArray[np.bool_] | None) -> Float64:
    """By row; zero where nothing is allowed."""
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    largest = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)
