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

from attn_widget.analysis.rollout import rollout
from attn_widget.errors import NotAvailableError
from attn_widget.export.codec import (
    MOST_LEVELS,
    CodedFactors,
    CodedWeights,
    code_factors,
    code_weights,
    decode_scores,
    decode_weights,
    softmax,
)
from attn_widget.trace import QKVTrace
from attn_widget.widget.pack import pack, unpack
from attn_widget.widget.paint import first_paint
from attn_widget.widget.protocol import answer

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.analysis.arrays import Float32, Head

Code = Literal["weights", "qk"]
Way = tuple[Code, float]  # levels of a weight, or the largest error of a score
Coded = CodedWeights | CodedFactors
Arrays = dict[str, NDArray[Any]]
Asked = dict[str, Any]

LISTED = 20  # tokens of an opened softmax that a page can list
MOST_SENTENCES = 40  # beyond, the matrices of every layer outweigh the attention itself
# From the finest on; the last two are the smallest for short and for long texts.
WAYS: tuple[Way, ...] = (
    ("qk", 0.0002),  # three digits of every weight
    ("weights", MOST_LEVELS),
    ("qk", 0.005),
    ("weights", 4095),
    ("qk", 0.02),
    ("weights", 1023),
    ("qk", 0.05),
    ("weights", 255),
)
# Recorded for the output of a cell: what takes milliseconds.
LIGHT: tuple[Asked, ...] = (
    {"kind": "language"},
    {"kind": "specialization"},
    {"kind": "patterns"},
    {"kind": "layer_change"},
    {"kind": "metrics", "tau": 0.01},
    {"kind": "predictions", "mode": "as_is", "top_k": 5},
    {"kind": "classification"},
    {"kind": "next_sentence"},
    {"kind": "first_token", "head": "mean"},
    {"kind": "sentences", "aggregation": "mass"},
    {"kind": "sentences", "aggregation": "max"},
)
SAMPLED = 2  # heads coded in every way to find the one that fits
BYTE = 255  # levels
DEFLATE = 9
# Compressed bytes of attention: a page of 2.5 MB at 128 tokens, of 13 MB at 512.
BYTES_A_TOKEN, BYTES_A_CELL = 8_500, 18
# What a page of a short text may hold, compressed, the widget's own script left aside; tensors of the
# view Inside take what attention leaves of it.
SHORT_BYTES = 720_000
ROUNDING = 1e-6  # rollout in float32 and another order
PACKED = 0.93  # of float32 numbers, compressed


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
    rollout_error : float or None
        The same of rollout, as far as the saved layers reach; None when they leave out the first.
    """

    chunks: dict[str, bytes]
    code: Code
    error: float
    score_error: float | None
    rollout_error: float | None


def snapshot(
    analysis: Analysis,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    views: Sequence[str],
    selection: Mapping[str, Any],
    title: str,
    code: Code | None = None,
    light: bool = False,
    tensors: float = 1.0,
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
        By default the finest code that fits the text's budget, or else the smallest.
    tensors : float
        Share of the room of a short page that tensors of the view Inside may take: many texts share one.
    light : bool
        The coarsest code and `LIGHT` alone: quick to make and small, for the output of a cell.
    """
    kept_layers = list(range(analysis.n_layers)) if layers is None else sorted(set(layers))
    kept_heads = list(range(analysis.n_heads)) if heads is None else sorted(set(heads))
    chosen = dict(selection)
    if chosen["layer"] not in kept_layers:
        chosen["layer"] = kept_layers[0]
    if chosen["head"] not in (*kept_heads, "mean"):
        chosen["head"] = kept_heads[0]
    with analysis.lock:
        way = best_way(analysis, kept_layers, kept_heads, code, WAYS[-2:] if light else WAYS)
        chunks: dict[str, bytes] = {}
        errors: list[float] = []
        score_errors: list[float] = []
        means: list[Float32] = []
        for layer in kept_layers:
            coded = [code_head(analysis, layer, head, way) for head in kept_heads]
            errors += [one.error for one in coded]
            score_errors += [one.score_error for one in coded if isinstance(one, CodedFactors)]
            arrays = layer_arrays(analysis, layer, kept_heads, coded)
            if len(kept_heads) < analysis.n_heads:
                mean = code_weights(analysis.attention(layer, "mean"), MOST_LEVELS)
                arrays |= {f"mean_{name}": array for name, array in weight_arrays([mean]).items()}
                means.append(decode_weights(mean))
            else:
                means.append(mean_of(analysis, layer, kept_heads, coded))
            chunks[f"layer-{layer}"] = pack({"layer": layer}, arrays)
        error = max(errors, default=0.0)
        score_error = max(score_errors, default=None)
        rollout_error = error_of_rollout(analysis, kept_layers, means)
        about = {
            "code": way[0],
            "levels": way[1] if way[0] == "weights" else None,
            "layers": kept_layers,
            "heads": kept_heads,
            "error": error,
            "score_error": score_error,
            "rollout_error": rollout_error,
            "scaling": scalings(analysis, kept_layers),
            "views": list(views),
            "selection": chosen,
            "title": title,
        }
        used = sum(len(zlib.compress(chunk, 1)) for chunk in chunks.values())
        room = 0 if light else tensors * (SHORT_BYTES - used) / PACKED
        requests = LIGHT if light else wanted(analysis)
        chunks["paint"] = paint(analysis, chosen["layer"], chosen["head"], about, requests, room)
    return Snapshot(chunks, way[0], error, score_error, rollout_error)


