"""The table of the view Picture, for a file."""

from __future__ import annotations

from attn_widget.analysis import Analysis
from attn_widget.features.images.encoding import the_encoding
from attn_widget.features.images.figures import ImageFigures
from attn_widget.figures.tables import Columns
from attn_widget.protocol.selection import Selection

COLUMNS = ("layer", "head", "token", "text", "row", "column", "weight")


def picture_table(analysis: Analysis, selection: Selection) -> Columns:
    """One row a head and token: what the focus (`ImageEncoding.focused`) attends to."""
    found = the_encoding(analysis)
    weights = ImageFigures(analysis).rows(found.focused(selection.token, selection.group))
    names = [token.text for token in analysis.tokens]
    places = [
        _place(i - found.first, found.columns)
        if 0 <= i - found.first < found.n_patches
        else (None, None)
        for i in range(len(names))
    ]
    rows = [
        (layer, head, i, name, *places[i], float(weights[layer, head, i]))
        for layer in range(weights.shape[0])
        for head in range(weights.shape[1])
        for i, name in enumerate(names)
    ]
    return COLUMNS, rows


def _place(index: int, columns: int) -> tuple[int, int]:
    """Row and column of a patch, from 1 on, as in its name."""
    return index // columns + 1, index % columns + 1
