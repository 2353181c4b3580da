"""Tables as CSV and JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Cell: TypeAlias = "str | int | float | None"

FORMULA = re.compile(r"[=+\-@\t\r]")
QUOTED = re.compile(r'[",\r\n]')


@dataclass(frozen=True)
class Table:
    """Rows of what a view shows, numbers with all their digits.

    Attributes
    ----------
    columns : tuple of str
    rows : list of tuple
        A str, int, float or None for each column; None, NaN and infinities are N/A.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]

    def known(self) -> list[list[Cell]]:
        """The rows, with None for every N/A."""
        return [
            [None if isinstance(v, float) and not math.isfinite(v) else v for v in row]
            for row in self.rows
        ]


def to_csv(table: Table) -> str:
    r"""A table as CSV (RFC 4180).

    Rows end with CR LF; the first row is the header. A number has the shortest digits that read back as it; N/A is an
    empty field, an empty text is ``""`` (`csv.writer` writes both alike). A text that a spreadsheet would take for a
    formula (it begins with ``= + - @``, tab or carriage return) gets a single quote in front.

    References
    ----------
    RFC 4180; OWASP, "CSV Injection".

    Examples
    --------
    >>> to_csv(Table(("token", "weight"), [("the", 0.5), ("-", None), ("a,b", 1)]))
    'token,weight\r\nthe,0.5\r\n\'-,\r\n"a,b",1\r\n'
    """
    return "".join(",".join(map(_field, row)) + "\r\n" for row in (table.columns, *table.known()))


def _field(cell: Cell) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return repr(cell)
    text = f"'{cell}" if FORMULA.match(cell) else cell
    return text if text and not QUOTED.search(text) else '"' + text.replace('"', '""') + '"'


def to_json(caption: Mapping[str, Any], table: Table) -> str:
    r"""A table with its caption as JSON, one row a line; N/A is null.

    Examples
    --------
    >>> to_json({"view": "tree"}, Table(("token", "weight"), [("the", 0.5), ("a", None)]))
    '{"view": "tree", "columns": ["token", "weight"], "rows": [\n["the", 0.5],\n["a", null]\n]}\n'
    """
    head = json.dumps({**caption, "columns": table.columns}, ensure_ascii=False)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in table.known())
    return f'{head[:-1]}, "rows": [\n{rows}\n]}}\n'
