"""Chunks of layers: how the heads of a saved page are coded, and the arrays that hold them.

The layout is in ``docs/protocol.md``, section "Saved pages"; ``js/src/protocol/decode.ts`` reads it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.page.encodings.codec import (
    MOST_LEVELS,
    EncodedFactors,
    EncodedWeights,
    encode_weights,
)
from attn_widget.page.encodings.factors import encode_factors
from attn_widget.page.encodings.scores import encode_scores
from attn_widget.protocol.pack import pack
from attn_widget.trace import QKVTrace

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.figures.arrays import Float32

Code = Literal["weights", "qk"]
Way = tuple[Code, float]  # levels of a weight, or the largest error of a score
Coded = EncodedWeights | EncodedFactors
Arrays = dict[str, NDArray[Any]]

# The best first: scores, and with them the arithmetic of a pair, are worth more than further digits of
# weights. The last two are the smallest for short and for long texts.
ENCODINGS: tuple[Way, ...] = (
    ("qk", 0.0002),  # three digits of every weight
    ("qk", 0.001),
    ("qk", 0.005),
    ("weights", MOST_LEVELS),
    ("weights", 4095),
    ("qk", 0.02),
    ("weights", 1023),
    ("qk", 0.05),
    ("weights", 255),
)
# Where nothing else fits: weights held as such, or a page of a given size.
COARSE: tuple[Way, ...] = (("weights", 127), ("weights", 63), ("weights", 31))
SAMPLED = 2  # heads coded in every way to find the one that fits
BYTE = 255  # levels
# Up to so many tokens, in numbers of a head, its n^2 scores take fewer bytes than queries and keys.
SCORES_UP_TO = 2
# Compressed bytes of attention: a page of 2.5 MB at 128 tokens, of 13 MB at 512.
BYTES_A_TOKEN, BYTES_A_CELL = 8_500, 18


def budget(n: int) -> float:
    """Compressed bytes that all heads may take."""
    return BYTES_A_TOKEN * n + BYTES_A_CELL * n**2


def best_encoding(
    analysis: Analysis,
    layers: Sequence[int],
    heads: Sequence[int],
    *,
    code: Code | None = None,
    ways: Sequence[Way] = ENCODINGS,
    most: float | None = None,
) -> Way:
    """Code a few heads in every way; the best that fits the budget, else the smallest."""
    room = budget(analysis.n_tokens)
    room = room if most is None else min(room, most)
    if most is not None or not isinstance(analysis.trace, QKVTrace):
        ways = [*ways, *COARSE]
    ways = [way for way in ways if code in (None, way[0])]
    if not isinstance(analysis.trace, QKVTrace):  # its scores are not those of queries and keys
        ways = [way for way in ways if way[0] == "weights"]
    sizes: dict[Way, float] = {}
    for way in ways:
        sizes[way] = mean_bytes(analysis, layers, heads, way) * len(layers) * len(heads)
        if sizes[way] <= room:
            return way
    return min(sizes, key=lambda way: sizes[way])


def mean_bytes(analysis: Analysis, layers: Sequence[int], heads: Sequence[int], way: Way) -> float:
    """Compressed bytes of a head in one code, from a few of them."""
    places = [(layer, head) for layer in layers for head in heads]
    sample = places[:: max(1, len(places) // SAMPLED)]
    chunks = (
        pack({}, layer_arrays(analysis, layer, [head], encode_heads(analysis, layer, [head], way)))
        for layer, head in sample
    )
    return sum(len(zlib.compress(chunk, 6)) for chunk in chunks) / len(sample)


def least_bytes(analysis: Analysis, layers: Sequence[int], heads: Sequence[int]) -> float:
    """Compressed bytes of a head in the smallest code."""
    ways = [way for way in (ENCODINGS[-2], COARSE[-1])
            if way[0] == "weights" or isinstance(analysis.trace, QKVTrace)]  # fmt: skip
    return min(mean_bytes(analysis, layers, heads, way) for way in ways)


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
    codes = np.stack([one.codes for one in coded])
    arrays: Arrays = {"largest": np.array([one.largest for one in coded])}
    levels = coded[0].levels
    arrays["levels"] = np.array([float(levels)])
    if levels > BYTE:
        arrays["codes"], arrays["fine"] = (codes >> 8).astype(np.uint8), codes.astype(np.uint8)
    else:
        arrays["codes"] = codes.astype(np.uint8)
    return arrays


def planes(values: NDArray[np.int32]) -> Arrays:
    """Bytes of zigzag numbers, lowest first: small ones of either sign have high bytes of zero.

    Examples
    --------
    >>> found = planes(np.array([0, -1, 1, -200], dtype=np.int32))
    >>> {name: plane.tolist() for name, plane in found.items()}
    {'low': [0, 1, 2, 143], 'high': [0, 0, 0, 1]}
    """
    zigzag = np.where(values < 0, -2 * values - 1, 2 * values)
    arrays: Arrays = {"low": (zigzag & 255).astype(np.uint8)}
    arrays["high"] = (zigzag >> 8 & 255).astype(np.uint8)
    if (zigzag >> 16).any():
        arrays["top"] = (zigzag >> 16).astype(np.uint8)
    return arrays
