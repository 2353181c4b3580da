"""A classifier's answer in full: softmax, sigmoid or the plain value (docs/definitions.md, section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import index_in, nearest, short_repr
from attn_widget.errors import InputError

Task = Literal["sequence", "token", "question_answering", "next_sentence"]
Activation = Literal["softmax", "sigmoid", "identity"]

LIKELIEST = 5  # classes whose gradients come together: one pass forward serves them all
NEXT_SENTENCE_LABELS = ("is next", "is not next")
SINGLE_OUTPUT = (
    "The checkpoint has one output and does not say what it is (problem_type): read as a logit, as "
    "transformers' own pipeline does. As a regression value it would be the number z itself."
)


@dataclass(frozen=True)
class ClassProbabilities:
    """The classifier's outputs and how they become probabilities.

    ``softmax`` (one class is right): ``P(c) = exp(z_c - max z) / sum_k exp(z_k - max z)``.
    ``sigmoid`` (each label by itself): ``P(c) = 1 / (1 + exp(-z_c))``.
    ``identity`` (regression): the value is ``z`` itself, and there is no probability.

    Attributes
    ----------
    labels : tuple of str, length c
        The model's own label names; ``start`` and ``end`` for question answering.
    logits : float32 [c] (sequence), [n, c] (token) or [n, 2] (question answering)
        The outputs ``z``; for ``identity`` they are the values.
    exponentials : float64, the same shape
        ``exp(z - max)``; the maximum is subtracted so that nothing overflows. For ``sigmoid``
        ``exp(-z)``. NaN for ``identity``.
    sum : float64
        What the exponentials are divided by, or divide: for ``softmax`` their sum, of the shape
        without the softmax's axis; for ``sigmoid`` ``1 + exp(-z)``, of the shape of ``logits``; NaN
        for ``identity``.
    probabilities : float64, the shape of ``logits``
        0 to 1. NaN for ``identity``.
    axis : int
        The axis of the softmax: -1 (classes), or 0 (positions) for question answering.
    task : {"sequence", "token", "question_answering", "next_sentence"}
    activation : {"softmax", "sigmoid", "identity"}
        What `transformers` applies to such a checkpoint (``config.problem_type``).
    note : str
        What the checkpoint leaves open; empty as a rule.
    """

    labels: tuple[str, ...]
    logits: NDArray[np.float32]
    exponentials: NDArray[np.float64]
    sum: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    axis: int = -1
    task: Task = "sequence"
    activation: Activation = "softmax"
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON; None where a number does not exist."""
        return {
            "labels": list(self.labels),
            "task": self.task,
            "activation": self.activation,
            "note": self.note,
            "logits": self.logits.tolist(),
            "exponentials": _known(self.exponentials),
            "sum": _known(self.sum),
            "probabilities": _known(self.probabilities),
        }

    def __repr__(self) -> str:
        if self.logits.ndim > 1:
            return f"ClassProbabilities({len(self.logits)} positions, {len(self.labels)} classes)"
        values = self.logits if self.activation == "identity" else self.probabilities
        shown = ", ".join(f"{label} {p:.3f}" for label, p in zip(self.labels, values, strict=True))
        return f"ClassProbabilities({shown})"


def _known(values: NDArray[Any]) -> Any:
    return None if np.isnan(values).any() else values.tolist()


def class_probabilities(
    labels: tuple[str, ...],
    logits: NDArray[np.float32],
    axis: int = -1,
    *,
    task: Task = "sequence",
    activation: Activation = "softmax",
    note: str = "",
) -> ClassProbabilities:
    """``logits`` with the parts of their softmax along ``axis``, or of their sigmoids.

    >>> import numpy as np
    >>> class_probabilities(("no", "yes"), np.log(np.array([1.0, 3.0], dtype=np.float32)))
    ClassProbabilities(no 0.250, yes 0.750)
    >>> stars = np.array([3.5], dtype=np.float32)
    >>> class_probabilities(("stars",), stars, activation="identity").probabilities
    array([nan])
    """
    wide = np.asarray(logits, dtype=np.float64)
    if activation == "softmax":
        exponentials = np.exp(wide - wide.max(axis=axis, keepdims=True))
        total = exponentials.sum(axis=axis, keepdims=True)
        parts = (exponentials, total.squeeze(axis), exponentials / total)
    elif activation == "sigmoid":
        with np.errstate(over="ignore"):  # exp(-z) of a logit below -709 is infinite, 1 / it is 0
            exponentials = np.exp(-wide)
            parts = (exponentials, 1 + exponentials, 1 / (1 + exponentials))
    else:
        absent = np.full(wide.shape, np.nan)
        parts = (absent, absent, absent)
    return ClassProbabilities(
        labels, logits, *parts, axis=axis, task=task, activation=activation, note=note
    )


def reads(config: Any) -> str:
    """Input of the head, if not the first token alone; else empty."""
    kind = getattr(config, "model_type", "")
    if kind == "attn_widget_text_cnn":
        return "The head reads windows over all tokens; the first token is one of them."
    if kind == "attn_widget_mean_pooling" or getattr(config, "classifier_pooling", "cls") == "mean":
        return "The head reads the mean of all tokens; the first token is one of them."
    of_patches = kind in ("clip", "dinov2", "dinov2_with_registers", "siglip")
    if of_patches or (kind == "beit" and config.use_mean_pooling):
        return "The head reads the mean of all patches (of DINOv2 the first token too)."
    return ""


def activation_of(problem_type: str | None, n_labels: int) -> tuple[Activation, str]:
    """The activation of a sequence classifier's outputs, and a note on what is left open.

    As the text-classification pipeline of `transformers` decides.

    ``problem_type``: ``config.problem_type``. ``n_labels``: outputs of the head.

    >>> activation_of("multi_label_classification", 5), activation_of("regression", 1)
    (('sigmoid', ''), ('identity', ''))
    >>> activation_of(None, 3)
    ('softmax', '')
    """
    if problem_type == "regression":
        return "identity", ""
    if problem_type == "multi_label_classification":
        return "sigmoid", ""
    if n_labels == 1:
        return "sigmoid", "" if problem_type else SINGLE_OUTPUT
    return "softmax", ""


def class_index(label: int | str, labels: Sequence[str]) -> int:
    """The index of a class given by index or by name."""
    if isinstance(label, str):
        if labels.count(label) != 1:
            names = ", ".join(map(repr, labels[:10]))
            why = "is the name of several classes" if label in labels else "is no class"
            near = "" if label in labels else nearest(label, labels)
            raise InputError(
                f"{short_repr(label)} {why}.", near or f"The classes: {names}; an index works too."
            )
        return labels.index(label)
    return index_in(label, len(labels), "label")
