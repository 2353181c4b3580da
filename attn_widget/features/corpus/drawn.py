"""Figures of matplotlib that a notebook shows as the last line of a cell; matplotlib is an optional extra."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from attn_widget.host.installed import require_extra

PIXELS = 100  # an inch; the picture has twice as many


def transparent_figure(width: float, height: float) -> Any:
    """A transparent figure, shown also where pyplot was never imported.

    ``width``, ``height``: inches.
    """
    require_extra("matplotlib", "A picture needs matplotlib", "tasks")
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            target = io.BytesIO()
            self.savefig(target, format="png", dpi=2 * PIXELS)
            wide, high = (round(PIXELS * side) for side in self.get_size_inches())
            return target.getvalue(), {"width": wide, "height": high}

    figure = Picture(figsize=(width, height), dpi=PIXELS, layout="constrained")
    figure.set_facecolor("none")
    return figure


def colored_cells(
    values: NDArray[Any],
    texts: Sequence[Sequence[str]],
    size: tuple[float, float],
    *,
    cmap: str,
    ends: tuple[float, float],
    light: float,
) -> tuple[Any, Any]:
    """A figure and its axes with ``values`` [rows, columns] as colors, and a text in each cell, white above ``light``."""
    figure = transparent_figure(*size)
    axes = figure.add_subplot()
    axes.imshow(values, cmap=cmap, vmin=ends[0], vmax=ends[1])
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            ink = "white" if abs(values[i, j]) > light else "#1c2127"
            axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=7)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_facecolor("none")
    return figure, axes
