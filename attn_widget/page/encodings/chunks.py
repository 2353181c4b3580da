"""Chunks of layers: how the heads of a saved page are coded, and the arrays that hold them.

The layout is in ``docs/protocol.md``, section "Saved pages"; ``js/src/protocol/decode.ts`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Literal

import numpy as np

from attn_widget.page.compress import packed
from attn_widget.page.encodings.codec import (
    MOST_LEVELS,
    EncodedFactors,
    EncodedWeights,
    encode_weights,
)
from attn_widget.page.encodings.factors import encode_factors
from attn_widget.page.encodings.long import encode_layer
from attn_widget.page.encodings.planes import BYTE, Arrays, code_planes, planes
from attn_widget.page.encodings.scores import encode_scores
from attn_widget.protocol.pack import pack
from attn_widget.trace import QKVTrace
from attn_widget.trace.base import LONG_TOKENS

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.figures.arrays import Float32

Code = Literal["weights", "qk"]
Way = tuple[Code, float]  # levels of a weight, or the largest error of a score
Coded = EncodedWeights | EncodedFactors
# The finest first, each with the most numbers of a page that are coded so. At 512 tokens factors of the scores take a
# third of the bytes of weights of the same error, in short texts about as many; everywhere they bring the arithmetic
# of a pair along. Weights are coded as such where a run has no queries and keys. Pages of bert-base's shape: 2.8 MB at 128 tokens, 5.8 at 512.
FINENESS: dict[Code, tuple[tuple[float, float], ...]] = {
    "qk": ((2.4e6, 0.0002), (5e6, 0.001), (inf, 0.005), (inf, 0.05)),  # the first: three digits
    "weights": ((2.4e6, MOST_LEVELS), (5e6, 4095), (2e7, 255), (inf, 63)),
}
# Of the output of a cell: weights to 0.004, one byte each.
LIGHT_WAYS: dict[Code, Way] = {"qk": ("qk", 0.05), "weights": ("weights", BYTE)}
SAMPLED = 3  # heads coded to see what fits a page of a given size
# Up to so many tokens, in numbers of a head, its n^2 scores take fewer bytes than queries and keys.
SCORES_UP_TO = 2


def code_of(analysis: Analysis) -> Code:
    """Factors of the scores where there are queries and keys, else weights.

    Of a long text a bias [n, n] for each head would outweigh them.
    """
    trace = analysis.trace
    if not isinstance(trace, QKVTrace):
        return "weights"
    biased = (trace.bias(layer, 0) is not None for layer in range(trace.n_layers))
    return "weights" if is_long(analysis) and any(biased) else "qk"


def is_long(analysis: Analysis) -> bool:
    """Whether heads are saved in blocks (`attn_widget.page.encodings.long`)."""
    return analysis.n_tokens > LONG_TOKENS


def best_encoding(
    analysis: Analysis,
    layers: Sequence[int],
    heads: Sequence[int],
    *,
    code: Code | None = None,
    most: float | None = None,
) -> Way:
    """The fineness for as many numbers; with ``most``, the finest from there on that takes fewer bytes."""
    code = code or code_of(analysis)
    n, n_heads = analysis.n_tokens, len(layers) * len(heads)
    a_row = n if code == "weights" else min(n, SCORES_UP_TO * analysis.trace.head_dim)
    numbers = n_heads * n * a_row
    ways: list[Way] = [(code, fineness) for limit, fineness in FINENESS[code] if numbers <= limit]
    if most is None:
        return ways[0]
    fitting = (
        way for way in ways[:-1] if mean_bytes(analysis, layers, heads, way) * n_heads <= most
    )
    return next(fitting, ways[-1])


def mean_bytes(analysis: Analysis, layers: Sequence[int], heads: Sequence[int], way: Way) -> float:
    """Compressed bytes of a head in one code, from a few of them."""
    places = [(layer, head) for layer in layers for head in heads]
    apart = max(1, len(places) // SAMPLED)
    sample = places[apart // 2 :: apart]  # the first layer is no middle one
    chunks = (
        chunk for layer, head in sample for chunk in chunks_of_head(analysis, layer, head, way)
    )
    return sum(len(packed(chunk)) for chunk in chunks) / len(sample)


def chunks_of_head(analysis: Analysis, layer: int, head: int, way: Way) -> Iterable[bytes]:
    """The chunks of one head alone."""
    if is_long(analysis):
        return encode_layer(analysis, layer, [head], way).chunks.values()
    coded = encode_heads(analysis, layer, [head], way)
    return [pack({}, layer_arrays(analysis, layer, [head], coded))]


def least_bytes(analysis: Analysis, layers: Sequence[int], heads: Sequence[int]) -> float:
    """Compressed bytes of a head in the coarsest code."""
    code = code_of(analysis)
    return mean_bytes(analysis, layers, heads, (code, FINENESS[code][-1][1]))


def encode_heads(analysis: Analysis, layer: int, heads: Sequence[int], way: Way) -> list[Coded]:
    """Heads of a layer, each coded in one way."""
    code, fineness = way
    if code == "weights":
        return [encode_weights(analysis.attention(layer, head), int(fineness)) for head in heads]
    scaling = analysis.trace.scaling(layer)
    queries = [analysis.queries(layer, head) for head in heads]
    keys = [analysis.keys(layer, head) for head in heads]
    biases = [analysis.trace.bias(layer, head) for head in heads]
    n, head_dim = queries[0].shape
    if n <= SCORES_UP_TO * head_dim:
        chosen = list(heads)
        return [
            *encode_scores(
                np.stack(queries),
                np.stack(keys),
                scaling,
                scores=analysis.trace.layer_scores(layer)[chosen],
                weights=analysis.trace.layer_weights(layer)[chosen],
                bias=stacked(biases, n),
                worst_score=fineness,
            )
        ]
    return [
        encode_factors(
            queries[at],
            keys[at],
            scaling,
            scores=analysis.scores(layer, head),
            weights=analysis.attention(layer, head),
            bias=biases[at],
            worst_score=fineness,
        )
        for at, head in enumerate(heads)
    ]


def stacked(biases: Sequence[Float32 | None], n: int) -> Float32 | None:
    """Bias that the model adds to scores, float32 [H, n, n]; zero for a head without one."""
    if all(bias is None for bias in biases):
        return None
    empty = np.zeros((n, n), dtype=np.float32)
    return np.stack([empty if bias is None else bias for bias in biases])


def layer_arrays(
    analysis: Analysis,
    layer: int,
    heads: Sequence[int],
    coded: Sequence[Coded],
) -> Arrays:
    """The arrays of a layer's chunk."""
    arrays: Arrays = {}
    plain = [one for one in coded if isinstance(one, EncodedWeights)]
    factors = [one for one in coded if isinstance(one, EncodedFactors)]
    if plain:
        arrays |= weight_arrays(plain)
    if factors:
        arrays["rank"] = np.array([one.queries.shape[1] for one in factors], dtype=np.int32)
        arrays["step"] = np.array([one.step for one in factors])
        arrays["shift"] = np.stack([one.shift for one in factors])
        values = [side.T.ravel() for one in factors for side in (one.queries, one.keys)]
        arrays |= planes(np.concatenate(values))
        bias = stacked([analysis.trace.bias(layer, head) for head in heads], analysis.n_tokens)
        if bias is not None:
            arrays["bias"] = bias
    allowed = analysis.trace.allowed(layer)
    if allowed is not None:
        arrays["allowed"] = allowed.astype(np.uint8)
    return arrays


def weight_arrays(coded: Sequence[EncodedWeights]) -> Arrays:
    """One plane of bytes, or the high and the low bytes apart: they compress better so."""
    codes, levels = np.stack([one.codes for one in coded]), coded[0].levels
    return {
        "largest": np.array([one.largest for one in coded]),
        "levels": np.array([float(levels)]),
        **code_planes(codes, levels),
    }
