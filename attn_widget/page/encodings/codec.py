"""Attention in few bytes: two codes, and the largest error that each of them made.

``weights``: one or two bytes a cell on a square-root scale, so that small weights are less far off than
large ones. Grows with ``n^2``; smaller for short texts.

``qk``: two factors of the score matrix, from which a reader computes scores and weights. Of a long text
they are queries and keys (``factors.py``) and grow with ``n``; up to twice as many tokens as a head has
numbers, they are the scores and the identity (``scores.py``): fewer bytes still.

Errors are measured: what a reader will compute, in his order and precision, against what the kernel shows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32, Float64

MOST_LEVELS = 2**16 - 1
WORST = 0.0039  # weights: what one byte allows at 1 anyway (half a step of a square is 1 / 255)
# Scores of a sharp head may be far off before a weight is: this keeps two digits.
WORST_SCORE = 0.05
MARGIN = 1e-7  # the reader's arithmetic: half a unit of float32 at 1, and softmax in another order

# The search for a step of the code "qk", in `factors` and `scores`.
FINEST, COARSEST = 2.0**-20, 0.5  # steps that are tried
MOST_STEPS = 2**22  # a whole number of steps fits into three bytes as zigzag
SEARCHES = 4
GOOD, AIM = 0.9, 0.95  # shares of the allowed error: good enough, and aimed at
SMALLEST = 1e-12
SHIFT_STEPS = 32  # of a row's shift, at least, in the largest error of a score


@dataclass(frozen=True)
class EncodedWeights:
    """One head: ``weight = largest * (code / levels)^2``.

    Attributes
    ----------
    codes : uint16 [n, n]
    levels : int
        Steps from 0 to the largest weight.
    largest : float
    shown : float32 [n, n]
        The weights that a reader sees.
    error : float
        The largest error of any weight.
    """

    codes: NDArray[np.uint16]
    levels: int
    largest: float
    shown: Float32
    error: float


@dataclass(frozen=True)
class EncodedFactors:
    """One head: ``scores = step^2 * queries @ keys.T + shift[:, None]``; weights are its softmax by row.

    Attributes
    ----------
    queries, keys : int32 [n, r]
        Whole numbers of steps; ``r`` directions: at most ``head_dim``, the strongest first; or keys, at most n.
    step : float
    shift : float32 [n]
        What centring the keys took from each row.
    shown : float32 [n, n]
        The weights that a reader sees.
    error : float
        The largest error of any weight.
    score_error : float
        The largest error of any score.
    """

    queries: NDArray[np.int32]
    keys: NDArray[np.int32]
    step: float
    shift: Float32
    shown: Float32
    error: float
    score_error: float


def encode_weights(weights: Float32, levels: int = 255) -> EncodedWeights:
    """One byte a cell, or two above 255 levels.

    Parameters
    ----------
    weights : float32 [n, n], in [0, 1]
    levels : int
        At most 65,535.

    Examples
    --------
    >>> weights = np.array([[0.5, 0.5], [0.01, 0.99]], dtype=np.float32)
    >>> [bool(encode_weights(weights, n).error < bound) for n, bound in ((255, 4e-3), (65535, 2e-5))]
    [True, True]
    >>> coded = encode_weights(weights)
    >>> bool(np.abs(coded.shown - weights).max() <= coded.error)
    True
    """
    largest = float(weights.max(initial=0))
    codes, shown = coded_cells(weights, largest, levels)
    return EncodedWeights(codes, levels, largest, shown, worst_of(shown, weights) + MARGIN)


def coded_cells(
    weights: Float32, largest: float, levels: int
) -> tuple[NDArray[np.uint16], Float32]:
    """Codes of some weights up to ``largest``, and the weights that a reader sees."""
    # In float32 a root times 65,535 is off by some thousandths of a step, and so beyond the stated bound.
    share = weights.astype(np.float64) / (largest or 1.0)
    codes = np.rint(np.sqrt(share) * levels).astype(np.uint16)
    return codes, (largest * (codes / levels) ** 2).astype(np.float32)


def worst_of(shown: Float32, exact: Float32) -> float:
    """The largest difference."""
    return float(np.abs(shown - exact).max(initial=0))


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


def weight_error(score_error: float) -> float:
    """The most that a weight can be off when no score of its row is off by more.

    Its odds change by a factor of ``exp(2 e)`` at most, which moves a weight of 1/2 the furthest.

    Examples
    --------
    >>> round(weight_error(0.01), 6)
    0.005
    """
    return math.tanh(score_error / 2)


def decode_scores(coded: EncodedFactors, bias: Float32 | None = None) -> Float32:
    """The scores that a reader sees where the mask forbids nothing, float32 [n, n]."""
    product = coded.queries.astype(np.float64) @ coded.keys.astype(np.float64).T
    scores = product * coded.step**2 + coded.shift[:, None]
    return (scores if bias is None else scores + bias).astype(np.float32)


def rounded_shift(shift: Float64, worst_score: float) -> Float32:
    """Row offsets in steps of a power of two, small beside the largest error of a score.

    Softmax ignores it, and float32 with zeros at the end compresses to half.

    Examples
    --------
    >>> rounded_shift(np.array([0.3, -20.00001]), 0.005)
    array([  0.30004883, -20.        ], dtype=float32)
    """
    step = 2.0 ** math.floor(math.log2(worst_score / SHIFT_STEPS))
    return (np.rint(shift / step) * step).astype(np.float32)


def softmax(scores: Float32) -> Float32:
    """By row, as a reader computes it, float32 [..., n, n]; zero where nothing is possible (``-inf``)."""
    wide = scores.astype(np.float64)
    largest = wide.max(axis=-1, keepdims=True)
    wide -= np.where(np.isfinite(largest), largest, 0)
    np.exp(wide, out=wide)
    total = wide.sum(axis=-1, keepdims=True)
    wide /= np.where(total > 0, total, 1)
    return wide.astype(np.float32)
