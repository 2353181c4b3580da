"""Cells of a run's picture: the matrix that is shown, with its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import untagged
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Bool, Float32
from attn_widget.page.pooling import PICTURE_CELLS, pooled
from attn_widget.protocol.matrix import Unit, shown_matrix
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells
from attn_widget.trace.base import LONG_TOKENS

STRONGEST = 3  # links that the description names


def run_cells(analysis: Analysis, selection: Selection) -> Cells:
    """The selected matrix between the tokens or words that are shown, on the selected scale."""
    layer, head = selection.place
    quantity = "weights" if selection.quantity == "scores" else selection.quantity
    if analysis.trace.n_tokens > LONG_TOKENS and analysis.trace.square:
        weights, allowed, units = _bands(analysis, selection)
        keys, quantity = units, "weights"
    else:
        weights, allowed, units, keys = _whole(analysis, selection)
    words = _between_words(units, keys, allowed)
    largest = float(np.nanmax(weights, initial=0))
    among = weights[np.ix_(*words)] if weights.shape == (len(units), len(keys)) else weights[:0]
    top = _top(selection.scale, largest, float(np.nanmax(among, initial=0)))
    shades = np.clip(weights / (top or 1.0), 0, 1)
    if selection.scale == "sqrt":
        shades = np.sqrt(shades)
    if allowed is not None:
        shades = np.where(allowed, shades, np.float32(np.nan))
    rows, columns = ([_label(unit) for unit in side] for side in (units, keys))
    name = "mean of the heads" if head == "mean" else f"H{head}"
    part = "" if analysis.part == "self" else f"{analysis.part} "
    by = "" if analysis.trace.square else f" by {analysis.trace.n_keys}"
    what = "attention weights" if quantity == "weights" else quantity.replace("_", " ")
    caption = (
        f"{title_of(analysis)}: {what} of {part}L{layer} · {name}, {analysis.trace.n_tokens}{by} tokens. "
        "Rows are queries, columns keys."
    )
    alt = f"{what[0].upper()}{what[1:]} as a heatmap{_strongest(among, rows, columns, words)}"
    most = f"{top:.3g}{' or more' if largest > top else ''}"
    return Cells(shades.astype(np.float32), alt, caption, rows, columns, ("0", most))


def _whole(
    analysis: Analysis, selection: Selection
) -> tuple[Float32, Bool | None, list[Unit], list[Unit]]:
    plain = replace(selection, words=False, special=True, quantity="weights")
    analysis = untagged(analysis)  # a tagger takes seconds
    try:
        shown = shown_matrix(analysis, selection, words_have_scores=False)
    except NotAvailableError:
        shown = shown_matrix(analysis, plain, words_have_scores=False)
    return shown.weights, shown.allowed, shown.units, shown.keys


def _bands(analysis: Analysis, selection: Selection) -> tuple[Float32, Bool | None, list[Unit]]:
    """Weights of a long text, a row of the picture at a time: never the whole matrix."""
    n, allowed = analysis.trace.n_tokens, analysis.trace.allowed(selection.place[0])
    step = -(-n // PICTURE_CELLS)
    bands: list[Float32] = []
    possible: list[NDArray[np.bool_]] = []
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        bands.append(pooled(analysis.attention(*selection.place, rows=rows), rows=1))
        if allowed is not None:
            possible.append(pooled(allowed[rows], rows=1))
    tokens = analysis.trace.tokens
    units = [
        Unit(i, i + 1, token.text, token.surface, token.special) for i, token in enumerate(tokens)
    ]
    return np.concatenate(bands), np.concatenate(possible) if possible else None, units


def _between_words(
    units: Sequence[Unit], keys: Sequence[Unit], allowed: Bool | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns that set the scale: without special tokens, and without the first where the mask looks back alone."""
    square = allowed is not None and allowed.shape[0] == allowed.shape[1]
    sink = allowed is not None and square and not np.triu(allowed, 1).any()
    rows, columns = (
        np.array([i for i, u in enumerate(side) if not u.special and not (sink and u.token == 0)], np.intp)
        for side in (units, keys)
    )  # fmt: skip
    return rows, columns


def _top(scale: str, largest: float, words: float) -> float:
    """The value with the strongest color (js/src/draw/color/scale.ts)."""
    if scale == "unit":
        return 1.0
    return words if scale == "words" and words > 0 else largest


def _label(unit: Unit) -> str:
    return unit.surface if unit.surface.strip() else unit.text


def _strongest(
    weights: Float32,
    rows: Sequence[str],
    columns: Sequence[str],
    words: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> str:
    """The largest cells between words, for readers who do not see the picture."""
    if weights.size == 0:
        return ""
    cells = np.argsort(-np.nan_to_num(weights), axis=None, kind="stable")[:STRONGEST]
    found = [divmod(int(cell), weights.shape[1]) for cell in cells]
    links = [f"{rows[words[0][i]]} to {columns[words[1][j]]} {weights[i, j]:.2g}" for i, j in found]
    return f"; strongest from query to key: {', '.join(links)}"
