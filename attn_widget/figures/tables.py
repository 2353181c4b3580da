"""Figures of every head as records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = tuple[tuple[str, ...], list[tuple[Any, ...]]]  # names of columns, and rows


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
