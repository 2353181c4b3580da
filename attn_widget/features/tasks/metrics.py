"""score(): the four figures of a classifier of stars (definitions: docs/tasks.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import LARGEST_COUNT, as_array, check_number
from attn_widget.errors import InputError
from attn_widget.host.installed import require

# "Within one class" says little when three classes are all within one of the middle.
FEWEST_FOR_RELAXED = 4
# Rows that were rounded to half precision still sum to 1 within this.
SUM_TOLERANCE = 1e-2
WORST = (-math.inf, -math.inf)  # below the rank of any epoch


@dataclass(frozen=True)
class Metrics:
    """Agreement of probabilities with labels.

    Attributes
    ----------
    cross_entropy : float, >= 0
        Mean of ``-ln p(true class)``, nats. Guessing c classes evenly gives ``ln c``.
    auc_roc : float, 0 to 1
        Area under the ROC curve, each class against the rest, mean over the classes; 0.5 is chance. NaN
        where the labels lack a class: its curve does not exist.
    correct : float, 0 to 100
        Per cent of texts whose most probable class (the first one on a tie) is the true one.
    relaxed : float, 0 to 100, or None
        Per cent of texts whose most probable class is at most one away from the true one. For ordered
        classes; None for fewer than four.
    """

    cross_entropy: float
    auc_roc: float
    correct: float
    relaxed: float | None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            # NaN says that a curve does not exist; `check_number` refuses it.
            if value is not None and not (isinstance(value, float) and math.isnan(value)):
                check_number(value, field.name, 0, LARGEST_COUNT)


def score(labels: Any, probabilities: Any) -> Metrics:
    """Compare the probabilities of classes with the true ones.

    Parameters
    ----------
    labels : int array [n]
        True classes, 0 to c - 1.
    probabilities : float array [n, c]
        Rows sum to 1 (within 0.01, for half precision; the cross-entropy divides them by their sum). A
        true class of probability 0 costs 36 nats (that of 2^-52), not infinitely many.

    Returns
    -------
    Metrics

    Raises
    ------
    InputError
        Nothing to score, shapes that do not fit, labels outside 0 to c - 1, or rows that are no
        probabilities.
    InputTypeError
        Rows of different lengths, probabilities that are no numbers.

    References
    ----------
    Hand & Till (2001), A simple generalisation of the area under the ROC curve; Provost & Domingos
    (2000) for the mean of one-vs-rest curves.

    Examples
    --------
    >>> score([0, 1, 1], [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    Metrics(cross_entropy=0.6459..., auc_roc=1.0, correct=66.66..., relaxed=None)
    """
    require("sklearn", "A score of a classifier")
    from sklearn.metrics import log_loss, roc_auc_score

    true, rows = _checked(labels, probabilities)
    classes = np.arange(rows.shape[1])
    best = rows.argmax(axis=1)
    auc = float("nan")
    if len(np.unique(true)) == len(classes):
        onehot = (true[:, None] == classes).astype(np.int64)
        auc = float(roc_auc_score(onehot, rows, average="macro"))
    relaxed = None
    if len(classes) >= FEWEST_FOR_RELAXED:
        relaxed = 100 * float(np.mean(np.abs(best - true) <= 1))
    return Metrics(
        # Divided by the sum only here: elsewhere the last bit of it would break ties.
        cross_entropy=float(log_loss(true, rows / rows.sum(axis=1, keepdims=True), labels=classes)),
        auc_roc=auc,
        correct=100 * float(np.mean(best == true)),
        relaxed=relaxed,
    )


def _checked(labels: Any, probabilities: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    true = as_array(labels, "labels")
    rows = as_array(probabilities, "probabilities", np.float64)
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise InputError(
            f"The probabilities have the shape {rows.shape}, expected [n, c] with c >= 2 classes.",
            "For two classes give both columns: [[1 - p, p], ...].",
        )
    if true.shape != (len(rows),):
        raise InputError(
            f"The labels have the shape {true.shape}, the probabilities {rows.shape}: "
            "expected one label for each row.",
            "Pass labels [n] and probabilities [n, c].",
        )
    if len(rows) == 0:
        raise InputError("There are no labels to score.", "Pass at least one row.")
    if true.dtype.kind not in "iu":
        raise InputError(
            f"The labels are {true.dtype}, expected whole numbers 0 to {rows.shape[1] - 1}.",
            "Use the labels of a Split, or the index of each class.",
        )
    if true.min() < 0 or true.max() >= rows.shape[1]:
        raise InputError(
            f"The labels go from {true.min()} to {true.max()}, the probabilities have "
            f"{rows.shape[1]} columns: expected labels 0 to {rows.shape[1] - 1}.",
            "Subtract the smallest label, or give a column for every class.",
        )
    sums = rows.sum(axis=1)
    bad = ~np.isfinite(rows).all(axis=1) | (rows < 0).any(axis=1)
    bad |= np.abs(sums - 1) > SUM_TOLERANCE
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"Row {row} is not a distribution: {np.array2string(rows[row], precision=4)} "
            f"(sum {sums[row]:.4g}).",
            "Expected numbers from 0 to 1 that sum to 1; take the softmax of logits first.",
        )
    return true.astype(np.int64), rows


def rank(record: dict[str, Any]) -> tuple[float, float]:
    """Orders epochs: the more validation texts are right the better, then the lower their loss.

    The loss alone would end a fine-tuning early: it rises as soon as the model grows sure of its
    mistakes, while more and more texts are still classified correctly.
    """
    validation = record["validation"]
    return validation["correct"], -validation["loss"]
