"""Slices of attention between sentences."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.features.sentences.isa import Aggregation
from attn_widget.protocol.handlers import Answer, Arrays, answers
from attn_widget.protocol.request import Request, integer, one_of, optional
from attn_widget.trace.base import LONG_TOKENS


def aggregation_of(analysis: Analysis, request: Request) -> tuple[Aggregation, dict[str, Any]]:
    kind = cast("Aggregation", one_of(request, "aggregation", ("mass", "max")))
    layer = optional(request, "layer", analysis.trace.n_layers)
    return kind, {"layer": layer, "head": optional(request, "head", analysis.trace.n_heads)}


@answers("sentences", needs_tagger=True)
def sentences(analysis: Analysis, request: Request) -> Answer:
    kind, of = aggregation_of(analysis, request)
    sums = analysis.sentences
    arrays: Arrays = {"matrix": sums.matrix(kind, **of)}
    if kind == "mass":
        arrays["elsewhere"] = sums.elsewhere(**of)
    else:
        names = ("layer", "head", "query", "key")
        for name, column in zip(names, sums.witnesses(**of), strict=True):
            arrays[f"witness_{name}"] = column
    possible = possible_sentences(analysis, of["layer"])
    if possible is not None:
        arrays["possible"] = possible
    data = {
        "texts": list(sums.texts),
        "tokens": [list(tokens) for tokens in sums.tokens],
        "note": sums.note,
    }
    if not analysis.trace.square:
        data["key_texts"] = list(sums.key_texts)
        data["key_tokens"] = [list(tokens) for tokens in sums.key_tokens]
    return data, arrays


def possible_sentences(analysis: Analysis, layer: int | None) -> NDArray[np.uint8] | None:
    """Pairs of sentences with a link that the mask allows, of a long text: the page has no mask of it.

    None where it allows all; of a short text the page reads the mask itself.
    """
    if analysis.trace.n_tokens <= LONG_TOKENS or not analysis.trace.square:
        return None
    layers = range(analysis.trace.n_layers) if layer is None else [layer]
    every = [analysis.trace.mask(index) for index in layers]
    masks = list({id(mask): mask for mask in every if mask is not None}.values())
    if any(mask is None for mask in every):
        return None
    sentences = analysis.sentences.tokens
    possible = np.zeros((len(sentences), len(sentences)), dtype=np.uint8)
    for a, queries in enumerate(sentences):
        keys = np.logical_or.reduce([mask[list(queries)].any(axis=0) for mask in masks])
        possible[a] = [keys[list(there)].any() for there in sentences]
    return possible


@answers("drill", needs_tagger=True)
def drill(analysis: Analysis, request: Request) -> Answer:
    kind, of = aggregation_of(analysis, request)
    sums = analysis.sentences
    a = integer(request, "a", 0, len(sums.texts))
    b = integer(request, "b", 0, len(sums.key_texts))
    opened = sums.drill(a, b, kind, **of)
    weights = opened.weights
    layer = of["layer"]
    allowed = None if layer is None else analysis.trace.mask(layer)
    if allowed is not None and analysis.trace.n_tokens > LONG_TOKENS:
        cells = allowed[np.ix_(opened.queries, opened.keys)]
        weights = np.where(cells, weights, np.float32(np.nan))
    arrays: Arrays = {
        "weights": weights,
        "queries": np.array(opened.queries, dtype=np.int32),
        "keys": np.array(opened.keys, dtype=np.int32),
    }
    return {}, arrays
