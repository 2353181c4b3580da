"""The table of the view Inside, for a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.figures.tables import Columns
from attn_widget.protocol.selection import Selection


def inside_table(analysis: Analysis, selection: Selection) -> Columns:
    """One row a number of the focus token's embeddings, the stage that is open at first.

    ``tensor, layer, head, position, token, dimension, value``; the tensors that the model has of
    ``token, position, segment, sum, norm`` and, where it projects them, ``output``.
    """
    parts = analysis.model.embeddings
    names = ["token", "position", "segment", "sum", "norm"]
    hidden = analysis.model.hidden_states.shape[-1]
    if parts.norm is not None and parts.norm.shape[-1] != hidden:
        names.append("output")
    position = selection.token
    if position is None:
        position = next((i for i, t in enumerate(analysis.tokens) if not t.special), 0)
    rows: list[tuple[Any, ...]] = []
    for name in names:
        try:
            values = parts.part(name)[position]
        except NotAvailableError:
            continue
        text = analysis.tokens[position].text
        for dimension, value in enumerate(values.astype(np.float64).tolist()):
            rows.append((name, None, None, position, text, dimension, value))
    return ("tensor", "layer", "head", "position", "token", "dimension", "value"), rows
