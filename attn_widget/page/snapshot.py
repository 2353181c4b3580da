"""Content of a saved page: the first paint, recorded slices, and all chosen heads, encoded.

The layout is in ``docs/protocol.md``, section "Saved pages"; ``js/src/protocol/saved/source.ts`` reads it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import lock_of
from attn_widget.analysis.long.detail import ROLLOUT_TOKENS
from attn_widget.errors import NotAvailableError
from attn_widget.features import declared, loaded
from attn_widget.figures.arrays import Float32
from attn_widget.figures.catalog.choices import VIEWS
from attn_widget.figures.rollout import rollout
from attn_widget.host.threads import one_blas_thread
from attn_widget.page.compress import deflate_all
from attn_widget.page.encodings.chunks import (
    LIGHT_ENCODINGS,
    Code,
    Encoding,
    best_encoding,
    code_of,
    encode_heads,
    is_long,
    layer_arrays,
    weight_arrays,
)
from attn_widget.page.encodings.codec import MAX_LEVELS, EncodedFactors, encode_weights
from attn_widget.page.encodings.long import encode_layer
from attn_widget.page.mixing_matrices import MixingMatrices, has, mixing_matrices
from attn_widget.page.recorded import Answered, light_requests, record, replied, wanted
from attn_widget.page.room import of_heads
from attn_widget.page.spec import WHOLE, PageSpec
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import pack, unpack
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Source
from attn_widget.trace import QKVTrace

# Size budget of a short text's page, compressed, without the widget's own script; tensors of the
# model take what attention leaves of it.
SHORT_BYTES = 720_000
ROUNDING = 1e-6  # rollout in float32 and another order
PACKED = 0.93  # of float32 numbers, compressed


class RecordsView(Protocol):
    """Function that a feature's ``recorded`` name: the answers that a view needs, where ``chosen`` is selected; none, and the page is without it."""

    def __call__(
        self, analysis: Analysis, chosen: Mapping[str, Any], spec: PageSpec, /
    ) -> list[Answered]: ...


class FillsRoom(Protocol):
    """Function that a feature's ``fills`` name: answers that a view needs as far as there is room, ``budget`` bytes, and those of `of_heads`."""

    def __call__(
        self,
        analysis: Analysis,
        chosen: Mapping[str, Any],
        spec: PageSpec,
        heads: Sequence[int],
        budget: float,
        /,
    ) -> Iterable[Answered]: ...


class CarriesAnswers(Protocol):
    """Function that a feature's ``carried`` name: answers that were asked for in a view, if any."""

    def __call__(
        self, analysis: Analysis, chosen: Mapping[str, Any], spec: PageSpec, /
    ) -> Iterable[Answered]: ...


@dataclass(frozen=True)
class Snapshot:
    """The chunks of one run, each a pack."""

    # ``"paint"`` and ``"layer-<l>"``, not compressed; first those that the page opens with.
    chunks: dict[str, bytes]
    code: Code | None  # {"weights", "qk"} or None; None: a profile, which has no weights
    error: float  # no weight that the page shows is off by more
    score_error: float | None  # the same of scores; None when the page has none
    # The same of rollout, as far as the saved layers reach; None when they leave out the first.
    rollout_error: float | None

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """The chunks as the page carries them, compressed; they count against a page's size before they are written."""
        return dict(zip(self.chunks, deflate_all(self.chunks.values()), strict=True))


