"""Records to a pandas DataFrame; pandas is an optional extra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from attn_widget.host.installed import require_extra


def dataframe(records: Iterable[Mapping[str, Any]]) -> Any:
    """A pandas DataFrame with one row for each record, columns in the order of the first one.

    Examples
    --------
    >>> dataframe([{"layer": 0, "value": 0.5}]).columns.tolist()
    ['layer', 'value']
    """
    require_extra("pandas", "Data frames need pandas", "pandas")
    import pandas as pd

    return pd.DataFrame.from_records(list(records))


class Records(ABC):
    """A result that is a table."""

    @abstractmethod
    def to_records(self) -> list[dict[str, Any]]:
        """One dict for each row."""

    def to_dataframe(self) -> Any:
        """`to_records` as a pandas DataFrame (needs the extra ``pandas``)."""
        return dataframe(self.to_records())