def scalings(analysis: Analysis, layers: Sequence[int]) -> list[float | None]:
    """Of each layer; None where only weights are known."""
    try:
        return [analysis.trace.scaling(layer) for layer in layers]
    except NotAvailableError:
        return [None] * len(layers)


def mean_of(
    analysis: Analysis, layer: int, heads: Sequence[int], coded: Sequence[Coded]
) -> Float32:
    """The mean matrix that a reader sees."""
    total = np.zeros((analysis.n_tokens, analysis.n_tokens))
    allowed = analysis.trace.allowed(layer)
    for head, one in zip(heads, coded, strict=True):
        if isinstance(one, CodedWeights):
            total += decode_weights(one)
        else:
            bias = analysis.trace.bias(layer, head)
            scores = decode_scores(one) + np.float32(0 if bias is None else bias)
            total += softmax(scores.astype(np.float64), allowed)
    return (total / len(heads)).astype(np.float32)


def error_of_rollout(
    analysis: Analysis, layers: Sequence[int], means: Sequence[Float32]
) -> float | None:
    """The largest error of rollout through the layers that follow the first without a gap."""
    reach = 0
    while reach < len(layers) and layers[reach] == reach:
        reach += 1
    steps = rollout(means[:reach]) if reach else []
    errors = [
        float(np.abs(step - analysis.rollout(layer)).max()) for layer, step in enumerate(steps)
    ]
    return max(errors) + ROUNDING if errors else None


def budget(n: int) -> float:
    """Compressed bytes that all heads may take."""
    return BYTES_A_TOKEN * n + BYTES_A_CELL * n**2


def best_way(
    analysis: Analysis,
    layers: Sequence[int],
    heads: Sequence[int],
    code: Code | None = None,
    ways: Sequence[Way] = WAYS,
) -> Way:
    """Code a few heads in every way; the finest that fits the budget, else the smallest."""
    ways = [way for way in ways if code in (None, way[0])]
    if not isinstance(analysis.trace, QKVTrace):  # its scores are not those of queries and keys
        ways = [way for way in ways if way[0] == "weights"]
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
        if sizes[way] <= budget(analysis.n_tokens):
            return way
    return min(sizes, key=lambda way: sizes[way])


def code_head(analysis: Analysis, layer: int, head: int, way: Way) -> Coded:
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
    coded: Sequence[Coded],
) -> Arrays:
    """The arrays of a layer's chunk."""
    arrays: Arrays = {}
    plain = [one for one in coded if isinstance(one, CodedWeights)]
    factors = [one for one in coded if isinstance(one, CodedFactors)]
    if plain:
        arrays |= weight_arrays(plain)
    if factors:
        arrays["rank"] = np.array([one.queries.shape[1] for one in factors], dtype=np.int32)
        arrays["step"] = np.array([one.step for one in factors])
        arrays["shift"] = np.stack([one.shift for one in factors])
        values = [side.T.ravel() for one in factors for side in (one.queries, one.keys)]
        arrays |= planes(np.concatenate(values))
        biases = [analysis.trace.bias(layer, head) for head in heads]
        if any(bias is not None for bias in biases):
            empty = np.zeros((analysis.n_tokens, analysis.n_tokens), dtype=np.float32)
            arrays["bias"] = np.stack([empty if bias is None else bias for bias in biases])
    allowed = analysis.trace.allowed(layer)
    if allowed is not None:
        arrays["allowed"] = allowed.astype(np.uint8)
    return arrays


def weight_arrays(coded: Sequence[CodedWeights]) -> Arrays:
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


def paint(
    analysis: Analysis,
    layer: int,
    head: Head,
    about: Mapping[str, Any],
    requests: Iterable[Asked],
    room: float,
) -> bytes:
    """The first paint with what was recorded; ``room`` is for tensors, bytes not compressed."""
    meta, arrays = unpack(first_paint(analysis, layer, head))
    # The selected head comes from its layer's chunk like all others: one source, one error.
    meta["selected"] = None
    for name in ("weights", "allowed"):
        arrays.pop(name, None)
    recorded: list[dict[str, Any]] = []

    def keep(request: Asked, data: Any, found: Arrays) -> None:
        names = {name: f"recorded:{len(recorded)}:{name}" for name in found}
        arrays.update({names[name]: array for name, array in found.items()})
        recorded.append({"request": request, "data": data, "arrays": names})

    for request in requests:
        for answered in record(analysis, request):
            keep(*answered)
    # Tensors in groups: a page has the whole of a group, or says that it needs a kernel.
    for group in inside_groups(analysis, layer, about["heads"], room) if room > 0 else ():
        room -= 4 * sum(cells for _, cells in group)
        if room < 0:
            break
        for request, cells in group:
            for answered in record(analysis, request, cells):
                keep(*answered)
    return pack({**meta, "snapshot": dict(about), "recorded": recorded}, arrays)


