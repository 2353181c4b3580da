"""The table of the view Sentences, for a file."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.figures.tables import Columns
from attn_widget.protocol.matrix import matrix_of
from attn_widget.protocol.selection import Selection


def sentences_table(analysis: Analysis, selection: Selection) -> Columns:
    """One row a pair: ``a, b, a_text, b_text, value``: the share of a's attention on b (``mass``)."""
    sums = analysis.sentences
    if selection.quantity in ("weights", "scores"):
        mass = sums.matrix("mass")
    else:
        mass = sums.gather(matrix_of(analysis, selection))
    values = mass.astype(np.float64).tolist()
    rows = [
        (a, b, first, second, values[a][b])
        for a, first in enumerate(sums.texts)
        for b, second in enumerate(sums.key_texts)
    ]
    if not rows:
        raise NotAvailableError(sums.note or "No sentence was found in the text.")
    return ("a", "b", "a_text", "b_text", "value"), rows
