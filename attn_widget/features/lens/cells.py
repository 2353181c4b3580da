"""The picture of the view Lens where no page runs."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells


def lens_cells(analysis: Analysis, selection: Selection, *, quick: bool) -> Cells:  # noqa: ARG001
    """The probability of each layer's likeliest token at each position; the columns name the last layer's."""
    analysis = analysis.model.writing if analysis.part == "cross" else analysis
    found = analysis.lens(top_k=1)
    best = found.probabilities[:, :, 0]
    layers = ["emb.", *(f"L{layer}" for layer in range(len(best) - 1))]
    columns = [
        f"{token.surface or token.text}: {choice[0]}"
        for token, choice in zip(found.positions, found.tokens[-1], strict=True)
    ]
    caption = f"{title_of(analysis)}: probability of each layer's likeliest token at each position; the last layer stands below, its choices in the columns."
    return Cells(
        np.clip(best, 0, 1), "Logit lens as a heatmap", caption, layers, columns, ("0", "1")
    )
