"""The matrix on screen: a quantity between the tokens or words that are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.merge import Groups, group_tokens, merge_mask, merge_tokens, merge_weights
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Bool, Float32
from attn_widget.figures.catalog.choices import MIXINGS, ROLLED
from attn_widget.model.tokens import Token
from attn_widget.protocol.selection import Selection


@dataclass(frozen=True)
class Unit:
    """One row or column of the matrix."""

    token: int  # token, end: first token; one past the last
    end: int
    text: str  # a token as the tokenizer has it, a word of several tokens as it stands in the text
    surface: str  # as it stands in the text
    special: bool


@dataclass(frozen=True)
class ShownMatrix:
    """The page's matrix (``js/src/figures/matrix.ts``)."""

    # units, keys: rows and columns; the same ones unless the keys are another text.
    units: list[Unit]
    keys: list[Unit]
    weights: Float32  # [rows, columns]; attention weights, rollout, or what attention carries
    # Bool [rows, columns] or None; False where the model's mask forbids a cell; None: every cell is possible.
    allowed: Bool | None
    scores: Float32 | None  # [rows, columns] or None; scaled scores, where this selection has them
    rollout: bool  # of all layers so far


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

    Rows of words are means over their tokens, columns sums; the share of positions that are left out is not given to
    the others.

    ``words_have_scores``: whether scores are available with words switched on, as long as no word has several
    tokens.
    """
    layer, head = selection.place
    words, quantity = selection.words, selection.quantity
    rollout = quantity == "rollout" or quantity in ROLLED
    units, groups = _units(analysis, selection)
    keys, key_groups = units, None
    if not analysis.trace.square:
        of_keys = analysis.of("encoder") if "encoder" in analysis.model.parts else None
        keys, key_groups = _units(of_keys, selection, analysis.model.key_tokens)
    mask = None if rollout else analysis.trace.allowed(layer)
    scores = None
    widest = max(unit.end - unit.token for unit in (*units, *keys))
    merged = widest > 1 if words_have_scores else words
    if scores_absent(analysis, head, quantity, merged=merged) is None:
        cells = np.ix_([unit.token for unit in units], [unit.token for unit in keys])
        scores = analysis.scores(layer, head)[cells]  # pyright: ignore[reportArgumentType]
    return ShownMatrix(
        units,
        keys,
        merge_weights(matrix_of(analysis, selection), groups, key_groups, renormalize=False),
        None if mask is None else merge_mask(mask, groups),
        scores,
        rollout,
    )


def _units(
    analysis: Analysis | None, selection: Selection, default_tokens: tuple[Token, ...] = ()
) -> tuple[list[Unit], Groups]:
    """Rows or columns of the matrix: tokens or words of a text, of which only its tokens may be ``default_tokens``."""
    words = selection.words and analysis is not None
    tokens = default_tokens if analysis is None else analysis.tokens
    if words and analysis is not None:
        tokens = analysis.language.tokens
    if not selection.special and all(token.special for token in tokens):
        raise NotAvailableError(
            "No tokens are shown: the text has only special ones.", "Set special to True."
        )
    groups = group_tokens(tokens, words=words, special=selection.special)
    first, sizes = groups.first.tolist(), groups.sizes[groups.kept].tolist()
    if words and analysis is not None:
        surfaces = [word.text for word in analysis.language.words]
        positions: tuple[Token, ...] = merge_tokens(tokens, groups, surfaces)
    else:
        positions = tuple(tokens[i] for i in first)
    units = [
        Unit(i, i + size, tokens[i].text if size == 1 else at.text, at.surface, at.special)
        for i, size, at in zip(first, sizes, positions, strict=True)
    ]
    return units, groups


def matrix_of(analysis: Analysis, selection: Selection) -> Float32:
    """The whole matrix of a selection's layer, head and quantity, float32 [n, n], or [n, m] of two texts; weights where it is scores."""
    layer, head = selection.place
    quantity: Any = selection.quantity
    if quantity == "rollout":
        return analysis.rollout(layer)
    if quantity in ROLLED:
        return analysis.mixing.rollout(quantity.removesuffix("_rollout"), layer)
    if quantity == "norms":
        return analysis.mixing.matrix(quantity, layer, None if head == "mean" else head)
    if quantity in MIXINGS:
        return analysis.mixing.matrix(quantity, layer)
    return analysis.attention(layer, head)
