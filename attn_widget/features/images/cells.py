"""The picture of the view Picture where no page runs."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.features.images.encoding import the_encoding
from attn_widget.features.images.figures import ImageFigures
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells


def picture_cells(analysis: Analysis, selection: Selection, *, quick: bool) -> Cells:  # noqa: ARG001
    """Weights that the focus (`ImageEncoding.focused`) gives each patch in the selected head, as the grid of patches."""
    found = the_encoding(analysis)
    layer, head = selection.place
    tokens = found.focused(selection.token, selection.group)
    of_heads = ImageFigures(analysis).rows(tokens)[layer]
    row = of_heads.mean(axis=0) if head == "mean" else of_heads[head]
    grid = row[found.patches].reshape(found.rows, found.columns)
    top = float(grid.max(initial=0))
    subject = (
        analysis.tokens[tokens[0]].text if len(tokens) == 1 else f"the mean of {len(tokens)} tokens"
    )
    name = "mean of the heads" if head == "mean" else f"H{head}"
    caption = (
        f"{title_of(analysis)}: what {subject} attends to in L{layer} · {name}, patch by patch."
    )
    return Cells(
        np.clip(grid / (top or 1.0), 0, 1).astype(np.float32),
        "Weights of the patches as a heatmap",
        caption,
        [str(i) for i in range(found.rows)],
        [str(i) for i in range(found.columns)],
        ("0", f"{top:.3g}"),
    )
