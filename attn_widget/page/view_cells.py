"""Cells of a run's picture where another view than Attention is open, for documents that run no page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import untagged
from attn_widget.errors import AttnWidgetError, NotAvailableError
from attn_widget.features import declared, loaded
from attn_widget.figures import metrics
from attn_widget.figures.catalog.choices import ALL_VIEWS
from attn_widget.figures.catalog.registry import METRICS
from attn_widget.figures.tables import Columns
from attn_widget.host.pattern import Pattern
from attn_widget.page.listed import ROWS, listed, shares, too_slow
from attn_widget.page.run_cells import run_cells
from attn_widget.protocol.initial_payload import TOP_K, opening_mode, table_mode
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells
from attn_widget.trace.base import LONG_TOKENS

MASK = Pattern(r"^(\[MASK\]|<mask>)$")


class MakesCells(Protocol):
    """Function that a feature's ``cells`` name: the cells of a view; as `view_cells`."""

    def __call__(self, analysis: Analysis, selection: Selection, /, *, quick: bool) -> Cells: ...


class MakesTable(Protocol):
    """Function that a feature's ``tables`` name: names of columns, and rows, of a view."""

    def __call__(self, analysis: Analysis, selection: Selection, /) -> Columns: ...


def view_cells(analysis: Analysis, selection: Selection, *, quick: bool = False) -> Cells:
    """The open view as rows and columns; where it has no such form, the selected matrix and a sentence that says why.

    ``quick``: without what takes a pass of the model for each token.
    """
    makers: dict[str, MakesCells | str] = {**OF_VIEWS, **dict(declared("cells"))}
    make = makers.get(selection.view)
    if make is None:
        return run_cells(analysis, selection)
    try:
        if analysis.trace.n_tokens > LONG_TOKENS:
            raise NotAvailableError(f"The text has more than {LONG_TOKENS} tokens.")
        maker: MakesCells = loaded(make) if isinstance(make, str) else make
        return maker(untagged(analysis), selection, quick=quick)  # a tagger takes seconds
    except AttnWidgetError as error:
        matrix = run_cells(analysis, selection)
        label = ALL_VIEWS[selection.view].label
        return matrix._replace(caption=f"{matrix.caption} {label} has no picture here: {error}")


def heads_cells(analysis: Analysis, selection: Selection, *, quick: bool) -> Cells:  # noqa: ARG001
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


def sentences_cells(analysis: Analysis, _selection: Selection, *, quick: bool) -> Cells:  # noqa: ARG001
    """Attention between sentences, summed over their tokens."""
    sums = analysis.sentences
    if len(sums.texts) < 2:
        raise NotAvailableError(sums.note or "The text is one sentence.")
    mass = np.asarray(sums.matrix("mass"), np.float32)
    caption = f"{title_of(analysis)}: attention between sentences. Rows are sentences that look, columns those that are looked at."
    alt = "Shares of each sentence's attention as a heatmap"
    return Cells(
        np.clip(mass, 0, 1), alt, caption, list(sums.texts), list(sums.key_texts), ("0", "1")
    )


def predictions_cells(analysis: Analysis, _selection: Selection, *, quick: bool) -> Cells:
    """The likeliest tokens at each position, shaded by the probability of the first."""
    if quick and opening_mode(analysis) == "masked":
        raise too_slow()
    if analysis.part == "cross":
        analysis = analysis.model.writing
    mode = table_mode(opening_mode(analysis), analysis.trace.n_tokens)
    found = analysis.predictions(top_k=TOP_K, mode=mode)
    rows: list[str] = []
    first: list[float] = []
    for i, token in enumerate(found.positions):
        if (token.special and not MASK.search(token.text)) or len(rows) == ROWS:
            continue
        rows.append(f"{token.text}: {shares(found.tokens[i], found.probabilities[i].tolist())}")
        first.append(float(found.probabilities[i][0]))
    if not rows:
        raise NotAvailableError("The text has no token besides special ones.")
    how = {"masked": "with each token hidden in turn", "next": "for the token after each"}.get(
        mode, "as is"
    )
    caption = f"{title_of(analysis)}: the likeliest tokens at each position, {how}."
    return listed("Predictions", caption, rows, first, "likeliest", 1.0)


OF_VIEWS: Mapping[str, MakesCells] = {
    "heads": heads_cells,
    "sentences": sentences_cells,
    "predictions": predictions_cells,
}