def record(
    analysis: Analysis, request: Asked, cells: int = 0
) -> Iterator[tuple[Asked, dict[str, Any], Arrays]]:
    """The kernel's own answer; what it refuses is left out, and refused again by the page.

    A tensor's columns are as many as ``cells`` allow: the page asks for a window of fixed width and takes
    what there is.
    """
    asked = {**request}
    if request["kind"] == "tensor":
        shape = shape_of(analysis, request)
        if shape is None:
            return
        rows = min(request.get("rows", [0, shape[0]])[1], shape[0])
        asked |= {"rows": [0, rows], "cols": [0, min(cells // rows, shape[1])]}
        if "rows" in request:  # of a table, whose size the page knows
            request = asked
    reply, buffers = answer(analysis, asked)
    if not reply["ok"]:
        return
    data = reply["data"]
    if request["kind"] == "architecture":
        # A page may lack the tensors whose widths stand on the map.
        shapes = {name: shape_of(analysis, of) for name, of in WIDTHS.items()}
        widths = {name: shape[1] for name, shape in shapes.items() if shape is not None}
        data = {**data, "widths": widths}
    arrays: Arrays = {
        head["name"]: np.frombuffer(data, dtype=head["dtype"]).reshape(head["shape"])
        for head, data in zip(reply["arrays"], buffers, strict=True)
    }
    yield request, data, arrays


WIDTHS: dict[str, Asked] = {
    "norm": {"name": "norm"},
    "attention_output": {"name": "attention_output", "layer": 0},
    "ffn_activation": {"name": "ffn_activation", "layer": 0},
}


def shape_of(analysis: Analysis, request: Asked) -> list[int] | None:
    """Of the whole tensor; None where the model has none."""
    one = {**request, "kind": "tensor", "rows": [0, 1], "cols": [0, 1]}
    reply, _ = answer(analysis, one)
    return reply["data"]["shape"] if reply["ok"] else None


def wanted(analysis: Analysis) -> Iterator[Asked]:
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
    if analysis.run is not None and analysis.run.masked_known:
        yield {"kind": "predictions", "mode": "masked", "top_k": LISTED}
    yield {"kind": "first_token", "head": "mean"}
    if len(analysis.sentences.texts) <= MOST_SENTENCES:
        for aggregation in ("mass", "max"):
            yield {"kind": "sentences", "aggregation": aggregation}
            for layer in range(analysis.n_layers):
                yield {"kind": "sentences", "aggregation": aggregation, "layer": layer}


WINDOW = {"ffn_activation": 96, "query": 48, "key": 48, "value": 48}  # definitions, section 8
WINDOW_ELSE = 64
LEAST_POSITIONS, MOST_POSITIONS = 16, 64
SHARE_OF_FFN = 0.5  # of the room for tensors, at most for all units of the selected layer
Group = list[tuple[Asked, int]]  # requests with the numbers in their answers


def inside_groups(
    analysis: Analysis, selected: int, heads: Sequence[int], room: float
) -> Iterator[Group]:
    """The model's tensors, the first columns of each, in the order in which a page should have them."""
    from attn_widget.widget.slices_inside import EMBEDDINGS, LAYER, TABLES

    n = analysis.n_tokens
    if analysis.run is not None:

        def window(name: str, **of: int) -> tuple[Asked, int]:
            columns = WINDOW.get(name, WINDOW_ELSE)
            return {"kind": "tensor", "name": name, **of, "cols": [0, columns]}, n * columns

        rows = min(max(n, LEAST_POSITIONS), MOST_POSITIONS)
        tables: Group = [
            (
                {"kind": "tensor", "name": name, "rows": [0, rows], "cols": [0, WINDOW_ELSE]},
                rows * WINDOW_ELSE,
            )
            for name in TABLES
        ]
        yield [window(name) for name in EMBEDDINGS]
        yield tables
        yield [window("hidden", layer=layer) for layer in range(analysis.n_layers + 1)]
        order = sorted(range(analysis.n_layers), key=lambda layer: (layer != selected, layer))
        for layer in order:
            parts = [window(name, layer=layer) for name in LAYER]
            width = (shape_of(analysis, WIDTHS["ffn_activation"]) or [n, 0])[1]
            if layer == selected and 4 * n * width < SHARE_OF_FFN * room:
                # Its units are ranked, which takes all of them.
                parts = [
                    (request, n * width if request["name"] == "ffn_activation" else cells)
                    for request, cells in parts
                ]
            yield parts
    else:
        order = sorted(range(analysis.n_layers), key=lambda layer: (layer != selected, layer))
    width = 3 * analysis.trace.head_dim
    for layer in order:
        yield [({"kind": "qkv", "layer": layer, "head": head}, n * width) for head in heads]
    if not isinstance(analysis.trace, QKVTrace) and analysis.trace.has_scores:
        for layer in order:  # the code has weights alone
            yield [({"kind": "scores", "layer": layer, "head": head}, n * n) for head in heads]
