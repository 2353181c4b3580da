"""The matrix on screen: a quantity between the tokens or words that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.export.units import Unit, project, project_allowed, spans, units_of
from attn_widget.figures.arrays import Bool, Float32
from attn_widget.protocol.selection import MIXINGS, ROLLED

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.protocol.selection import Selection


@dataclass(frozen=True)
class ShownMatrix:
    """The page's matrix (``js/src/figures/matrix.ts``).

    Attributes
    ----------
    units : list of m Unit
    weights : float32 [m, m]
        Attention weights, rollout, or what attention carries.
    allowed : bool [m, m] or None
        False where the model's mask forbids a cell; None: every cell is possible.
    scores : float32 [m, m] or None
        Scaled scores, where this selection has them.
    rollout : bool
        Of all layers so far.
    """

    units: list[Unit]
    weights: Float32
    allowed: Bool | None
    scores: Float32 | None
    rollout: bool


def scores_absent(analysis: Analysis, head: Any, quantity: str, *, merged: bool) -> str | None:
    """Why a selection has no scores; None when it has."""
    if quantity == "rollout" or quantity in ROLLED:
        return "rollout mixes heads and layers"
    if quantity in MIXINGS:
        return "only attention weights have scores"
    if not analysis.trace.has_scores:
        return "this run has only weights; its scores were not recorded"
    if head == "mean":
        return "the mean head averages weights and has no scores of its own"
    if merged:
        return "a word averages several rows and columns; single tokens have scores"
    return None


def shown_matrix(
    analysis: Analysis, selection: Selection, *, words_have_scores: bool
) -> ShownMatrix:
    """The matrix of a selection (the traits `layer`, `head`, `quantity`, `words`, `special`).

    Parameters
    ----------
    words_have_scores : bool
        Whether scores are available with words switched on, as long as no word has several tokens.
    """
    layer, head = selection.place
    quantity = selection.quantity
    rollout = quantity == "rollout" or quantity in ROLLED
    units = units_of(analysis, words=selection.words, special=selection.special)
    whole = matrix_of(analysis, selection)
    mask = None if rollout else analysis.trace.allowed(layer)
    several = any(unit.end - unit.token > 1 for unit in units)
    merged = several if words_have_scores else selection.words
    scores = None
    if scores_absent(analysis, head, quantity, merged=merged) is None:
        scores = at_units(analysis.scores(layer, head), units)  # pyright: ignore[reportArgumentType]
    return ShownMatrix(
        units,
        project(whole, units),
        None if mask is None else project_allowed(mask, units),
        scores,
        rollout,
    )


def matrix_of(analysis: Analysis, selection: Selection) -> Float32:
    """The whole matrix of a selection's layer, head and quantity, float32 [n, n]; weights where it is scores."""
    layer, head = selection.place
    quantity: Any = selection.quantity
    if quantity == "rollout":
        return analysis.rollout(layer)
    if quantity in ROLLED:
        return analysis.mixing_rollout(quantity.removesuffix("_rollout"), layer)
    if quantity == "norms":
        return analysis.mixing(quantity, layer, None if head == "mean" else head)
    if quantity in MIXINGS:
        return analysis.mixing(quantity, layer)
    return analysis.attention(layer, head)


def at_units(scores: Float32, units: Sequence[Unit]) -> Float32:
    """Scores between single tokens, float32 [m, m]: nothing is averaged."""
    first, _ = spans(units)
    return scores[np.ix_(first, first)]


def shown_values(analysis: Analysis, selection: Selection) -> Float32:
    """The numbers that the matrix on screen has, float32 [m, m]; NaN where the mask forbids a cell.

    Raises
    ------
    NotAvailableError
        Scores are selected and there are none.
    """
    shown = shown_matrix(analysis, selection, words_have_scores=False)
    values = shown.weights
    if selection.quantity == "scores":
        if shown.scores is None:
            reason = scores_absent(
                analysis, selection.head, selection.quantity, merged=selection.words
            )
            raise NotAvailableError(
                f"The selection has no scores: {reason}.", "Set quantity to 'weights'."
            )
        values = shown.scores
    if shown.allowed is None:
        return values.copy()
    return np.where(shown.allowed, values, np.float32(np.nan))
