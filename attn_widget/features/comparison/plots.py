"""The head grid of many comparisons, drawn by matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError

INK = "#7d8590"  # readable on light and on dark ground
CELL = 0.55  # inch
LIGHT = 0.45  # share of the largest mean above which text is white


def head_grid(
    mean: NDArray[Any],
    interval: tuple[NDArray[Any], NDArray[Any]],
    null: NDArray[Any] | None = None,
) -> Any:
    """Means [L, H] as shades and numbers, with half the width of their intervals and the means of a null below."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise NotAvailableError(
            "matplotlib is not installed.", "pip install matplotlib, or use to_dataframe()."
        ) from error
    layers, heads = mean.shape
    figure = Figure(figsize=(CELL * heads + 1, CELL * layers + 0.8), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplots()
    axes.patch.set_alpha(0)
    top = float(np.nanmax(mean)) if np.isfinite(mean).any() else 1.0
    axes.imshow(mean, cmap="GnBu", vmin=0, vmax=top or 1)
    low, high = interval
    for layer, head in np.ndindex(layers, heads):
        value = float(mean[layer, head])
        if not np.isfinite(value):
            continue
        half = float(high[layer, head] - low[layer, head]) / 2
        text = f"{value:.2f}" + (f"\n±{half:.2f}" if np.isfinite(half) else "")
        if null is not None:
            text += f"\n({null[layer, head]:.2f})"
        color = "white" if value > LIGHT * top else "#1c2127"
        axes.text(head, layer, text, ha="center", va="center", fontsize=6.5, color=color)
    axes.set_xticks(range(heads))
    axes.set_yticks(range(layers))
    axes.set_xlabel("head" if null is None else "head (in parentheses: null pairs)", color=INK)
    axes.set_ylabel("layer", color=INK)
    axes.tick_params(colors=INK, length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure
