"""Cells of a run's picture where another view than Attention is open, for documents that run no page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import untagged
from attn_widget.errors import NotAvailableError
from attn_widget.figures import metrics
from attn_widget.figures.catalog.registry import METRICS
from attn_widget.host.pattern import Pattern
from attn_widget.page.run_cells import run_cells
from attn_widget.protocol.initial_payload import TOP_K, opening_mode, table_mode
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.shown_tree import shown_tree
from attn_widget.protocol.source import Cells
from attn_widget.trace.base import LONG_TOKENS

ROWS = 24  # of a list of predictions
PATHS = 12
NAMED = 3  # guesses of a row
LEAST = 0.005  # share of a guess that is named
MASK = Pattern(r"^(\[MASK\]|<mask>)$")


def view_cells(analysis: Analysis, selection: Selection, *, quick: bool = False) -> Cells:
    """The open view as rows and columns; the selected matrix where the view has no such form or not for this text.

    ``quick``: without predictions that mask each token in turn.
    """
    make = OF_VIEWS.get(selection.view)
    masks = selection.view == "predictions" and opening_mode(analysis) == "masked"
    if make is None or (quick and masks) or analysis.trace.n_tokens > LONG_TOKENS:
        return run_cells(analysis, selection)
    try:
        found = make(untagged(analysis), selection)  # a tagger takes seconds
    except NotAvailableError:
        found = None
    return run_cells(analysis, selection) if found is None else found


def heads_cells(analysis: Analysis, selection: Selection) -> Cells | None:
    """A figure of every head: the one that shades the grid."""
    figures = analysis.metrics.as_dict()
    key = selection.metric if selection.metric in figures else metrics.KEYS[0]
    name = METRICS[key].name
    values = figures[key]
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    layer, head = divmod(int(np.nanargmax(values)), values.shape[1])
    rows, columns = (
        [f"{sign}{k}" for k in range(n)] for sign, n in zip("LH", values.shape, strict=True)
    )
    return Cells(
        ((values - least) / ((most - least) or 1.0)).astype(np.float32),
        f"{name} of every head as a heatmap; the largest is {most:.3g}, of layer {layer}, head {head}",
        f"{title_of(analysis)}: {name} of every head. Rows are layers, columns heads.",
        rows,
        columns,
        (f"{least:.3g}", f"{most:.3g}"),
    )


def sentences_cells(analysis: Analysis, _selection: Selection) -> Cells | None:
    """Attention between sentences, summed over their tokens."""
    sums = analysis.sentences
    if len(sums.texts) < 2:
        return None
    mass = np.asarray(sums.matrix("mass"), np.float32)
    caption = f"{title_of(analysis)}: attention between sentences. Rows are sentences that look, columns those that are looked at."
    alt = "Shares of each sentence's attention as a heatmap"
    return Cells(
        np.clip(mass, 0, 1), alt, caption, list(sums.texts), list(sums.key_texts), ("0", "1")
    )


def predictions_cells(analysis: Analysis, _selection: Selection) -> Cells | None:
    """The likeliest tokens at each position, shaded by the probability of the first."""
    if analysis.part == "cross":
        analysis = analysis.model.writing
    mode = table_mode(opening_mode(analysis), analysis.trace.n_tokens)
    found = analysis.predictions(top_k=TOP_K, mode=mode)
    rows: list[str] = []
    first: list[float] = []
    for i, token in enumerate(found.positions):
        if (token.special and not MASK.search(token.text)) or len(rows) == ROWS:
            continue
        guesses = zip(found.tokens[i][:NAMED], found.probabilities[i], strict=False)
        named = [f"{guess} {share:.0%}" for guess, share in guesses if share >= LEAST]
        rows.append(f"{token.text}: {', '.join(named) or 'none is likely'}")
        first.append(float(found.probabilities[i][0]))
    if not rows:
        return None
    how = {"masked": "with each token hidden in turn", "next": "for the token after each"}.get(
        mode, "as is"
    )
    caption = f"{title_of(analysis)}: the likeliest tokens at each position, {how}."
    alt = f"Predictions: {'; '.join(rows[:NAMED])}"
    return Cells(
        np.array(first, np.float32)[:, None], alt, caption, rows, ["likeliest"], ("0", "1")
    )


def tree_cells(analysis: Analysis, selection: Selection) -> Cells | None:
    """The strongest paths from the focus token, shaded by the product of their weights."""
    units, tree = shown_tree(analysis, selection)
    paths = {id(tree): units[tree.token].surface}
    found: list[tuple[float, str]] = []
    for node in tree.walk():
        for child in node.children:
            paths[id(child)] = path = f"{paths[id(node)]} → {units[child.token].surface}"
            found.append((child.product, f"{path} {child.product:.2g}"))
    if not found:
        return None
    found = sorted(found, key=lambda one: -one[0])[:PATHS]
    top = found[0][0] or 1.0
    shades = np.array([[product / top] for product, _ in found], np.float32)
    layer, head = selection.place
    name = "mean of the heads" if head == "mean" else f"H{head}"
    caption = f"{title_of(analysis)}: the strongest paths from {units[tree.token].surface} in L{layer} · {name}, products of attention weights."
    rows = [path for _, path in found]
    return Cells(
        shades, f"Paths: {'; '.join(rows[:NAMED])}", caption, rows, ["product"], ("0", f"{top:.2g}")
    )


OF_VIEWS: Mapping[str, Callable[[Analysis, Selection], Cells | None]] = {
    "heads": heads_cells,
    "sentences": sentences_cells,
    "predictions": predictions_cells,
    "tree": tree_cells,
}
