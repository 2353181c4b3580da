"""Tensors of the view Inside that a saved page carries: the first columns of each, as room allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from attn_widget.features.inside.recorded import widths
from attn_widget.features.inside.slices import EMBEDDINGS, HEAD, LAYER, TABLES
from attn_widget.features.inside.token_row import (
    WINDOW_ELSE,
    bytes_of,
    columns_of,
    focus_token,
    token_row,
)
from attn_widget.figures.arrays import Float32
from attn_widget.page.recorded import Answered, Asked, record
from attn_widget.page.room import FLOAT, Group, fitting, scores, selected_first, vectors
from attn_widget.page.spec import PageSpec
from attn_widget.trace.layer_activations import LayerParts

MIN_POSITIONS, MAX_POSITIONS = 16, 64
SHARE_OF_FFN = 0.5  # of the room for tensors, at most for all units of the selected layer
ROW_SHARE = 0.1  # of what the attention of a text may take on a page of many


def answers_of(
    analysis: Analysis,
    chosen: Mapping[str, Any],
    spec: PageSpec,
    heads: Sequence[int],
    budget: float,
) -> list[Answered]:
    """The focus token's row, and tensors as far as there is room."""
    row = focus_row(analysis, chosen, heads, budget, spec.most)
    return row if budget <= 0 else [*row, *tensors(analysis, chosen["layer"], heads, budget)]


def tensors(
    analysis: Analysis, selected: int, heads: Sequence[int], budget: float
) -> Iterator[Answered]:
    """Answers for the view Inside and the arithmetic of a pair, the most telling first, as far as there is room.

    ``selected``: the layer that comes first, with all units of its feed-forward network where they fit. ``heads``:
    whose queries, keys and values to take. ``budget``: bytes, not compressed.
    """
    chosen, _ = fitting(groups(analysis, selected, heads, budget), budget)
    layers = windows(analysis, chosen)
    for request, cells in chosen:
        part = (request.get("name"), request.get("layer"))
        if request["kind"] != "tensor":
            yield from record(analysis, request)
        elif part in layers:
            columns, shape = layers[part]
            yield request, {"shape": shape}, {"tensor": columns}
        else:
            yield from tensor(analysis, request, cells)


def focus_row(
    analysis: Analysis,
    selection: Mapping[str, Any],
    heads: Sequence[int],
    budget: float,
    most: float | None,
) -> list[Answered]:
    """The focus token's row, where ``budget`` does not hold all tensors.

    ``most`` bounds it on a page of many texts: with hundreds of them the row is a luxury.
    """
    selected = selection["layer"]
    chosen, whole = fitting(groups(analysis, selected, heads, budget), budget)
    if whole:
        return []
    parts = [(request.get("name"), request.get("layer")) for request, _ in chosen]
    in_page = {
        (each, layer) for name, layer in parts for each in (HEAD if name is None else (name,))
    }  # of a head's vectors the page makes each of them, and its output
    token = focus_token(analysis, selection)
    answers = list(token_row(analysis, token, selected, heads, in_page))
    return answers if most is None or bytes_of(answers) <= ROW_SHARE * most else []


def tensor(analysis: Analysis, request: Asked, cells: int) -> Iterator[Answered]:
    """One tensor in the kernel's answer; as many of its columns as ``cells`` allow.

    The page asks for a window of fixed width and takes what there is.
    """
    first_cell = {**request, "rows": [0, 1], "cols": [0, 1]}
    shape = next((data["shape"] for _, data, _ in record(analysis, first_cell)), None)
    if shape is None:
        return
    rows = min(request.get("rows", [0, shape[0]])[1], shape[0])
    asked = {**request, "rows": [0, rows], "cols": [0, min(cells // rows, shape[1])]}
    for _, data, arrays in record(analysis, asked):
        # The page knows the size of a table, and asks for its rows.
        yield (asked if "rows" in request else request), data, arrays


def windows(analysis: Analysis, chosen: Group) -> dict[tuple[Any, Any], tuple[Float32, list[int]]]:
    """First columns and shapes of what layers compute, by name and layer: one pass for all of them."""
    columns = {
        (request["name"], request["layer"]): cells // analysis.trace.n_tokens
        for request, cells in chosen
        if request["kind"] == "tensor" and request["name"] in LAYER
    }
    windows_by_key: dict[tuple[Any, Any], tuple[Float32, list[int]]] = {}

    def visit(parts: LayerParts) -> None:
        for name in LAYER:
            if (name, parts.layer) in columns:
                whole: Float32 = getattr(parts, name)
                part = np.ascontiguousarray(whole[:, : columns[name, parts.layer]])
                windows_by_key[name, parts.layer] = part, list(whole.shape)

    if columns and analysis.run is not None:
        with suppress(NotAvailableError):  # a family whose layers are not known
            analysis.model._visit_layers(visit)  # pyright: ignore[reportPrivateUsage]
    return windows_by_key


def groups(
    analysis: Analysis, selected: int, heads: Sequence[int], budget: float
) -> Iterator[Group]:
    """The model's tensors, the first columns of each, in the order in which a page should have them."""
    n = analysis.trace.n_tokens
    order = selected_first(analysis, selected)

    def window(name: str, **of: int) -> tuple[Asked, int]:
        columns = columns_of(name)
        return {"kind": "tensor", "name": name, **of, "cols": [0, columns]}, n * columns

    rows = min(max(n, MIN_POSITIONS), MAX_POSITIONS)
    tables: Group = [
        (
            {"kind": "tensor", "name": name, "rows": [0, rows], "cols": [0, WINDOW_ELSE]},
            rows * WINDOW_ELSE,
        )
        for name in TABLES
    ]
    yield [window(name) for name in EMBEDDINGS]  # the view opens on them
    yield vectors(analysis, selected, heads)
    yield tables
    yield [window("hidden", layer=layer) for layer in range(analysis.trace.n_layers + 1)]
    units = widths(analysis).get("ffn_activation", 0)
    for layer in order:
        parts = [window(name, layer=layer) for name in LAYER]
        if layer == selected and FLOAT * n * units < SHARE_OF_FFN * budget:
            # Its units are ranked, which takes all of them.
            parts = [
                (request, n * units if request["name"] == "ffn_activation" else cells)
                for request, cells in parts
            ]
        yield parts
    for layer in order[1:]:
        yield vectors(analysis, layer, heads)
    yield from scores(analysis, order, heads)
