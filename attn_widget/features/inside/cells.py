"""The picture of the view Inside where no page runs."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.page.listed import token_label
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells


def inside_cells(analysis: Analysis, selection: Selection, *, quick: bool) -> Cells:  # noqa: ARG001
    """By how much attention and the feed-forward network of each layer change each token: the bars of the view's map."""
    changes = analysis.model.residuals
    values = np.stack([changes.attention, changes.ffn], axis=1).reshape(-1, analysis.trace.n_tokens)
    rows = [
        f"L{layer} {part}"
        for layer in range(analysis.trace.n_layers)
        for part in ("attention", "FFN")
    ]
    tokens = analysis.trace.tokens
    columns = [token_label(token) for token in tokens]
    words = [i for i, token in enumerate(tokens) if not token.special] or [*range(len(tokens))]
    among = np.nan_to_num(values[:, words])
    top, largest = float(among.max()), float(np.nan_to_num(values).max())
    row, column = divmod(int(among.argmax()), len(words))
    part = "" if analysis.part == "self" else f"the {analysis.part}'s "
    return Cells(
        np.clip(values / (top or 1.0), 0, 1).astype(np.float32),
        f"Change of each token in each layer as a heatmap; the largest is {top:.3g}, of {columns[words[column]]} by {rows[row]}",
        f"{title_of(analysis)}: change of each token by attention and the feed-forward network (FFN) of {part}each layer, ‖out − in‖ / ‖in‖.",
        rows,
        columns,
        ("0", f"{top:.3g}{' or more' if largest > top else ''}"),
    )
