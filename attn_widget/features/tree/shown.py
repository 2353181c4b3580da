"""The tree of a run as it is shown: from the focus token, of the selected matrix, over words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.features.tree.influence import Influence, influence_tree
from attn_widget.host.pattern import Pattern
from attn_widget.protocol.matrix import Unit, shown_matrix
from attn_widget.protocol.selection import Selection

LETTER_OR_NUMBER = Pattern(r"[\p{L}\p{N}]")


def shown_tree(analysis: Analysis, selection: Selection) -> tuple[list[Unit], Influence]:
    """The units that its nodes are places of, and the tree; special tokens and punctuation are left out below the root.

    Raises `NotAvailableError`: attention between two texts.
    """
    analysis.trace.check_square("A tree of influence")
    shown = shown_matrix(analysis, selection, words_have_scores=True)
    allowed = shown.allowed
    if shown.rollout and any(
        analysis.trace.allowed(i) is not None for i in range(analysis.trace.n_layers)
    ):
        allowed = shown.weights > 0  # exactly 0 where no path through the layers is allowed
    root = root_of(shown.units, selection.token)
    tree = influence_tree(
        shown.weights,
        root,
        top_k=selection.top_k,
        depth=selection.depth,
        scores=shown.scores,
        keep=words_only(shown.units, root),
        allowed=allowed,
    )
    return shown.units, tree


def words_only(units: list[Unit], root: int) -> NDArray[np.bool_] | None:
    """False for special tokens and punctuation other than the root; None for a text without another word."""
    words = [not unit.special and bool(LETTER_OR_NUMBER.search(unit.surface)) for unit in units]
    keep = np.array([word or i == root for i, word in enumerate(words)])
    return keep if keep.sum() > 1 else None


def root_of(units: list[Unit], token: int | None) -> int:
    """Root of the tree: the unit of the focus token, else the first word."""
    if token is not None:
        for i, unit in enumerate(units):
            if unit.token <= token < unit.end:
                return i
    plain = [i for i, unit in enumerate(units) if not unit.special]
    named = [i for i in plain if LETTER_OR_NUMBER.search(units[i].surface)]
    return next(iter(named or plain), 0)
