"""Figures of the heads of a long text, which the page gets layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.base import once
from attn_widget.analysis.long.detail import Matrix, levels_of_detail
from attn_widget.analysis.opening import StrongestWord
from attn_widget.figures.metrics import KEYS
from attn_widget.protocol.survey import OneHead, Survey, surveyor
from attn_widget.trace.base import LONG_TOKENS, Area

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.figures.arrays import Float32, Head
    from attn_widget.protocol.handlers import Answer


def heads_so_far(
    analysis: Analysis, layer: int, head: Head
) -> tuple[dict[str, NDArray[Any]], list[int]]:
    """Arrays of the first paint as far as layers are done, and which; of the selected head its thumbnail.

    ``head_max`` and the metrics of the others are NaN.
    """
    surveyed = surveyor(analysis)
    done = list(surveyed.walk.done)
    surveyed.walk.prefer(layer)
    shape = (analysis.n_layers, analysis.n_heads)
    side = surveyed.side
    arrays: dict[str, NDArray[Any]] = {
        "thumbs": np.zeros((*shape, side, side), dtype=np.uint8),
        "head_max": np.full(shape, np.nan, dtype=np.float32),
        "word_max": np.zeros(shape, dtype=np.float32),
        **{f"metric:{key}": np.full(shape, np.nan, dtype=np.float32) for key in KEYS},
    }
    for name, part in layers_of(analysis, done).items():
        arrays[name][done] = part
    if layer not in done and not isinstance(head, str):
        long = analysis.n_tokens > LONG_TOKENS
        one = first_look(analysis, layer, head).survey if long else surveyed.of_head(layer, head)
        for name, part in (
            ("thumbs", one.thumbs),
            ("head_max", one.head_max),
            ("word_max", one.word_max),
        ):
            arrays[name][layer, head] = part[0, 0]
    return arrays, done


def layers_of(analysis: Analysis, layers: list[int]) -> dict[str, NDArray[Any]]:
    """Arrays of the first paint of some layers that are done, [layers, H, ...]."""
    surveyed = surveyor(analysis)
    if not layers:
        return {}
    part = surveyed.of(layers)
    metrics = [surveyed.walk.metrics_of(layer) for layer in layers]
    return {
        "thumbs": part.thumbs,
        "head_max": part.head_max,
        "word_max": part.word_max,
        **{f"metric:{key}": np.stack([metric[key] for metric in metrics]) for key in KEYS},
    }


def describe_layers(analysis: Analysis, start: int) -> Answer:
    """Those of the layers in the order in which they were done, from ``start`` on."""
    done = list(surveyor(analysis).walk.done)[start:]
    return {"layers": done, "total": analysis.n_layers}, layers_of(analysis, done)


class FirstLook(NamedTuple):
    """Thumbnail and maxima of one head, and the query of its strongest link between words."""

    survey: Survey
    token: int | None


def first_look(analysis: Analysis, layer: int, head: int) -> FirstLook:
    """The first look at a head; its pyramid is built on the way."""
    known: dict[tuple[int, int], FirstLook] = once(analysis, "first_looks", dict)
    # Without the analysis's lock: the levels of detail have one of their own, and ask for it while they hold that.
    if (layer, head) not in known:
        known[layer, head] = _look(analysis, layer, head)
    return known[layer, head]


def _look(analysis: Analysis, layer: int, head: int) -> FirstLook:
    word = StrongestWord(analysis.trace.tokens)
    alone = OneHead(surveyor(analysis), layer, head)

    def see(area: Area, weights: Float32) -> None:
        word.see(area, weights)
        alone.see(area, weights)

    levels_of_detail(analysis).walk(Matrix("weights", layer, head), see)
    return FirstLook(alone.result(), word.token)
