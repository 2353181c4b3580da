"""The row of the focus token in every tensor of the view Inside, for a page that has no room for whole tensors.

It is recorded as one slice, ``{"kind": "token_row", "token": i}``; ``js/src/protocol/slices/inside.ts`` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.features.inside.slices import EMBEDDINGS, HEAD, LAYER
from attn_widget.page.recorded import Answered
from attn_widget.trace.layer_activations import LayerParts

WINDOW = {
    "ffn_activation": 96,
    "query": 48,
    "key": 48,
    "value": 48,
}  # docs/definitions.md, section 8
WINDOW_ELSE = 64

Part = tuple[str, int | None]  # a tensor and its layer
Arrays = dict[str, NDArray[np.float32]]


def columns_of(name: str) -> int:
    """Smallest number of columns of a tensor in a page: those that the view shows first."""
    return WINDOW.get(name, WINDOW_ELSE)


def focus_token(analysis: Analysis, selection: Mapping[str, Any]) -> int:
    """The chosen token; without one, the first that is no special token, as in the page."""
    token = selection.get("token")
    if token is not None:
        return int(token)
    return next((i for i, token in enumerate(analysis.tokens) if not token.special), 0)


def token_row(
    analysis: Analysis,
    token: int,
    selected: int,
    heads: Sequence[int],
    in_page: Collection[Part] = (),
) -> Iterator[Answered]:
    """One answer with the first columns of the token's row, of all units of the FFN in layer ``selected``.

    Tensors in ``in_page`` are on the page as a whole, and left out.

    Its arrays are float32: ``<name>`` [c] of the embeddings, ``<name>:<layer>`` [c] of layers and hidden states,
    ``<name>:<layer>`` [heads, c] of queries, keys, values and outputs of heads. ``data.widths`` has the columns of
    the whole tensors, ``data.heads`` the heads in order. What the model lacks is left out; the row of a family
    whose inside is not known has nothing, and is not given.
    """
    if analysis.run is None:
        return
    arrays: Arrays = {}
    widths: dict[str, int] = {}

    def put(key: str, name: str, row: NDArray[np.float32], most: int | None = None) -> None:
        widths[name] = int(row.shape[-1])
        arrays[key] = np.ascontiguousarray(row[..., : most or columns_of(name)], dtype=np.float32)

    def visit(parts: LayerParts) -> None:
        for name in LAYER:
            if (name, parts.layer) in in_page:
                continue
            row = getattr(parts, name)[token]
            whole = name == "ffn_activation" and parts.layer == selected
            put(f"{name}:{parts.layer}", name, row, len(row) if whole else None)

    for name in EMBEDDINGS:
        if (name, None) in in_page:
            continue
        with suppress(NotAvailableError):
            put(name, name, analysis.model.embeddings.part(name)[token])
    with suppress(NotAvailableError):
        analysis.model._visit_layers(visit)  # pyright: ignore[reportPrivateUsage]
    with suppress(NotAvailableError):
        for layer, states in enumerate(analysis.model.hidden_states):
            if ("hidden", layer) not in in_page:
                put(f"hidden:{layer}", "hidden", states[token])
    for name in HEAD:
        with suppress(NotAvailableError):
            of = _of_head(analysis, name)
            for layer in range(analysis.trace.n_layers):
                if (name, layer) in in_page:
                    continue
                rows = np.stack([of(layer, head)[token] for head in heads])
                put(f"{name}:{layer}", name, rows)
    if arrays:
        data = {"token": token, "widths": widths, "heads": list(heads)}
        yield {"kind": "token_row", "token": token}, data, arrays


def _of_head(analysis: Analysis, name: str) -> Callable[[int, int], NDArray[np.float32]]:
    return {
        "query": analysis.trace.queries,
        "key": analysis.trace.keys,
        "value": analysis.trace.values,
        "head_output": analysis.trace.head_output,
    }[name]


def bytes_of(answers: Sequence[Answered]) -> int:
    """Bytes of the answers' arrays, uncompressed."""
    return sum(array.nbytes for _, _, arrays in answers for array in arrays.values())
