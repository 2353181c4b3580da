"""What a saved page carries: the first paint, the slices worth recording, and all chosen heads in code.

The layout is in ``docs/architecture.md``, section "Saved pages"; ``js/src/source/snapshot.ts`` reads it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.export.codec import CodedFactors, CodedWeights, code_factors, code_weights
from attn_widget.trace import QKVTrace
from attn_widget.widget.pack import pack, unpack
from attn_widget.widget.paint import first_paint
from attn_widget.widget.protocol import answer

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.analysis.arrays import Head

Code = Literal["weights", "qk"]
Way = tuple[Code, float]  # bits of a weight, or the largest error of a score
Arrays = dict[str, NDArray[Any]]

LISTED = 20  # tokens of an opened softmax that a page can list
MOST_SENTENCES = 40  # beyond, the matrices of every layer outweigh the attention itself
WINDOW = {"ffn_activation": 96, "query": 48, "key": 48, "value": 48}  # definitions, section 8
WINDOW_ELSE = 64
INSIDE_BYTES = 400_000  # of tensors, uncompressed; a longer text leaves them to a kernel
SAMPLED = 2  # heads coded in every way to find the one that fits
# From the finest on; the last two are the smallest for short and for long texts.
WAYS: tuple[Way, ...] = (
    ("weights", 16),
    ("qk", 0.0005),
    ("qk", 0.005),
    ("weights", 8),
    ("qk", 0.05),
)
BUDGET = 12_000  # compressed bytes of attention a token: 1.5 MB at 128, 6.1 MB at 512
DEFLATE = 9
BYTE = 8  # bits


@dataclass(frozen=True)
class Snapshot:
    """The chunks of one run, each a pack.

    Attributes
    ----------
    chunks : dict of str to bytes
        ``"paint"`` and ``"layer-<l>"``, not compressed.
    code : {"weights", "qk"}
    error : float
        No weight that the page shows is off by more.
    score_error : float or None
        The same of scores; None when the page has none.
    """

    chunks: dict[str, bytes]
    code: Code
    error: float
    score_error: float | None


def snapshot(
    analysis: Analysis,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    views: Sequence[str],
    selection: Mapping[str, Any],
    title: str,
    code: Code | None = None,
) -> Snapshot:
    """Pack a run for a page without a kernel.

    Parameters
    ----------
    analysis : Analysis
    layers, heads : sequence of int, optional
        Whose weights go along; by default all.
    views : sequence of str
        Names of the tabs.
    selection : mapping
        The widget's traits; its layer and head are moved to one that is saved.
    title : str
    code : {"weights", "qk"}, optional
        By default the finest code that fits into ``BUDGET``, or else the smallest.
    """
    kept_layers = list(range(analysis.n_layers)) if layers is None else sorted(set(layers))
    kept_heads = list(range(analysis.n_heads)) if heads is None else sorted(set(heads))
    chosen = dict(selection)
    if chosen["layer"] not in kept_layers:
        chosen["layer"] = kept_layers[0]
    if chosen["head"] not in (*kept_heads, "mean"):
        chosen["head"] = kept_heads[0]
    with analysis.lock:
        way = best_way(analysis, kept_layers, kept_heads, code)
        chunks: dict[str, bytes] = {}
        errors: list[float] = []
        score_errors: list[float] = []
        for layer in kept_layers:
            coded = [code_head(analysis, layer, head, way) for head in kept_heads]
            errors += [one.error for one in coded]
            score_errors += [one.score_error for one in coded if isinstance(one, CodedFactors)]
            arrays = layer_arrays(analysis, layer, kept_heads, coded)
            chunks[f"layer-{layer}"] = pack({"layer": layer}, arrays)
        error = max(errors, default=0.0)
        score_error = max(score_errors, default=None)
        about = {
            "code": way[0],
            "layers": kept_layers,
            "heads": kept_heads,
            "error": error,
            "score_error": score_error,
            "views": list(views),
            "selection": chosen,
            "title": title,
        }
        chunks["paint"] = paint(analysis, chosen["layer"], chosen["head"], about)
    return Snapshot(chunks, way[0], error, score_error)


def best_way(
    analysis: Analysis, layers: Sequence[int], heads: Sequence[int], code: Code | None = None
) -> Way:
    """Code a few heads in every way; the finest that fits the budget, else the smallest."""
    ways = [way for way in WAYS if code in (None, way[0])]
    if not isinstance(analysis.trace, QKVTrace):  # its scores are not those of queries and keys
        ways = [way for way in WAYS if way[0] == "weights"]
    places = [(layer, head) for layer in layers for head in heads]
    sample = places[:: max(1, len(places) // SAMPLED)]
    sizes: dict[Way, float] = {}
    for way in ways:
        chunks = (
            pack({}, layer_arrays(analysis, layer, [head], [code_head(analysis, layer, head, way)]))
            for layer, head in sample
        )
        mean = sum(len(zlib.compress(chunk, 6)) for chunk in chunks) / len(sample)
        sizes[way] = mean * len(places)
        if sizes[way] <= BUDGET * analysis.n_tokens:
            return way
    return min(sizes, key=lambda way: sizes[way])


def code_head(analysis: Analysis, layer: int, head: int, way: Way) -> CodedWeights | CodedFactors:
    code, fineness = way
    if code == "weights":
        return code_weights(analysis.attention(layer, head), int(fineness))
    return code_factors(
        analysis.queries(layer, head),
        analysis.keys(layer, head),
        analysis.trace.scaling(layer),
        bias=analysis.trace.bias(layer, head),
        allowed=analysis.trace.allowed(layer),
        worst_score=fineness,
    )


def layer_arrays(
    analysis: Analysis,
    layer: int,
    heads: Sequence[int],
    coded: Sequence[CodedWeights | CodedFactors],
) -> Arrays:
    """The arrays of a layer's chunk."""
    arrays: Arrays = {}
    plain = [one for one in coded if isinstance(one, CodedWeights)]
    factors = [one for one in coded if isinstance(one, CodedFactors)]
    if plain:
        codes = np.stack([one.codes for one in plain])
        if plain[0].bits > BYTE:
            arrays["codes"], arrays["fine"] = (
                (codes >> BYTE).astype(np.uint8),
                codes.astype(np.uint8),
            )
        else:
            arrays["codes"] = codes.astype(np.uint8)
        arrays["largest"] = np.array([one.largest for one in plain])
    if factors:
        arrays["rank"] = np.array([one.queries.shape[1] for one in factors], dtype=np.int32)
        arrays["step"] = np.array([one.step for one in factors])
        arrays["shift"] = np.stack([one.shift for one in factors])
        values = [side.T.ravel() for one in factors for side in (one.queries, one.keys)]
        arrays["low"], arrays["high"] = planes(np.concatenate(values))
        biases = [analysis.trace.bias(layer, head) for head in heads]
        if any(bias is not None for bias in biases):
            empty = np.zeros((analysis.n_tokens, analysis.n_tokens), dtype=np.float32)
            arrays["bias"] = np.stack([empty if bias is None else bias for bias in biases])
    allowed = analysis.trace.allowed(layer)
    if allowed is not None:
        arrays["allowed"] = allowed.astype(np.uint8)
    return arrays


