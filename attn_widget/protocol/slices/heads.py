"""The slice ``heads``: figures of all heads of a long text, which the page gets layer by layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import cached
from attn_widget.analysis.long.detail import Matrix, levels_of_detail
from attn_widget.figures.arrays import Head
from attn_widget.figures.metrics import KEYS
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.head_scan import SingleHead, Survey, head_scan
from attn_widget.protocol.request import Request, integer
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.forward import Progress

HEADS = "heads"


def heads_so_far(
    analysis: Analysis, layer: int, head: Head
) -> tuple[dict[str, NDArray[Any]], list[int]]:
    """Arrays of the first paint as far as layers are done, and which; of the selected head its thumbnail.

    ``head_max`` and the metrics of the others are NaN.
    """
    surveyed = head_scan(analysis)
    done = list(surveyed.walk.done)
    surveyed.walk.prefer(layer)
    shape = (analysis.trace.n_layers, analysis.trace.n_heads)
    arrays: dict[str, NDArray[Any]] = {
        "thumbs": np.zeros((*shape, *surveyed.sides), dtype=np.uint8),
        "head_max": np.full(shape, np.nan, dtype=np.float32),
        "word_max": np.zeros(shape, dtype=np.float32),
        **{f"metric:{key}": np.full(shape, np.nan, dtype=np.float32) for key in KEYS},
    }
    for name, part in layers_of(analysis, done).items():
        arrays[name][done] = part
    if layer not in done and not isinstance(head, str):
        long = analysis.trace.n_tokens > LONG_TOKENS
        scanned = first_look(analysis, layer, head) if long else surveyed.of_head(layer, head)
        for name, part in scanned.arrays().items():
            arrays[name][layer, head] = part[0, 0]
    return arrays, done


def layers_of(analysis: Analysis, layers: list[int]) -> dict[str, NDArray[Any]]:
    """Arrays of the first paint of some layers that are done, [layers, H, ...]."""
    surveyed = head_scan(analysis)
    if not layers:
        return {}
    metrics = [surveyed.walk.metrics_of(layer) for layer in layers]
    return {
        **surveyed.of(layers).arrays(),
        **{f"metric:{key}": np.stack([metric[key] for metric in metrics]) for key in KEYS},
    }


@answers(HEADS, needs_heads=True)
def heads(analysis: Analysis, request: Request) -> Answer:
    """Thumbnails, maxima and metrics of the layers that are done, in their order, from the ``start``-th on."""
    start = integer(request, "start", 0, analysis.trace.n_layers + 1)
    done = list(head_scan(analysis).walk.done)[start:]
    return {"layers": done, "total": analysis.trace.n_layers}, layers_of(analysis, done)


def has_layers(analysis: Analysis, request: Request) -> bool:
    """True if as many layers are done as the answer to ``request`` reads: one more than the page has, or all."""
    start = request.get("start") if request.get("kind") == HEADS else None
    count = start + 1 if isinstance(start, int) else analysis.trace.n_layers
    return len(head_scan(analysis).walk.done) >= min(count, analysis.trace.n_layers)


def survey_layers(analysis: Analysis, progress: Progress) -> Answer:
    """Compute the layers that are missing. Those that are done stay if ``progress`` raises."""
    walk = head_scan(analysis).walk

    def tell() -> None:
        progress(len(walk.done), analysis.trace.n_layers)

    while walk.step(tell):
        tell()
    return {}, {}


def first_look(analysis: Analysis, layer: int, head: int) -> Survey:
    """Thumbnail and maxima of one head; its pyramid is built on the way."""
    first_looks: dict[tuple[int, int], Survey] = cached(analysis, "first_looks", dict)
    # Without the analysis's lock: the levels of detail have one of their own, and ask for it while they hold that.
    if (layer, head) not in first_looks:
        alone = SingleHead(head_scan(analysis), layer, head)
        levels_of_detail(analysis).walk(Matrix("weights", layer, head), alone.see)
        first_looks[layer, head] = alone.result()
    return first_looks[layer, head]
