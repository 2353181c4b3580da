"""Records to a pandas DataFrame; pandas is an optional extra."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attn_widget.errors import NotAvailableError


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