def planes(values: NDArray[np.int16]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Low and high bytes of zigzag numbers: small ones of either sign have a high byte of zero.

    Examples
    --------
    >>> low, high = planes(np.array([0, -1, 1, -200], dtype=np.int16))
    >>> low.tolist(), high.tolist()
    ([0, 1, 2, 143], [0, 0, 0, 1])
    """
    wide = values.astype(np.int32)
    zigzag = np.where(wide < 0, -2 * wide - 1, 2 * wide)
    return (zigzag & 255).astype(np.uint8), (zigzag >> 8).astype(np.uint8)


def paint(analysis: Analysis, layer: int, head: Head, about: Mapping[str, Any]) -> bytes:
    """The first paint with what was recorded."""
    meta, arrays = unpack(first_paint(analysis, layer, head))
    # The selected head comes from its layer's chunk like all others: one source, one error.
    meta["selected"] = None
    for name in ("weights", "allowed"):
        arrays.pop(name, None)
    recorded: list[dict[str, Any]] = []
    for request, data, found in record(analysis, wanted(analysis)):
        names = {name: f"recorded:{len(recorded)}:{name}" for name in found}
        arrays.update({names[name]: array for name, array in found.items()})
        recorded.append({"request": request, "data": data, "arrays": names})
    return pack({**meta, "snapshot": dict(about), "recorded": recorded}, arrays)


def record(
    analysis: Analysis, requests: Iterable[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any], Arrays]]:
    """The kernel's own answers; a request that it refuses is left out, and refused again by the page."""
    for request in requests:
        reply, buffers = answer(analysis, request)
        if reply["ok"]:
            arrays: Arrays = {
                head["name"]: np.frombuffer(data, dtype=head["dtype"]).reshape(head["shape"])
                for head, data in zip(reply["arrays"], buffers, strict=True)
            }
            yield request, reply["data"], arrays


def wanted(analysis: Analysis) -> Iterator[dict[str, Any]]:
    """Slices that no reader can compute from attention, and small ones that he need not."""
    kinds = (
        "language", "specialization", "layer_change", "hidden_path", "residuals", "architecture",
        "classification", "next_sentence", "patterns",
    )  # fmt: skip
    yield from ({"kind": kind} for kind in kinds)
    yield {"kind": "roles", "seed": 0}
    yield {"kind": "roles"}
    yield from ({"kind": "metrics", "tau": tau} for tau in (0.01, "uniform"))
    yield {"kind": "predictions", "mode": "as_is", "top_k": LISTED}
    yield {"kind": "first_token", "head": "mean"}
    if len(analysis.sentences.texts) <= MOST_SENTENCES:
        for aggregation in ("mass", "max"):
            yield {"kind": "sentences", "aggregation": aggregation}
            for layer in range(analysis.n_layers):
                yield {"kind": "sentences", "aggregation": aggregation, "layer": layer}
    yield from inside_windows(analysis)


def inside_windows(analysis: Analysis) -> list[dict[str, Any]]:
    """The first columns of the model's tensors, for a text short enough to carry them."""
    from attn_widget.widget.slices_inside import EMBEDDINGS, LAYER

    if analysis.run is None:
        return []
    found: list[dict[str, Any]] = [
        {"kind": "tensor", "name": name, "cols": [0, WINDOW_ELSE]} for name in EMBEDDINGS
    ]
    for layer in range(analysis.n_layers):
        for name in LAYER:
            columns = [0, WINDOW.get(name, WINDOW_ELSE)]
            found.append({"kind": "tensor", "name": name, "layer": layer, "cols": columns})
    cells = sum(request["cols"][1] for request in found) * analysis.n_tokens
    return found if cells * 4 <= INSIDE_BYTES else []