def snapshot(
    analysis: Analysis,
    selection: Mapping[str, Any],
    spec: PageSpec = WHOLE,
    *,
    code: Code | None = None,
    parts: Sequence[str] | None = None,
) -> Snapshot:
    """Pack a run for a page without a kernel.

    ``selection``: the widget's traits; its layer and head are moved to one that is saved. ``spec``: what of the
    run, and in how much room. ``code``, {"weights", "qk"}: by default factors of the scores where there are queries
    and keys. ``parts``: parts of an encoder-decoder that the page has; by default this one alone.
    """
    layers, heads, light = spec.layers, spec.heads, spec.light
    views = list(VIEWS) if spec.views is None else list(spec.views)
    kept_layers = list(range(analysis.trace.n_layers)) if layers is None else sorted(set(layers))
    kept_heads = list(range(analysis.trace.n_heads)) if heads is None else sorted(set(heads))
    chosen, two_texts = dict(selection), analysis.part != "self"
    if two_texts:
        chosen["part"] = analysis.part
        if chosen["view"] not in views:
            chosen["view"] = views[0]
    if chosen["layer"] not in kept_layers:
        chosen["layer"] = kept_layers[0]
    long, lacks_heads = is_long(analysis), len(kept_heads) < analysis.trace.n_heads
    if chosen["head"] not in (*kept_heads, *(() if long and lacks_heads else ("mean",))):
        chosen["head"] = kept_heads[0]
    with lock_of(analysis), one_blas_thread():
        encoding = (
            LIGHT_ENCODINGS[code or code_of(analysis)]
            if light
            else best_encoding(analysis, kept_layers, kept_heads, code=code, most=spec.most)
        )
        attention = encode_attention(analysis, kept_layers, kept_heads, encoding)
        chunks = attention.chunks
        error = max(attention.errors, default=0.0)
        score_error = max(attention.score_errors, default=None)
        rollout_error = error_of_rollout(analysis, kept_layers, attention.means)
        used = sum(len(zlib.compress(chunk, 1)) for chunk in chunks.values())
        budget = 0 if light else spec.tensors * (SHORT_BYTES - used) / PACKED
        # No view of a long text shows them.
        mixed = MixingMatrices() if long else mixing_matrices(analysis, chosen, kept_layers, budget)
        budget -= mixed.bytes
        opens = opens_on(analysis, chosen, kept_layers, encoding[0], light=light)
        if long and chosen["quantity"] == "rollout":
            opens = rollout_error is not None
        if not (opens and has(chosen, mixed)):
            chosen["quantity"] = "weights"
        about = {
            "code": encoding[0],
            "levels": encoding[1] if encoding[0] == "weights" else None,
            "mean_levels": MAX_LEVELS if lacks_heads and not long else None,
            "layers": kept_layers,
            "heads": kept_heads,
            "error": error,
            "score_error": score_error,
            "rollout_error": rollout_error,
            "mixing_errors": mixed.errors,
            "scaling": scalings(analysis, kept_layers),
            "views": views,
            "selection": chosen,
            "title": spec.title or "",
        }
        if spec.left_out:
            about["left_out"] = spec.left_out
        others = ({"kind": "beside"},) if analysis.model.compare_with else ()
        requests = (
            (*light_requests(analysis), *others)
            if light
            else wanted(analysis, masked=spec.masked and "predictions" in views)
        )
        answers = chain(mixed.answers, *(record(analysis, request) for request in requests))
        for view, path in declared("recorded"):
            if view in views:
                record_view: RecordsView = loaded(path)
                found = record_view(analysis, chosen, spec)
                answers = chain(answers, found)
                if not found:
                    views.remove(view)
        if not views:
            views.append("attention")
        for view, path in declared("carried"):
            if view in views:
                carry: CarriesAnswers = loaded(path)
                answers = chain(answers, carry(analysis, chosen, spec))
        fills = [path for view, path in declared("fills") if view in views]
        if fills or (budget > 0 and analysis.trace.square):
            fill: FillsRoom = loaded(fills[0]) if fills else of_heads
            answers = chain(answers, fill(analysis, chosen, spec, kept_heads, budget))
        first = first_paint(analysis, chosen["layer"], chosen["head"])
        meta = {"parts": [*(parts or [analysis.part])]} if two_texts else {}
        chunks["paint"] = painted(first, about, answers, meta)
    opens_with = ("paint", f"layer-{chosen['layer']}")
    if long:
        opens_with = ("paint", f"head-{chosen['layer']}-{chosen['head']}")
    ordered = {name: chunks[name] for name in (*opens_with, *chunks)}
    return Snapshot(ordered, encoding[0], error, score_error, rollout_error)


@dataclass
class Attention:
    """Chunks of the saved layers, the errors of their heads, and mean matrices as a reader sees them."""

    chunks: dict[str, bytes] = field(default_factory=dict)
    errors: list[float] = field(default_factory=list)
    score_errors: list[float] = field(default_factory=list)
    means: list[Float32] = field(default_factory=list)


def encode_attention(
    analysis: Analysis, layers: Sequence[int], heads: Sequence[int], encoding: Encoding
) -> Attention:
    """The saved heads of the saved layers; of a long text in blocks, without mean matrices where no rollout needs them."""
    found = Attention()
    for layer in layers:
        if is_long(analysis):
            rolled = analysis.trace.n_tokens <= ROLLOUT_TOKENS
            blocks = encode_layer(analysis, layer, heads, encoding, mean=rolled)
            found.chunks |= blocks.chunks
            found.errors += blocks.errors
            found.score_errors += blocks.score_errors
            found.means += [] if blocks.mean is None else [blocks.mean]
            continue
        encoded = encode_heads(analysis, layer, heads, encoding)
        found.errors += [head.error for head in encoded]
        found.score_errors += [
            head.score_error for head in encoded if isinstance(head, EncodedFactors)
        ]
        arrays = layer_arrays(analysis, layer, heads, encoded)
        if len(heads) < analysis.trace.n_heads:
            mean = encode_weights(analysis.attention(layer, "mean"), MAX_LEVELS)
            allowed = analysis.trace.allowed(layer)
            mean_arrays = weight_arrays([mean], allowed)
            arrays |= {f"mean_{name}": array for name, array in mean_arrays.items()}
            found.means.append(mean.decoded)
            found.errors.append(mean.error)
        else:
            found.means.append(mean_of([head.decoded for head in encoded]))
        found.chunks[f"layer-{layer}"] = pack({"layer": layer}, arrays)
    return found


