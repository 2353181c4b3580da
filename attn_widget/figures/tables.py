"""Figures of every head as records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Float32

Columns = tuple[tuple[str, ...], list[tuple[Any, ...]]]  # names of columns, and rows


def head_records(columns: Mapping[str, Float32]) -> list[dict[str, Any]]:
    """One record for every head: ``layer``, ``head`` and a figure for each column.

    ``columns``: mapping of str to float32 [L, H].

    >>> import numpy as np
    >>> head_records({"self": np.array([[0.25, 0.5]], dtype=np.float32)})
    [{'layer': 0, 'head': 0, 'self': 0.25}, {'layer': 0, 'head': 1, 'self': 0.5}]
    """
    lists = {key: values.tolist() for key, values in columns.items()}
    shape = next(iter(columns.values())).shape
    return [
        {"layer": layer, "head": head, **{key: rows[layer][head] for key, rows in lists.items()}}
        for layer in range(shape[0])
        for head in range(shape[1])
    ]


def by_head(figures: Mapping[str, NDArray[Any]]) -> Columns:
    """One row a head with a column for each figure, [L, H]."""
    lists = [values.astype(np.float64).tolist() for values in figures.values()]
    n_layers, n_heads = next(iter(figures.values())).shape
    rows: list[tuple[Any, ...]] = [
        (layer, head, *(values[layer][head] for values in lists))
        for layer in range(n_layers)
        for head in range(n_heads)
    ]
    return ("layer", "head", *figures), rows
