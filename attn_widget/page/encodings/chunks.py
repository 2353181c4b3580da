"""Chunks of layers: how the heads of a saved page are encoded, and the arrays that hold them.

The layout is in ``docs/protocol.md``, section "Saved pages"; ``js/src/protocol/saved/layers.ts`` reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.figures.arrays import Float32
from attn_widget.page.compress import packed
from attn_widget.page.encodings.codec import (
    MAX_LEVELS,
    EncodedFactors,
    EncodedWeights,
    encode_weights,
)
from attn_widget.page.encodings.corrected import (
    CorrectedFactors,
    corrected_arrays,
    corrected_values,
    encode_corrected,
)
from attn_widget.page.encodings.factors import SCORES_UP_TO, encode_factors
from attn_widget.page.encodings.long import encode_layer, mask_arrays
from attn_widget.page.encodings.planes import BYTE, Arrays, code_planes, planes
from attn_widget.protocol.pack import pack
from attn_widget.trace import QKVTrace
from attn_widget.trace.base import LONG_TOKENS, Trace

Code = Literal["weights", "qk"]
Encoding = tuple[Code, float]  # levels of a weight, or the largest error of a score
Encoded = EncodedWeights | EncodedFactors
# The finest first, each with the most numbers of a page that are encoded so. At 512 tokens factors of the scores take a
# third of the bytes of weights of the same error, in short texts about as many; everywhere they bring the arithmetic
# of a pair along. Weights are encoded as such where a run has no queries and keys. Pages of bert-base's shape: 2.8 MB at 128 tokens, 5.8 at 512.
PRECISIONS: dict[Code, tuple[tuple[float, float], ...]] = {
    "qk": ((2.4e6, 0.0002), (5e6, 0.001), (inf, 0.005), (inf, 0.05)),  # the first: three digits
    "weights": ((2.4e6, MAX_LEVELS), (5e6, 4095), (2e7, 255), (inf, 63)),
}
# Encodings for the output of a cell: weights to 0.004, one byte each.
LIGHT_ENCODINGS: dict[Code, Encoding] = {"qk": ("qk", 0.05), "weights": ("weights", BYTE)}
SCORES = -1  # rank of a head whose scores themselves are stored
SAMPLED = 3  # heads encoded to see what fits a page of a given size
TOGETHER = 128  # tokens, up to which all heads of a layer are encoded at once


def code_of(analysis: Analysis) -> Code:
    """Factors of the scores where there are queries and keys of one text, else weights.

    Of a long text a bias [n, n] for each head would outweigh them. Capped scores are no product of factors, and where there
    is a sink, weights are no softmax over the keys.
    """
    trace = analysis.trace
    if analysis.run is not None and analysis.run.encoding.levels:
        return "weights"
    if not isinstance(trace, QKVTrace) or not trace.square or not trace.plain:
        return "weights"
    biased = (trace.bias(layer, 0) is not None for layer in range(trace.n_layers))
    return "weights" if is_long(analysis) and any(biased) else "qk"


def is_long(analysis: Analysis) -> bool:
    """True if heads are saved in blocks (`attn_widget.page.encodings.long`)."""
    return analysis.trace.n_tokens > LONG_TOKENS and analysis.trace.square


def best_encoding(
    analysis: Analysis,
    layers: Sequence[int],
    heads: Sequence[int],
    *,
    code: Code | None = None,
    most: float | None = None,
) -> Encoding:
    """The fineness for as many numbers; with ``most``, the finest from there on that takes fewer bytes."""
    code = code or code_of(analysis)
    n, n_heads = analysis.trace.n_tokens, len(layers) * len(heads)
    a_row = (
        analysis.trace.n_keys
        if code == "weights"
        else min(n, SCORES_UP_TO * analysis.trace.head_dim)
    )
    numbers = n_heads * n * a_row
    encodings: list[Encoding] = [
        (code, fineness) for limit, fineness in PRECISIONS[code] if numbers <= limit
    ]
    levels = 0 if analysis.run is None else analysis.run.encoding.levels
    if levels:
        return code, levels
    if most is None:
        return encodings[0]
    fitting = (
        encoding
        for encoding in encodings[:-1]
        if mean_bytes(analysis, layers, heads, encoding) * n_heads <= most
    )
    return next(fitting, encodings[-1])


def mean_bytes(
    analysis: Analysis, layers: Sequence[int], heads: Sequence[int], encoding: Encoding
) -> float:
    """Compressed bytes of a head in one code, from a few of them."""
    apart = encoding[0] == "weights" or is_long(analysis)
    places = [
        (layer, group)
        for layer in layers
        for group in ([[head] for head in heads] if apart else groups(analysis.trace, layer, heads))
    ]
    between = max(1, len(places) // SAMPLED)
    sample = places[between // 2 :: between]  # the first layer is no middle one
    chunks = (chunk for place in sample for chunk in chunks_of_heads(analysis, *place, encoding))
    return sum(len(packed(chunk)) for chunk in chunks) / sum(len(group) for _, group in sample)


def chunks_of_heads(
    analysis: Analysis, layer: int, heads: Sequence[int], encoding: Encoding
) -> Iterable[bytes]:
    """The chunks of some heads alone."""
    if is_long(analysis):
        return encode_layer(analysis, layer, heads, encoding).chunks.values()
    encoded = encode_heads(analysis, layer, heads, encoding)
    return [pack({}, layer_arrays(analysis, layer, heads, encoded))]


def encode_heads(
    analysis: Analysis, layer: int, heads: Sequence[int], encoding: Encoding
) -> list[Encoded]:
    """Heads of a layer, in one encoding."""
    code, fineness = encoding
    if code == "weights":
        return [encode_weights(analysis.attention(layer, head), int(fineness)) for head in heads]
    trace, n = analysis.trace, analysis.trace.n_tokens
    allowed = trace.allowed(layer)
    encoded: list[Encoded] = []
    if allowed is not None and n > SCORES_UP_TO * trace.head_dim:
        for batch in groups(trace, layer, heads):
            encoded += encode_corrected(
                np.stack([trace.queries(layer, head) for head in batch]),
                trace.keys(layer, batch[0]),
                trace.scaling(layer),
                allowed=allowed,
                shown=partial(shown_of, trace, layer, batch),
                biases=[trace.bias(layer, head) for head in batch],
                max_score_error=fineness,
            )
        return encoded
    for batch in [[*heads]] if n <= TOGETHER else [[head] for head in heads]:
        if n <= TOGETHER:
            scores, weights = trace.layer_scores(layer)[batch], trace.layer_weights(layer)[batch]
        else:
            scores, weights = (one[None] for one in shown_of(trace, layer, batch, 0))
        encoded += encode_factors(
            np.stack([trace.queries(layer, head) for head in batch]),
            np.stack([trace.keys(layer, head) for head in batch]),
            trace.scaling(layer),
            scores=scores,
            weights=weights,
            bias=stacked([trace.bias(layer, head) for head in batch], n),
            max_score_error=fineness,
        )
    return encoded


def shown_of(trace: Trace, layer: int, heads: Sequence[int], at: int) -> tuple[Float32, Float32]:
    """Scores and weights of one of some heads."""
    return trace.scores(layer, heads[at]), trace.weights(layer, heads[at])


def groups(trace: Trace, layer: int, heads: Sequence[int]) -> list[list[int]]:
    """Heads in runs that have the same keys: grouped heads."""
    runs: list[list[int]] = []
    for head in heads:
        if runs and np.array_equal(trace.keys(layer, head), trace.keys(layer, runs[-1][0])):
            runs[-1].append(head)
        else:
            runs.append([head])
    return runs


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
    encoded: Sequence[Encoded],
) -> Arrays:
    """The arrays of a layer's chunk."""
    arrays: Arrays = {}
    allowed = analysis.trace.allowed(layer)
    plain = [head for head in encoded if isinstance(head, EncodedWeights)]
    factors = [head for head in encoded if isinstance(head, EncodedFactors)]
    if plain:
        arrays |= weight_arrays(plain, allowed)
    if factors:
        ranks = [SCORES if head.keys is None else head.keys.shape[1] for head in factors]
        arrays["rank"] = np.array(ranks, dtype=np.int32)
        arrays["step"] = np.array([head.step for head in factors])
        arrays["shift"] = np.stack([head.shift for head in factors])
        corrected = [head for head in factors if isinstance(head, CorrectedFactors)]
        if corrected:
            arrays |= corrected_arrays(corrected)
            values = corrected_values(corrected)
        else:
            values = [part for head in factors for part in factor_values(head, allowed)]
        arrays |= planes(np.concatenate(values))
        bias = stacked(
            [analysis.trace.bias(layer, head) for head in heads], analysis.trace.n_tokens
        )
        if bias is not None:
            arrays["bias"] = bias
    return arrays | mask_arrays(analysis.trace.mask(layer))


def factor_values(
    head: EncodedFactors, allowed: NDArray[np.bool_] | None
) -> Iterator[NDArray[np.int32]]:
    """The queries and the keys of a head by direction; of scores themselves, the allowed ones by key."""
    if head.keys is not None:
        yield from (head.queries.T.ravel(), head.keys.T.ravel())
    else:
        yield head.queries.T.ravel() if allowed is None else head.queries.T[allowed.T]


def weight_arrays(
    encoded: Sequence[EncodedWeights], allowed: NDArray[np.bool_] | None = None
) -> Arrays:
    """One plane of bytes, or the high and the low bytes apart: they compress better so. With a mask its cells alone."""
    codes, levels = np.stack([head.codes for head in encoded]), encoded[0].levels
    if allowed is not None:
        codes = codes[:, allowed]
    return {
        "largest": np.array([head.largest for head in encoded]),
        "levels": np.array([float(levels)]),
        **code_planes(codes, levels),
    }