def opens_on(
    analysis: Analysis,
    chosen: Mapping[str, Any],
    layers: Sequence[int],
    code: Code,
    *,
    light: bool,
) -> bool:
    """True if the page has the selected quantity: rollout takes every layer up to its own."""
    quantity = chosen.get("quantity")
    if quantity == "rollout":
        limit = analysis.heads.rollout_limit
        if analysis.heads.no_rollout is not None or (
            limit is not None and chosen["layer"] >= limit[0]
        ):
            return False
        through = list(range(chosen["layer"] + 1))
        return list(layers[: len(through)]) == through
    if quantity == "scores" and code == "weights":  # scores of a trace without vectors are tensors
        return not (light or (isinstance(analysis.trace, QKVTrace) and analysis.trace.plain))
    return True


def scalings(analysis: Analysis, layers: Sequence[int]) -> list[float | None]:
    """Scaling of each layer; None if only weights are known."""
    try:
        return [analysis.trace.scaling(layer) for layer in layers]
    except NotAvailableError:
        return [None] * len(layers)


def mean_of(matrices: Sequence[Float32]) -> Float32:
    """The mean matrix that a reader sees; added up in float64, as he does."""
    total = np.zeros(matrices[0].shape)
    for matrix in matrices:
        total += matrix
    return (total / len(matrices)).astype(np.float32)


def error_of_rollout(
    analysis: Analysis, layers: Sequence[int], means: Sequence[Float32]
) -> float | None:
    """The largest error of rollout through the layers that follow the first without a gap."""
    reach = 0
    if analysis.heads.no_rollout is not None:
        return None
    limit = analysis.heads.rollout_limit
    most = len(means) if limit is None else limit[0]
    while reach < most and layers[reach] == reach:
        reach += 1
    # Windows that were read apart have none.
    steps = rollout(means[:reach]) if reach and analysis.trace.windows is None else []
    errors = [
        float(np.abs(step - analysis.rollout(layer)).max()) for layer, step in enumerate(steps)
    ]
    return max(errors) + ROUNDING if errors else None


def exact_snapshot(source: Source, selection: Selection, spec: PageSpec = WHOLE) -> Snapshot:
    """Pack a source without a run: its first paint and its own answers, with all digits."""
    selection, paint, asked = source.recorded(selection, light=spec.light)
    n_layers, n_heads = source.shape
    about = {
        "code": None,
        "levels": None,
        "mean_levels": None,
        "layers": list(range(n_layers)),
        "heads": list(range(n_heads)),
        "error": 0.0,
        "score_error": None,
        "rollout_error": None,
        "mixing_errors": {},
        "scaling": [None] * n_layers,
        "views": list(source.views),
        "selection": selection.as_dict(source.options),
        "title": spec.title or "",
    }
    answers = (answer for request in asked for answer in replied(request, source.answer(request)))
    return Snapshot({"paint": painted(paint, about, answers)}, None, 0.0, None, None)


def painted(
    paint: bytes,
    about: Mapping[str, Any],
    answers: Iterable[Answered],
    changes: Mapping[str, Any] | None = None,
) -> bytes:
    """The first paint with what was recorded and ``changes`` of its meta, without what follows from that."""
    meta, arrays = unpack(paint)
    meta.update(changes or {})
    # The selected head comes from its layer's chunk like all others: one source, one error.
    meta["selected"] = None
    for name in ("weights", "allowed"):
        arrays.pop(name, None)
    recorded: list[dict[str, Any]] = []
    for request, data, found in answers:
        names = {name: f"recorded:{len(recorded)}:{name}" for name in found}
        arrays.update({names[name]: array for name, array in found.items()})
        recorded.append({"request": request, "data": data, "arrays": names})
        if request["kind"] == "predictions" and lists_more(data, meta["predictions"]):
            meta["predictions"] = {**meta["predictions"], "vocabulary": {}}
            for name in found:
                arrays.pop(name, None)
    if "thumbs" in arrays:
        arrays |= dense(arrays.pop("thumbs"))
    return pack({**meta, "snapshot": dict(about), "recorded": recorded}, arrays)


def lists_more(data: Mapping[str, Any], shown: Mapping[str, Any] | None) -> bool:
    """True if recorded predictions begin with those of the first paint, which the page then takes from them."""
    return shown is not None and data["mode"] == shown["mode"] and data["top_k"] >= shown["top_k"]


def dense(thumbs: NDArray[np.uint8]) -> dict[str, NDArray[np.uint8]]:
    """``thumbs`` [L, H, c] of the c cells that any head has, and ``thumb_cells`` [t, t], where these are not all.

    >>> found = dense(np.array([[[[9, 0], [5, 4]]]], dtype=np.uint8))
    >>> {name: array.tolist() for name, array in found.items()}
    {'thumbs': [[[9, 5, 4]]], 'thumb_cells': [[1, 0], [1, 1]]}
    """
    cells = np.asarray(thumbs.any(axis=(0, 1)))
    if cells.all():
        return {"thumbs": thumbs}
    stored: NDArray[np.uint8] = thumbs[:, :, cells]
    return {"thumbs": stored, "thumb_cells": cells.astype(np.uint8)}
