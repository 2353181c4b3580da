"""Figures of the heads of a long text, which the page gets layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.metrics import KEYS
from attn_widget.protocol.survey import surveyor

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.figures.arrays import Head
    from attn_widget.protocol.handlers import Answer


def heads_so_far(
    analysis: Analysis, layer: int, head: Head
) -> tuple[dict[str, NDArray[Any]], list[int]]:
    """Arrays of the first paint as far as layers are done, and which; of the selected head its thumbnail.

    ``head_max`` and the metrics of the others are NaN.
    """
    found = surveyor(analysis)
    done = list(found.walk.done)
    found.walk.prefer(layer)
    shape = (analysis.n_layers, analysis.n_heads)
    side = found.side
    arrays: dict[str, NDArray[Any]] = {
        "thumbs": np.zeros((*shape, side, side), dtype=np.uint8),
        "head_max": np.full(shape, np.nan, dtype=np.float32),
        "word_max": np.zeros(shape, dtype=np.float32),
        **{f"metric:{key}": np.full(shape, np.nan, dtype=np.float32) for key in KEYS},
    }
    for name, part in layers_of(analysis, done).items():
        arrays[name][done] = part
    if layer not in done and not isinstance(head, str):
        one = found.of_head(layer, head)
        for name, part in (
            ("thumbs", one.thumbs),
            ("head_max", one.head_max),
            ("word_max", one.word_max),
        ):
            arrays[name][layer, head] = part[0, 0]
    return arrays, done


def layers_of(analysis: Analysis, layers: list[int]) -> dict[str, NDArray[Any]]:
    """Arrays of the first paint of some layers that are done, [layers, H, ...]."""
    found = surveyor(analysis)
    if not layers:
        return {}
    part = found.of(layers)
    metrics = [found.walk.metrics_of(layer) for layer in layers]
    return {
        "thumbs": part.thumbs,
        "head_max": part.head_max,
        "word_max": part.word_max,
        **{f"metric:{key}": np.stack([one[key] for one in metrics]) for key in KEYS},
    }


def describe_layers(analysis: Analysis, start: int) -> Answer:
    """Those of the layers in the order in which they were done, from ``start`` on."""
    done = list(surveyor(analysis).walk.done)[start:]
    return {"layers": done, "total": analysis.n_layers}, layers_of(analysis, done)
