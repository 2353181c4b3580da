"""Mixing quantities in a saved page: matrices in the code of weights, and how far they are off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.figures.mixing import mixing_rollout
from attn_widget.page.encodings.codec import MOST_LEVELS, EncodedWeights, encode_weights
from attn_widget.page.recorded import MASKED_TOKENS, Answered, record
from attn_widget.protocol.selection import MIXINGS

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.figures.arrays import Float32

SHARE = 0.25  # of the room that attention leaves
ROUNDING = 1e-6  # products of float32 numbers in another order


@dataclass
class Carried:
    """The answers for a page, and the largest error of each quantity's entries.

    Attributes
    ----------
    answers : list
        Requests with data and arrays, as a page records them.
    errors : dict of str to float
        By quantity, rollouts among them; a quantity that the page lacks has none.
    """

    answers: list[Answered] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for _, _, arrays in self.answers for array in arrays.values())


def carried(
    analysis: Analysis,
    selection: Mapping[str, Any],
    layers: Sequence[int],
    room: float,
) -> Carried:
    """Mixing matrices of the layers for which there is room; those of the selection always.

    Parameters
    ----------
    selection : mapping
        Its layer comes first.
    layers : sequence of int
        Those that the page has.
    room : float
        Bytes, not compressed.
    """
    found = Carried()
    chosen = selection["layer"]
    must = set(needed(selection))
    n = analysis.n_tokens
    short = n <= MASKED_TOKENS
    each = n * n * (2 if short else 1)
    shown: dict[tuple[str, int], Float32] = {}
    left = SHARE * room
    for layer in sorted(layers, key=lambda one: (one != chosen, one)):
        lengths = 4 * n * analysis.n_heads
        if left >= lengths or ("norms", layer) in must:
            # A head's norms are its weights times these, and as far off as the weights.
            found.answers += record(analysis, {"kind": "value_lengths", "layer": layer})
            left -= lengths
        for kind in MIXINGS:
            quick = kind != "value_zeroing" or (short and layer == chosen)
            if (kind, layer) not in must and (left < each or not quick):
                continue
            coded = encoded(analysis, kind, layer, MOST_LEVELS if short else 255)
            if coded is None:
                return found
            found.answers.append(recorded(analysis, kind, layer, coded))
            shown[kind, layer] = coded.shown
            raise_to(found.errors, kind, coded.error + ROUNDING * coded.largest)
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


def has(selection: Mapping[str, Any], found: Carried) -> bool:
    """Whether the page has the matrices that the selection opens on."""
    known = {(request.get("quantity"), request["layer"]) for request, _, _ in found.answers}
    return known.issuperset(needed(selection))


def encoded(analysis: Analysis, kind: Any, layer: int, levels: int) -> EncodedWeights | None:
    """A layer's matrix in code; None where the model has none."""
    try:
        return encode_weights(analysis.mixing(kind, layer), levels)
    except NotAvailableError:
        return None


def recorded(analysis: Analysis, kind: str, layer: int, coded: EncodedWeights) -> Answered:
    """The code, recorded as ``mixing_code``: the page answers ``mixing`` from it."""
    arrays: dict[str, Any] = {"codes": coded.codes.astype(np.uint8)}
    if coded.levels > 255:
        arrays = {
            "codes": (coded.codes >> 8).astype(np.uint8),
            "fine": (coded.codes & 255).astype(np.uint8),
        }
    if kind == "mixing":
        arrays["ratio"] = analysis.mixing_ratio(layer)
    request = {"kind": "mixing_code", "quantity": kind, "layer": layer}
    return request, {"levels": coded.levels, "largest": coded.largest}, arrays


def errors_of_rollout(
    analysis: Analysis, kind: Any, shown: Mapping[tuple[str, int], Float32]
) -> list[float]:
    """The largest error of each rollout that the page can compute: from layer 0 without a gap."""
    reach = 0
    while (kind, reach) in shown:
        reach += 1
    steps = mixing_rollout((shown[kind, i] for i in range(reach)), add_identity=kind == "norms")
    return [
        float(np.abs(step - analysis.mixing_rollout(kind, layer)).max(initial=0))
        for layer, step in enumerate(steps)
    ]


def raise_to(errors: dict[str, float], key: str, error: float) -> None:
    errors[key] = max(errors.get(key, 0.0), error)
