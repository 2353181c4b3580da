"""The code ``qk`` of a short text: its scores in whole steps, and the identity as the other factor.

All heads of a layer at once: at twenty tokens a call of numpy costs more than its numbers.
"""

from __future__ import annotations

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
    MOST_STEPS,
    SEARCHES,
    SMALLEST,
    WORST,
    WORST_SCORE,
    EncodedFactors,
    rounded_shift,
    softmax,
    weight_error,
)

LIKELY = 4  # a weight is rarely off by more than a quarter of what the scores of its row are


def encode_scores(
    queries: Float32,
    keys: Float32,
    scaling: float,
    *,
    scores: Float32,
    weights: Float32,
    bias: Float32 | None = None,
    worst: float = WORST,
    worst_score: float = WORST_SCORE,
) -> list[EncodedFactors]:
    """The scores of every head, each with the coarsest step that keeps both errors.

    Parameters
    ----------
    queries, keys : float32 [H, n, d]
        As the heads have them.
    scaling : float
        ``scores = scaling * queries @ keys.T + bias``
    scores, weights : float32 [H, n, n]
        As the kernel shows them, mask (``-inf``) and bias included: what errors are measured against.
    bias : float32 [H, n, n], optional
        What the model adds to the scores (the reader must be given it too).
    worst, worst_score : float
        The largest error of a weight, and of a score.

    Examples
    --------
    >>> from attn_widget.page.encodings.codec import decode_scores
    >>> q, k = np.random.default_rng(0).normal(size=(2, 3, 5, 8)).astype(np.float32)
    >>> scores = q @ k.transpose(0, 2, 1) * np.float32(8**-0.5)
    >>> coded = encode_scores(q, k, 8**-0.5, scores=scores, weights=softmax(scores))
    >>> [bool(np.abs(decode_scores(coded[h]) - scores[h]).max() <= WORST_SCORE) for h in range(3)]
    [True, True, True]
    """
    wide = queries.astype(np.float64) * scaling
    center = keys.mean(axis=1, dtype=np.float64, keepdims=True)
    exact_shift = (wide @ center.transpose(0, 2, 1))[..., 0]
    shift = rounded_shift(exact_shift, worst_score)
    impossible = np.isneginf(scores)
    rest = (exact_shift - shift)[..., None]
    exact = np.where(impossible, 0, wide @ (keys - center).transpose(0, 2, 1) + rest)
    added = shift.astype(np.float64)[..., None] + (0 if bias is None else bias)

    # Up to here no weight can be off by more than is allowed, whatever the head.
    safe = weight_error(worst_score) <= worst
    low = np.maximum(FINEST, (worst_by_head(exact) / MOST_STEPS) ** 0.5)
    high = np.maximum(COARSEST, 2 * low)
    likely = min(worst_score, LIKELY * worst)
    step = np.clip((2 * AIM * likely) ** 0.5, low, high)
    whole, read = np.empty_like(exact), np.empty_like(scores)
    share = np.empty(len(exact))

    def measure(heads: NDArray[Any]) -> None:
        """Code them with their steps; the errors as a share of those that are allowed."""
        square = step[heads, None, None] ** 2
        whole[heads] = np.rint(exact[heads] / square)
        product = whole[heads] * square
        scores = (product + added[heads]).astype(np.float32)
        scores[impossible[heads]] = -np.inf
        read[heads] = scores
        share[heads] = worst_by_head(product - exact[heads]) / worst_score
        if not safe:
            off = worst_by_head(softmax(scores) - weights[heads]) / worst
            share[heads] = np.maximum(share[heads], off)

    measure(np.arange(len(exact)))
    for _ in range(SEARCHES):
        settled = (share >= GOOD) & (share <= 1) | (step == np.where(share > 1, low, high))
        heads = np.flatnonzero(~settled)
        if not len(heads):
            break
        # Errors grow with the square of the step.
        wider = (AIM / np.maximum(share, SMALLEST)) ** 0.5
        step[heads] = np.clip(step * wider, low, high)[heads]
        measure(heads)
    while len(heads := np.flatnonzero((share > 1) & (step > low))):
        step[heads] = np.maximum(low, step / 2)[heads]
        measure(heads)

    shown = softmax(read)
    error = worst_by_head(shown - weights) + MARGIN
    reach = np.maximum(1, worst_by_head(np.where(impossible, 0, scores)))
    off = np.subtract(read, scores, out=np.zeros_like(scores), where=~impossible)
    score_error = worst_by_head(off) + MARGIN * reach
    identity = np.eye(exact.shape[-1], dtype=np.int32)
    coded: list[EncodedFactors] = []
    for head, codes in enumerate(whole):
        used = np.flatnonzero(np.abs(codes).max(axis=0, initial=0))
        coded.append(
            EncodedFactors(
                codes[:, used].astype(np.int32),
                identity[:, used],
                float(step[head]),
                shift[head],
                shown[head],
                float(error[head]),
                float(score_error[head]),
            )
        )
    return coded


def worst_by_head(values: Float32 | Float64) -> Float64:
    """The largest size of any number of a head, float64 [H]."""
    return np.abs(values).max(axis=(1, 2), initial=0).astype(np.float64)
