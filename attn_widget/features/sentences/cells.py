"""The picture of the view Sentences where no page runs."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells


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
