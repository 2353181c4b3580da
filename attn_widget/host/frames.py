"""Records to a pandas DataFrame; pandas is an optional extra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.host.installed import require_extra

if TYPE_CHECKING:
    from pandas import DataFrame


def dataframe(records: Iterable[Mapping[str, Any]]) -> DataFrame:
    """A pandas DataFrame with one row for each record, columns in the order of the first one.

    >>> dataframe([{"layer": 0, "value": 0.5}]).columns.tolist()
    ['layer', 'value']
    """
    require_extra("pandas", "Data frames need pandas", "pandas")
    import pandas as pd

    return pd.DataFrame.from_records(list(records))


def records(**columns: Any) -> list[dict[str, Any]]:
    """One dict a row, of columns that are broadcast against each other, with Python's own numbers.

    >>> records(part="cross", layer=[[0], [1]], head=[0, 1], value=np.eye(2))[1]
    {'part': 'cross', 'layer': 0, 'head': 1, 'value': 0.0}
    """
    flat = [part.ravel().tolist() for part in np.broadcast_arrays(*columns.values())]
    return [dict(zip(columns, row, strict=True)) for row in zip(*flat, strict=True)]


def head_records(**figures: Any) -> list[dict[str, Any]]:
    """`records` of figures of all heads, [L, H] each, after ``layer`` and ``head``."""
    layers, heads = np.indices(next(iter(figures.values())).shape)
    return records(layer=layers, head=heads, **figures)


class Records(ABC):
    """A result that is a table."""

    @abstractmethod
    def to_records(self) -> list[dict[str, Any]]:
        """One dict for each row."""

    def to_dataframe(self) -> DataFrame:
        """`to_records` as a pandas DataFrame (needs the extra ``pandas``)."""
        return dataframe(self.to_records())
