"""Mixing quantities in a saved page: matrices in the code of weights, and how far they are off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32
from attn_widget.figures.catalog.choices import MIXINGS
from attn_widget.figures.mixing import mixing_rollout
from attn_widget.page.encodings.codec import MAX_LEVELS, EncodedWeights, encode_weights
from attn_widget.page.encodings.planes import code_planes
from attn_widget.page.recorded import MASKED_TOKENS, Answered, record

OF_ITSELF = ("mixing", "alti")  # what a position keeps of itself is N/A between two texts
SHARE = 0.25  # of the room that attention leaves
ROUNDING = 1e-6  # products of float32 numbers in another order


@dataclass
class MixingMatrices:
    """The answers for a page, and the largest error of each quantity's entries."""

    # Requests with data and arrays, as a page records them.
    answers: list[Answered] = field(default_factory=list)
    # By quantity, rollouts among them; a quantity that the page lacks has none.
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for _, _, arrays in self.answers for array in arrays.values())


def mixing_matrices(
    analysis: Analysis,
    selection: Mapping[str, Any],
    layers: Sequence[int],
    budget: float,
) -> MixingMatrices:
    """Mixing matrices of the layers for which there is room; those of the selection always.

    ``selection``: its layer comes first. ``layers``: those that the page has. ``budget``: bytes, not compressed.
    """
    found = MixingMatrices()
    chosen = selection["layer"]
    must = set(needed(selection))
    kinds = [kind for kind in MIXINGS if analysis.trace.square or kind not in OF_ITSELF]
    n, m = analysis.trace.n_tokens, analysis.trace.n_keys
    short = n <= MASKED_TOKENS
    each = n * m * (2 if short else 1)
    shown: dict[tuple[str, int], Float32] = {}
    left = SHARE * budget
    for layer in sorted(layers, key=lambda layer: (layer != chosen, layer)):
        lengths = 4 * m * analysis.trace.n_heads
        if left >= lengths or ("norms", layer) in must:
            # A head's norms are its weights times these, with the same relative error.
            found.answers += record(analysis, {"kind": "value_lengths", "layer": layer})
            left -= lengths
        for kind in kinds:
            quick = kind != "value_zeroing" or (short and layer == chosen)
            if (kind, layer) not in must and (left < each or not quick):
                continue
            encoded = encoded_matrix(analysis, kind, layer, MAX_LEVELS if short else 255)
            if encoded is None:
                return found
            found.answers.append(recorded(analysis, kind, layer, encoded))
            shown[kind, layer] = encoded.decoded
            raise_to(found.errors, kind, encoded.error + ROUNDING * encoded.largest)
            left -= each
    for kind in MIXINGS:
        errors = errors_of_rollout(analysis, kind, shown)
        if errors:
            found.errors[f"{kind}_rollout"] = max(errors) + ROUNDING
    return found


def needed(selection: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The matrices, by quantity and layer, that the page opens on."""
    quantity, layer = str(selection.get("quantity")), selection["layer"]
    kind = quantity.removesuffix("_rollout")
    if kind in MIXINGS:
        yield kind, layer
        if kind != quantity:
            yield from ((kind, before) for before in range(layer))


def has(selection: Mapping[str, Any], found: MixingMatrices) -> bool:
    """True if the page has the matrices that the selection opens on."""
    available = {(request.get("quantity"), request["layer"]) for request, _, _ in found.answers}
    return available.issuperset(needed(selection))


def encoded_matrix(analysis: Analysis, kind: Any, layer: int, levels: int) -> EncodedWeights | None:
    """A layer's matrix in code; None where the model has none."""
    try:
        return encode_weights(analysis.mixing.matrix(kind, layer), levels)
    except NotAvailableError:
        return None


def recorded(analysis: Analysis, kind: str, layer: int, encoded: EncodedWeights) -> Answered:
    """The code, recorded as ``mixing_code``: the page answers ``mixing`` from it. With a mask its cells alone, row by row."""
    codes, allowed = encoded.codes, analysis.trace.allowed(layer)
    # A mask may forbid a token to look at itself, whose own part is in these all the same.
    if allowed is not None and not codes[~allowed].any():
        codes = codes[allowed]
    arrays: dict[str, Any] = code_planes(codes, encoded.levels)
    if kind == "mixing" and analysis.base is None:  # a ratio is of a token, not of a word
        arrays["ratio"] = analysis.mixing.ratio(layer)
    request = {"kind": "mixing_code", "quantity": kind, "layer": layer}
    return request, {"levels": encoded.levels, "largest": encoded.largest}, arrays


def errors_of_rollout(
    analysis: Analysis, kind: Any, shown: Mapping[tuple[str, int], Float32]
) -> list[float]:
    """The largest error of each rollout that the page can compute: from layer 0 without a gap."""
    reach = 0
    if analysis.heads.no_rollout is not None:
        return []
    limit = analysis.heads.rollout_limit if kind == "norms" else None
    while (kind, reach) in shown and not (limit and reach >= limit[0]):
        reach += 1
    steps = mixing_rollout((shown[kind, i] for i in range(reach)), add_identity=kind == "norms")
    return [
        float(np.abs(step - analysis.mixing.rollout(kind, layer)).max(initial=0))
        for layer, step in enumerate(steps)
    ]


def raise_to(errors: dict[str, float], key: str, error: float) -> None:
    errors[key] = max(errors.get(key, 0.0), error)
