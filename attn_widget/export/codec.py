"""Attention in few bytes: two codes, and the largest error that each of them made.

``weights``: one or two bytes a cell on a square-root scale, so that small weights are less far off than
large ones. Grows with ``n^2``; smaller for short texts.

``qk``: the factors of the score matrix, from which a reader computes scores and weights. Grows with ``n``.
Softmax ignores what is added to a whole row, so keys are centred first; the product is then split evenly
over its singular directions, because an even step costs fewest bits when both factors are equally wide.
A text of fewer tokens than a head has numbers is split into its scores and the identity: fewer bytes still.

Errors are measured: what a reader will compute, in his order and precision, against what the kernel shows.
"""

from __future__ import annotations

import math
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
class CodedFactors:
    """One head: ``scores = step^2 * queries @ keys.T + shift[:, None]``; weights are its softmax by row.

    Attributes
    ----------
    queries, keys : int32 [n, r]
        Whole numbers of steps; ``r <= head_dim`` directions, the strongest first.
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
    >>> bool(np.abs(coded.shown - weights).max() <= coded.error)
    True
    """
    largest = float(weights.max(initial=0))
    share = weights / largest if largest > 0 else weights
    codes = np.rint(np.sqrt(share) * levels).astype(np.uint16)
    shown = (largest * (codes / levels) ** 2).astype(np.float32)
    return CodedWeights(codes, levels, largest, shown, worst_of(shown, weights) + MARGIN)


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


def code_factors(
    queries: Float32,
    keys: Float32,
    scaling: float,
    *,
    scores: Float32,
    weights: Float32,
    bias: Float32 | None = None,
    worst: float = WORST,
    worst_score: float = WORST_SCORE,
) -> CodedFactors:
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
    >>> rng = np.random.default_rng(0)
    >>> q, k = rng.normal(size=(2, 20, 8)).astype(np.float32)
    >>> scores = q @ k.T * np.float32(8**-0.5)
    >>> coded = code_factors(q, k, 8**-0.5, scores=scores, weights=softmax(scores))
    >>> bool(np.abs(decode_scores(coded) - scores).max() <= coded.score_error <= WORST_SCORE)
    True
    """
    wide = queries.astype(np.float64) * scaling
    centre = keys.mean(axis=0, dtype=np.float64)
    shift = (wide @ centre).astype(np.float32)
    impossible = np.isneginf(scores)
    left: Float64
    right: Float64 | None
    if len(queries) <= queries.shape[1]:
        left, right = np.where(impossible, 0, wide @ (keys - centre).T), None
        product = left
    else:
        left, right = balanced(wide, keys - centre)
        product = left @ right.T

    added = shift.astype(np.float64)[:, None] + (0 if bias is None else bias)

    def read(product: Float64) -> tuple[Float32, Float32]:
        """Scores and weights as a reader computes them."""
        found = (product + added).astype(np.float32)
        found[impossible] = -np.inf
        return found, softmax(found)

    # Up to here no weight can be off by more than is allowed, whatever the head.
    safe = weight_error(worst_score) <= worst

    def share_of(step: float) -> tuple[float, Rounded]:
        """The errors of a step, as a share of those that are allowed."""
        rounded = Rounded.of(left, right, step)
        share = float(np.abs(rounded.product - product).max(initial=0)) / worst_score
        if not safe:
            share = max(share, worst_of(read(rounded.product)[1], weights) / worst)
        return share, rounded

    low = max(FINEST, finest(left, right))
    high = max(COARSEST, 2 * low)
    # Weights are rarely off by more than a quarter of what their scores are.
    likely = worst_score if right is not None else min(worst_score, 4 * worst)
    step = min(max(first_step(left, right, likely), low), high)
    share, found = share_of(step)
    for _ in range(SEARCHES):
        # Errors grow with the step, or with its square.
        end = low if share > 1 else high
        if GOOD <= share <= 1 or step == end:
            break
        wider = (AIM / max(share, SMALLEST)) ** (1 if right is not None else 0.5)
        step = min(max(step * wider, low), high)
        share, found = share_of(step)
    while step > low and share > 1:
        step = max(low, step / 2)
        share, found = share_of(step)
    read_scores, shown = read(found.product)
    used = np.flatnonzero(np.abs(found.queries).max(axis=0) * np.abs(found.keys).max(axis=0))
    reach = np.abs(scores[~impossible]).max(initial=1)
    return CodedFactors(
        found.queries[:, used].astype(np.int32),
        found.keys[:, used].astype(np.int32),
        step,
        shift,
        shown,
        worst_of(shown, weights) + MARGIN,
        worst_of(read_scores[~impossible], scores[~impossible]) + MARGIN * float(reach),
    )


def weight_error(score_error: float) -> float:
    """The most that a weight can be off when no score of its row is off by more.

    Its odds change by a factor of ``exp(2 e)`` at most, which moves a weight of 1/2 the furthest.

    Examples
    --------
    >>> round(weight_error(0.01), 6)
    0.005
    """
    return math.tanh(score_error / 2)


@dataclass(frozen=True)
class Rounded:
    """Factors in whole steps, and the product that they give.

    Without ``right`` the other factor is the identity, in steps of which the scores are whole squares.
    """

    queries: Float64
    keys: Float64
    product: Float64

    @classmethod
    def of(cls, left: Float64, right: Float64 | None, step: float) -> Rounded:
        if right is None:
            queries = np.rint(left / step**2)
            return cls(queries, np.eye(len(left)), queries * step**2)
        queries, keys = np.rint(left / step), np.rint(right / step)
        product = queries @ keys.T
        product *= step**2
        return cls(queries, keys, product)


def finest(left: Float64, right: Float64 | None) -> float:
    """The finest step with which no number has more than `MOST_STEPS`."""
    if right is None:
        return (float(np.abs(left).max(initial=0)) / MOST_STEPS) ** 0.5
    return float(max(np.abs(left).max(initial=0), np.abs(right).max(initial=0))) / MOST_STEPS


def first_step(left: Float64, right: Float64 | None, worst_score: float) -> float:
    """Where to look for a step: rounding adds noise of variance ``step^2 / 12`` to every factor.

    A score that is rounded by itself is off by half its step at most.
    """
    if right is None:
        return (2 * AIM * worst_score) ** 0.5
    variance = ((left**2).sum(axis=1).max(initial=0) + (right**2).sum(axis=1).max(initial=0)) / 12
    return worst_score / (SPREAD * float(variance) ** 0.5 + SMALLEST)


def decode_scores(coded: CodedFactors, bias: Float32 | None = None) -> Float32:
    """The scores that a reader sees where the mask forbids nothing, float32 [n, n]."""
    product = coded.queries.astype(np.float64) @ coded.keys.astype(np.float64).T
    scores = product * coded.step**2 + coded.shift[:, None]
    return (scores if bias is None else scores + bias).astype(np.float32)


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


def softmax(scores: Float32) -> Float32:
    """By row, as a reader computes it; zero where nothing is possible (``-inf``)."""
    wide = scores.astype(np.float64)
    largest = wide.max(axis=1, keepdims=True)
    wide -= np.where(np.isfinite(largest), largest, 0)
    np.exp(wide, out=wide)
    total = wide.sum(axis=1, keepdims=True)
    wide /= np.where(total > 0, total, 1)
    return wide.astype(np.float32)
