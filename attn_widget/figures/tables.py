"""Figures of every head as records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.figures.arrays import Float32


def head_records(columns: Mapping[str, Float32]) -> list[dict[str, Any]]:
    """One record for every head: ``layer``, ``head`` and a figure for each column.

    Parameters
    ----------
    columns : mapping of str to float32 [L, H]

    Examples
    --------
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
