"""Tables as CSV and JSON, byte for byte as ``js/src/export/csv.ts`` and ``json.ts`` write them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Cell: TypeAlias = "str | int | float | None"

END = "\r\n"
FORMULA = re.compile(r"[=+\-@\t\r]")
QUOTED = re.compile(r'[",\r\n]')
PLAIN_DIGITS = 21  # ECMAScript writes numbers below 1e21 without an exponent
LEADING_ZEROS = 6  # ... and those from 1e-6 on


@dataclass(frozen=True)
class Table:
    """Rows of what a view shows, numbers with all their digits.

    Attributes
    ----------
    columns : tuple of str
    rows : list of tuple
        A str, int, float or None (N/A) for each column.
    """

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def number_text(value: float) -> str | None:
    """The text of a number: the shortest digits that read back as it, as ECMAScript writes them.

    Parameters
    ----------
    value : int or float
        A float32 is widened to a Python float first, so nothing is lost.

    Returns
    -------
    str or None
        None for NaN and infinities: N/A.

    References
    ----------
    ECMA-262, ``Number::toString``.

    Examples
    --------
    >>> number_text(0.1), number_text(1.0), number_text(1e-07), number_text(1e-05)
    ('0.1', '1', '1e-7', '0.00001')
    """
    if not math.isfinite(value):
        return None
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{float(value)!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.digits times ten to this power.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    size = len(digits)
    if size <= point <= PLAIN_DIGITS:
        return sign + digits + "0" * (point - size)
    if 0 < point <= PLAIN_DIGITS:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -LEADING_ZEROS < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if size > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1:+d}"


def field(cell: Cell) -> str:
    """One field of a CSV file; see `to_csv`."""
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return number_text(cell) or ""
    text = f"'{cell}" if FORMULA.match(cell) else cell
    if text and not QUOTED.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def to_csv(table: Table) -> str:
    r"""A table as CSV (RFC 4180).

    Rows end with CR LF; the first row is the header; to be written as UTF-8 without a byte order
    mark. A number has all its digits (`number_text`); N/A is an empty field, an empty text is
    ``""``. A text that a spreadsheet would take for a formula (it begins with ``= + - @``, tab or
    carriage return) gets a single quote in front.

    References
    ----------
    RFC 4180; OWASP, "CSV Injection".

    Examples
    --------
    >>> to_csv(Table(("token", "weight"), [("the", 0.5), ("-", None), ("a,b", 1)]))
    'token,weight\r\nthe,0.5\r\n\'-,\r\n"a,b",1\r\n'
    """
    return "".join(",".join(map(field, row)) + END for row in (table.columns, *table.rows))


def written(value: Any) -> str:
    """A JSON value with numbers as in CSV; N/A is null."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        items = (f"{written(str(key))}: {written(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(written, value)) + "]"
    return number_text(value) or "null"


def to_json(caption: Mapping[str, Any], table: Table) -> str:
    r"""A table with its caption as JSON, one row a line.

    Examples
    --------
    >>> to_json({"view": "tree"}, Table(("token", "weight"), [("the", 0.5), ("a", None)]))
    '{"view": "tree",\n"columns": ["token", "weight"],\n"rows": [\n["the", 0.5],\n["a", null]\n]}\n'
    """
    fields = {**caption, "columns": table.columns}
    head = ",\n".join(f"{written(key)}: {written(value)}" for key, value in fields.items())
    body = ",\n".join(map(written, table.rows))
    rows = f"\n{body}\n" if body else ""
    return f'{{{head},\n"rows": [{rows}]}}\n'
