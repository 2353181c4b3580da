"""Class probabilities: a classifier's softmax, opened up (definitions, section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEXT_SENTENCE_LABELS = ("is next", "is not next")


@dataclass(frozen=True)
class ClassProbabilities:
    """``P(class) = exp(logit - max) / sum(exp(logit - max))``.

    Attributes
    ----------
    labels : tuple of str, length c
        The model's own label names.
    logits : float32 [c], or [n, c] with a row for each token
    exponentials : float64, the same shape
        ``exp(logit - max)``; the maximum is subtracted so that nothing overflows.
    sum : float64, the shape without the axis of the softmax
        Of the exponentials.
    probabilities : float64, the same shape as ``logits``
    axis : int
        The axis of the softmax: -1 (classes), or 0 (positions) for question answering.
    """

    labels: tuple[str, ...]
    logits: NDArray[np.float32]
    exponentials: NDArray[np.float64]
    sum: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    axis: int = -1

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        return {
            "labels": list(self.labels),
            "logits": self.logits.tolist(),
            "exponentials": self.exponentials.tolist(),
            "sum": self.sum.tolist(),
            "probabilities": self.probabilities.tolist(),
        }

    def __repr__(self) -> str:
        if self.logits.ndim > 1:
            return f"ClassProbabilities({len(self.logits)} positions, {len(self.labels)} classes)"
        shown = ", ".join(
            f"{label} {p:.3f}" for label, p in zip(self.labels, self.probabilities, strict=True)
        )
        return f"ClassProbabilities({shown})"


def class_probabilities(
    labels: tuple[str, ...], logits: NDArray[np.float32], axis: int = -1
) -> ClassProbabilities:
    """The softmax of ``logits`` along ``axis``, with its parts.

    Examples
    --------
    >>> import numpy as np
    >>> class_probabilities(("no", "yes"), np.log(np.array([1.0, 3.0], dtype=np.float32)))
    ClassProbabilities(no 0.250, yes 0.750)
    """
    wide = np.asarray(logits, dtype=np.float64)
    exponentials = np.exp(wide - wide.max(axis=axis, keepdims=True))
    total = exponentials.sum(axis=axis, keepdims=True)
    return ClassProbabilities(
        labels, logits, exponentials, total.squeeze(axis), exponentials / total, axis
    )
