"""Attention in few bytes: two codes, and the largest error that each of them made.

``weights``: one or two bytes a cell on a square-root scale, so that small weights have smaller errors than
large ones. Grows with ``n^2``; smaller for short texts.

``qk``: two factors of the score matrix, from which a reader computes scores and weights. Of a long text
they are queries and keys (``factors.py``) and grow with ``n``; up to twice as many tokens as a head has
numbers, the scores themselves: fewer bytes still. Of a longer one with a mask, coarser factors and
corrections of single cells (``corrected.py``).

Cells that the mask forbids are not stored.

Errors are measured by decoding exactly as the page does, in its order and precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32, Float64

MAX_LEVELS = 2**16 - 1
MAX_WEIGHT_ERROR = (
    0.0039  # weights: what one byte allows at 1 anyway (half a step of a square is 1 / 255)
)
# Large errors of a sharp head's scores hardly change a weight: this keeps two digits.
MAX_SCORE_ERROR = 0.05
MARGIN = 1e-7  # the reader's arithmetic: half a unit of float32 at 1, and softmax in another order

# The search for a step of the code "qk", in `factors` and `scores`.
FINEST, COARSEST = 2.0**-20, 0.5  # steps that are tried
MAX_STEPS = 2**22  # a whole number of steps fits into three bytes as zigzag
SEARCHES = 4
GOOD, AIM = 0.9, 0.95  # shares of the allowed error: good enough, and aimed at
SMALLEST = 1e-12
SHIFT_STEPS = 32  # of a row's shift, at least, in the largest error of a score


@dataclass(frozen=True)
class EncodedWeights:
    """One head: ``weight = largest * (code / levels)^2``."""

    codes: NDArray[np.uint16]  # [n, n]
    levels: int  # steps from 0 to the largest weight
    largest: float
    decoded: Float32  # [n, n]; the weights that a reader sees
    error: float  # the largest error of any weight


@dataclass(frozen=True)
class EncodedFactors:
    """One head: ``scores = step^2 * queries @ keys.T + shift[:, None]``; weights are its softmax by row."""

    # queries, keys: [n, r]; whole numbers of steps; ``r`` directions: at most ``head_dim``, the strongest first.
    # Where ``keys`` is None, ``queries`` is the product itself, [n, n], 0 where the mask forbids.
    queries: NDArray[np.int32]
    keys: NDArray[np.int32] | None
    step: float
    shift: Float32  # [n]; what centring the keys took from each row
    decoded: Float32  # [n, n]; the weights that a reader sees
    error: float  # the largest error of any weight
    score_error: float  # the largest error of any score


def encode_weights(weights: Float32, levels: int = 255) -> EncodedWeights:
    """One byte a cell, or two above 255 levels.

    ``weights``: float32 [n, n], in [0, 1]. ``levels``: at most 65,535.

    >>> weights = np.array([[0.5, 0.5], [0.01, 0.99]], dtype=np.float32)
    >>> [bool(encode_weights(weights, n).error < bound) for n, bound in ((255, 4e-3), (65535, 2e-5))]
    [True, True]
    >>> encoded = encode_weights(weights)
    >>> bool(np.abs(encoded.decoded - weights).max() <= encoded.error)
    True
    """
    largest = float(weights.max(initial=0))
    codes, decoded = encode_cells(weights, largest, levels)
    return EncodedWeights(
        codes, levels, largest, decoded, max_difference(decoded, weights) + MARGIN
    )


def encode_cells(
    weights: Float32, largest: float, levels: int
) -> tuple[NDArray[np.uint16], Float32]:
    """Codes of some weights up to ``largest``, and the weights that a reader sees."""
    # In float32 a root times 65,535 is off by some thousandths of a step, and so beyond the stated bound.
    share = weights.astype(np.float64) / (largest or 1.0)
    codes = np.rint(np.sqrt(share) * levels).astype(np.uint16)
    return codes, (largest * (codes / levels) ** 2).astype(np.float32)


def max_difference(decoded: Float32, exact: Float32) -> float:
    """The largest difference."""
    return float(np.abs(decoded - exact).max(initial=0))


def weight_error(score_error: float) -> float:
    """The most that a weight can be off when no score of its row is off by more.

    Its odds change by a factor of ``exp(2 e)`` at most, which moves a weight of 1/2 the furthest.

    >>> round(weight_error(0.01), 6)
    0.005
    """
    return math.tanh(score_error / 2)


def decode_scores(encoded: EncodedFactors, bias: Float32 | None = None) -> Float32:
    """The scores that a reader sees where the mask forbids nothing, float32 [n, n]."""
    product = encoded.queries.astype(np.float64)
    if encoded.keys is not None:
        product = product @ encoded.keys.astype(np.float64).T
    scores = product * encoded.step**2 + encoded.shift[:, None]
    return (scores if bias is None else scores + bias).astype(np.float32)


def rounded_shift(shift: Float64, largest_step: float) -> Float32:
    """Row offsets in steps of a power of two, at most ``largest_step``.

    Softmax ignores it, and float32 with zeros at the end compresses to half.

    >>> rounded_shift(np.array([0.3, -20.00001]), 0.0002)
    array([  0.30004883, -20.        ], dtype=float32)
    """
    step = 2.0 ** math.floor(math.log2(largest_step))
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
