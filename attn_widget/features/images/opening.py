"""The head that a picture opens on: the one that separates it most clearly."""

from __future__ import annotations

from collections.abc import Sequence

from attn_widget.analysis import Analysis
from attn_widget.features.images.encoding import encoding_of
from attn_widget.features.images.figures import ImageFigures


def opening(
    analysis: Analysis, layers: Sequence[int] | None, heads: Sequence[int] | None
) -> tuple[int, int, int | None] | None:
    """See `attn_widget.analysis.opening.ChoosesHead`."""
    found = encoding_of(analysis)
    if found is None:
        return None
    layer, head, _ = ImageFigures(analysis).clearest(layers, heads)
    shows_first = found.first and analysis.base is None
    return layer, head, 0 if shows_first else None
