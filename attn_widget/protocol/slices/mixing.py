"""Slices of what attention carries (docs/influence.md, section 1)."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import SliceError
from attn_widget.figures.catalog.choices import MIXINGS, Mixing
from attn_widget.protocol.handlers import Answer, Arrays, answers
from attn_widget.protocol.request import Request, integer, layer_of, one_of, optional, rows_of
from attn_widget.trace.forward import Progress

MAX_ZEROED = 15_000_000  # tokens that layers run again: some minutes of bert-base on two cores


def quantity_of(analysis: Analysis, request: Request, layers: int) -> Mixing:
    """The mixing quantity that a request asks for in so many layers.

    Raises `SliceError`: not one of them, or the kernel would be busy for too long.
    """
    quantity = one_of(request, "quantity", MIXINGS)
    n = analysis.trace.n_keys
    if quantity == "value_zeroing" and n > 1 and layers * n * analysis.trace.n_tokens > MAX_ZEROED:
        raise SliceError(
            f"Value zeroing would run {layers} layers again for each of {n} tokens, which takes many "
            "minutes.",
            "Take one layer, a shorter text, or mixing('value_zeroing', layer) of the analysis in Python.",
        )
    return cast("Mixing", quantity)


@answers("mixing", slow=True)
def mixing(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    layer, rows = layer_of(analysis, request), rows_of(analysis, request)
    kind = quantity_of(analysis, request, 1)
    head = optional(request, "head", analysis.trace.n_heads)
    arrays: Arrays = {"weights": analysis.mixing.matrix(kind, layer, head, progress=progress)[rows]}
    allowed = analysis.trace.mask(layer)
    if allowed is not None:
        arrays["allowed"] = allowed[rows].astype(np.uint8)
    if kind == "mixing" and analysis.base is None:  # a ratio is of a token, not of a word
        arrays["ratio"] = analysis.mixing.ratio(layer)[rows]
    return {}, arrays


@answers("mixing_rollout", slow=True)
def mixing_rollout(analysis: Analysis, request: Request, progress: Progress | None) -> Answer:
    layer, rows = layer_of(analysis, request), rows_of(analysis, request)
    kind = quantity_of(analysis, request, layer + 1)
    return {}, {"weights": analysis.mixing.rollout(kind, layer, progress=progress)[rows]}


@answers("value_lengths")
def value_lengths(analysis: Analysis, request: Request) -> Answer:
    """``||v_j^h W_O^h||`` of a layer's heads; a weight times it is an entry of ``norms``."""
    return {}, {"lengths": analysis.mixing.value_lengths(layer_of(analysis, request))}


@answers("mixing_pair")
def mixing_pair(analysis: Analysis, request: Request) -> Answer:
    """The vector of one pair, and the sum that closes: parts of the output along its own direction."""
    layer = layer_of(analysis, request)
    query, key = (integer(request, name, 0, analysis.trace.n_tokens) for name in ("query", "key"))
    whole = analysis.mixing.decompose_output(layer, query)
    output = whole.output.astype(np.float64)
    length = float(np.linalg.norm(output))
    toward = output / (length or 1.0)
    parts = whole.vectors @ toward
    data: dict[str, Any] = {
        "length": float(whole.norms[key]),
        "of_layer": float(analysis.mixing.matrix("norms", layer)[query, key]),
        "ratio": float(analysis.mixing.ratio(layer)[query]),
        "key": float(parts[key]),
        "others": float(parts.sum() - parts[key]),
        "bias": float(whole.bias @ toward),
        "shift": float(whole.shift @ toward),
        "output": length,
    }
    return data, {"vector": whole.vectors[key]}
