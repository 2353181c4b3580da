"""Coefficients of a contrast: the keys that a score is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import InputError, InputTypeError
from attn_widget.figures.arrays import Float64
from attn_widget.model.tokens import Token

Against = Literal["others", "all", "rivals", "sink"]
AGAINSTS: tuple[Against, ...] = ("others", "all", "rivals")
NO_OTHERS = (
    "No other word is allowed in this row, only special or first tokens: the score is set against all of them, "
    "which is no possible output of a word."
)


@dataclass(frozen=True)
class Contrast:
    """The coefficients ``c`` of a contrast ``sum_k c_k score_k``."""

    coefficients: Float64  # [m]; 1 at the key, below 0 elsewhere; of "sink" 0 elsewhere
    constant: float = 0.0  # what makes log-odds of the contrast of "rivals" and "sink"; else 0
    fallback: str | None = None  # why "all" took the place of "others"


@dataclass(frozen=True)
class Row:
    """One query's keys."""

    tokens: Sequence[Token]  # sequence of Token [m]
    scores: Float64  # scores, weights: [m]
    weights: Float64
    allowed: NDArray[np.bool_]  # bool [m]
    first: bool  # the first key is that of a decoder, where weight goes that is for no word
    rest: float | None  # the weight that a learned sink takes, where there is one

    @property
    def plain(self) -> NDArray[np.bool_]:
        """Allowed keys that are neither special nor the first of a decoder."""
        special = np.array([token.special for token in self.tokens])
        if self.first:
            special[0] = True
        return self.allowed & ~special


def choices(has_sink: bool) -> tuple[Against, ...]:
    return (*AGAINSTS, "sink") if has_sink else AGAINSTS


def contrast_of(row: Row, key: int, against: Against | int) -> Contrast:
    """The contrast of a key with others of its row.

    Raises `InputError`, `InputTypeError`: a key that the mask forbids, or that is the same one; no such contrast.
    """
    coefficients = np.zeros(len(row.scores))
    coefficients[key] = 1
    if isinstance(against, bool) or not isinstance(against, (str, int, np.integer)):
        raise InputTypeError(
            f"against must be a name or a key, got {type(against).__name__}.",
            f"Known: {', '.join(choices(row.rest is not None))}, or the position of another key.",
        )
    if not isinstance(against, str):
        return _chosen(row, key, int(against), coefficients)
    if against not in choices(row.rest is not None):
        where = " This model has no learned sink." if against == "sink" else ""
        raise InputError(
            f"against is {against!r}.{where}",
            f"Known: {', '.join(choices(row.rest is not None))}, or the position of another key.",
        )
    if against == "sink":
        assert row.rest is not None
        sink = row.scores[key] - np.log(row.weights[key]) + np.log(row.rest)
        return Contrast(coefficients, constant=-float(sink))
    others = row.allowed.copy()
    others[key] = False
    fallback = None
    if against == "others":
        words = row.plain & others
        fallback = None if words.any() else NO_OTHERS
        others = words if words.any() else others
    if against == "rivals":
        logs = row.scores[others] - row.scores[others].max()
        shares = np.exp(logs) / np.exp(logs).sum()
        coefficients[others] = -shares
        entropy = -float((shares * np.log(np.maximum(shares, 1e-300))).sum())
        return Contrast(coefficients, constant=-entropy)
    coefficients[others] = -1 / others.sum()
    return Contrast(coefficients, fallback=fallback)


def _chosen(row: Row, key: int, other: int, coefficients: Float64) -> Contrast:
    if not 0 <= other < len(row.scores):
        raise InputError(
            f"against {other} is out of range.", f"Keys are 0 to {len(row.scores) - 1}."
        )
    if other == key:
        raise InputError(
            f"against {other} is the key itself, whose score less itself is 0.",
            "Choose another key.",
        )
    if not row.allowed[other]:
        raise InputError(
            f"against {other} ({row.tokens[other].text!r}) is a key that the mask forbids."
        )
    coefficients[other] = -1
    return Contrast(coefficients)
