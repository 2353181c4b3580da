"""Figures of matplotlib that a notebook shows as the last line of a cell; matplotlib is an optional extra."""

from __future__ import annotations

import io
from typing import Any

from attn_widget.host.installed import require_extra

PIXELS = 100  # an inch; the picture has twice as many


def transparent_figure(width: float, height: float) -> Any:
    """A transparent figure, shown also where pyplot was never imported.

    Parameters
    ----------
    width, height : float
        Inches.
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
