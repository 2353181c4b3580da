"""Cells of a comparison's picture: the difference of two heads."""

from __future__ import annotations

import numpy as np

from attn_widget.features.comparison.comparison import Comparison
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.source import Cells


def compared_cells(comparison: Comparison, layer: int, head: int) -> Cells:
    """B minus A between matched tokens, of a head of A and its partner.

    Raises `NotAvailableError`: no token is matched, or the head has no partner.
    """
    change = comparison.difference(layer, head)
    values = change.difference
    most = float(np.nanmax(np.abs(values), initial=0))
    a, b = comparison.a.trace, comparison.b.trace
    tokens = (a.tokens, b.tokens, change.positions_a, change.positions_b)
    keys = (a.key_tokens, b.key_tokens, change.keys_a, change.keys_b)
    rows, columns = (
        [
            left if left == right else f"{left}/{right}"
            for left, right in (
                (in_a[i].surface.strip() or in_a[i].text, in_b[j].surface.strip() or in_b[j].text)
                for i, j in zip(of_a, of_b, strict=True)
            )
        ]
        for in_a, in_b, of_a, of_b in (tokens, keys)
    )
    titles = " | ".join(RunSource(run).title for run in (comparison.a, comparison.b))
    caption = (
        f"{titles}: attention weights of L{layer} · H{head}, the second run minus the first. "
        "Rows are queries, columns keys; orange is more, blue less."
    )
    i, j = divmod(int(np.nanargmax(np.abs(values))), values.shape[1])
    alt = (
        "Difference of attention weights as a heatmap; most changed from query to key: "
        f"{rows[i]} to {columns[j]} {values[i, j]:+.2g}"
    )
    shades = (values / (most or 1.0)).astype(np.float32)
    return Cells(shades, alt, caption, rows, columns, (f"−{most:.3g}", f"+{most:.3g}"), signed=True)
