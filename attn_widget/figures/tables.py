"""Records to a pandas DataFrame; pandas is an optional extra."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32


def dataframe(records: Iterable[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame with one row for each record, columns in the order of the first one.

    Raises
    ------
    NotAvailableError
        pandas is not installed.

    Examples
    --------
    >>> dataframe([{"layer": 0, "value": 0.5}]).columns.tolist()
    ['layer', 'value']
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise NotAvailableError(
            "Data frames need pandas, which is not installed.",
            'Run: pip install "attn-widget[pandas]"',
        ) from error
    return pd.DataFrame.from_records(list(records))


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
