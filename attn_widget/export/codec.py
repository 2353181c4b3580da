"""Attention in few bytes: two codes, and the largest error that each of them made.

``weights``: one or two bytes a cell on a square-root scale, so that small weights keep more digits than
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

LEVELS = {8: 2**8 - 1, 16: 2**16 - 1}
WORST = 0.0039  # weights: what one byte allows at 1 anyway (half a step of a square is 1 / 255)
WORST_SCORE = (
    0.05  # scores of a sharp head may be far off before a weight is: this keeps two digits
)
MARGIN = 1e-6  # the reader's arithmetic is float32 as well, in another order
FINEST, COARSEST = 2.0**-13, 0.5  # steps of the factors that are tried
SEARCHES = 10


@dataclass(frozen=True)
class CodedWeights:
    """One head: ``weight = largest * (code / levels)^2``.

    Attributes
    ----------
    codes : uint16 [n, n]
    bits : int
        8 or 16; ``levels = 2^bits - 1``.
    largest : float
    error : float
        The largest error of any weight.
    """

    codes: NDArray[np.uint16]
    bits: int
    largest: float
    error: float


@dataclass(frozen=True)
class CodedFactors:
    """One head: ``scores = step^2 * queries @ keys.T + shift[:, None]``; weights are its softmax by row.

    Attributes
    ----------
    queries, keys : int16 [n, r]
        Whole numbers of steps; ``r <= head_dim`` directions, the strongest first.
    step : float
    shift : float32 [n]
        What centring the keys took from each row.
    error : float
        The largest error of any weight.
    score_error : float
        The largest error of any score.
    """

    queries: NDArray[np.int16]
    keys: NDArray[np.int16]
    step: float
    shift: Float32
    error: float
    score_error: float


def code_weights(weights: Float32, bits: int = 8) -> CodedWeights:
    """One or two bytes a cell.

    Parameters
    ----------
    weights : float32 [n, n], in [0, 1]
    bits : int
        8 or 16.

    Examples
    --------
    >>> weights = np.array([[0.5, 0.5], [0.01, 0.99]], dtype=np.float32)
    >>> [bool(code_weights(weights, bits).error < bound) for bits, bound in ((8, 4e-3), (16, 2e-5))]
    [True, True]
    >>> coded = code_weights(weights)
    >>> bool(np.abs(decode_weights(coded) - weights).max() <= coded.error)
    True
    """
    largest = float(weights.max(initial=0))
    share = weights / largest if largest > 0 else weights
    codes = np.rint(np.sqrt(share) * LEVELS[bits]).astype(np.uint16)
    coded = CodedWeights(codes, bits, largest, 0.0)
    error = float(np.abs(decode_weights(coded) - weights).max(initial=0)) + MARGIN
    return CodedWeights(codes, bits, largest, error)


def decode_weights(coded: CodedWeights) -> Float32:
    """The weights that a reader sees, float32 [n, n]."""
    return (coded.largest * (coded.codes / LEVELS[coded.bits]) ** 2).astype(np.float32)


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
    product = left @ right.T
    extra: Float64 = np.zeros((1, 1)) if bias is None else bias.astype(np.float64)
    exact = softmax(product + extra, allowed)

    def rounded(step: float) -> tuple[Float64, Float64, float, float]:
        whole, other = np.rint(left / step), np.rint(right / step)
        scores = (whole @ other.T) * step**2
        found = softmax(scores + extra, allowed)
        error = float(np.abs(found - exact).max(initial=0))
        return whole, other, error, float(np.abs(scores - product).max(initial=0))

    def good(step: float) -> bool:
        _, _, error, score_error = rounded(step)
        return error <= worst and score_error <= worst_score

    # int16 holds the whole numbers of steps.
    low = max(FINEST, float(max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))) / 32000)
    high = max(COARSEST, 2 * low)
    for _ in range(SEARCHES):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if good(middle) else (low, middle)
    whole, other, error, score_error = rounded(low)
    used = np.flatnonzero(np.abs(whole).max(axis=0) * np.abs(other).max(axis=0))
    return CodedFactors(
        whole[:, used].astype(np.int16),
        other[:, used].astype(np.int16),
        low,
        shift,
        error + MARGIN,
        score_error + MARGIN * max(1.0, float(np.abs(product).max(initial=0))),
    )


def decode_scores(coded: CodedFactors) -> Float32:
    """The scores that a reader sees, without mask and bias, float32 [n, n]."""
    product = coded.queries.astype(np.float64) @ coded.keys.astype(np.float64).T
    return (product * coded.step**2 + coded.shift[:, None]).astype(np.float32)


def balanced(left: Float64, right: Float64) -> tuple[Float64, Float64]:
    """Factors with the product of ``left @ right.T`` and equal lengths along every direction."""
    left_basis, left_rest = np.linalg.qr(left)
    right_basis, right_rest = np.linalg.qr(right)
    u, s, vt = np.linalg.svd(left_rest @ right_rest.T)
    root = np.sqrt(s)
    return left_basis @ u[:, : s.size] * root, right_basis @ vt[: s.size].T * root


def softmax(scores: Float64, allowed: NDArray[np.bool_] | None) -> Float64:
    """By row; zero where nothing is allowed."""
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    largest = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = exponentials.sum(axis=1, keepdims=True)
    return exponentials / np.where(total > 0, total, 1)
