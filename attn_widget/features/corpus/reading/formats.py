"""The format of a file, by its name and its first bytes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Literal

from attn_widget.errors import InputError
from attn_widget.features.corpus.reading.remote import RemoteFile
from attn_widget.features.corpus.reading.wide_fields import wide_fields

File = Path | RemoteFile
Format = Literal["parquet", "json lines", "json", "delimited", "lines"]

BY_NAME: dict[str, Format] = {
    ".parquet": "parquet",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".json": "json",
    ".csv": "delimited",
    ".tsv": "delimited",
    ".tab": "delimited",
}
DELIMITERS = (",", "\t", ";", "|")
FIRST = 65_536  # bytes that tell a format
# First bytes of what is no text, and how it becomes one.
BINARY = {
    b"\x1f\x8b": ("gzip", "Decompress it first: gunzip."),
    b"BZh": ("bzip2", "Decompress it first: bunzip2."),
    b"\xfd7zXZ": ("xz", "Decompress it first: unxz."),
    b"\x28\xb5\x2f\xfd": ("Zstandard", "Decompress it first: unzstd."),
    b"PK\x03\x04": (
        "a zip archive (or a file of Office)",
        "Extract it, or save it as CSV or text.",
    ),
    b"%PDF": ("PDF", "Extract its text first."),
    b"\xff\xfe": ("UTF-16", "Save it as UTF-8."),
    b"\xfe\xff": ("UTF-16", "Save it as UTF-8."),
    b"ARROW1": ("Arrow", "Read it with datasets or pyarrow, and pass the column."),
}


def format_of(path: File, column: str | None) -> tuple[Format, str]:
    """Format of a file of texts, and the delimiter of a table.

    The name decides among tables; a file of any other name is read by its content: Parquet, JSON, JSON lines, a table
    whose header has ``column``, or a text per line.
    """
    with path.open("rb") as file:
        start = file.read(FIRST)
    if start.startswith(b"PAR1"):
        return "parquet", ""
    named = BY_NAME.get(path.suffix.lower())
    if named == "parquet":
        return named, ""  # reading it names what is wrong
    for magic, (kind, hint) in BINARY.items():
        if start.startswith(magic):
            raise InputError(f"{str(path)!r} is {kind}, expected text or a table.", hint)
    if b"\0" in start:
        raise InputError(
            f"{str(path)!r} is a binary file, expected text or a table.",
            "Give text in UTF-8, CSV, TSV, JSON or Parquet.",
        )
    lines = start.decode("utf-8-sig", errors="replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if named == "delimited":
        return named, _delimiter(path, first, column or "text")
    if named == "json lines":
        return named, ""
    objects = [isinstance(_json(line), dict) for line in lines[:3] if line.strip()]
    if all(objects[:2]) and objects and (named is None or len(objects) > 1):
        return "json lines", ""
    if named == "json" or _is_array(path, first):
        return "json", ""
    if column is None:
        return "lines", ""
    for delimiter in DELIMITERS:
        if column in fields_of(first, delimiter):
            return "delimited", delimiter
    raise InputError(
        f"{str(path)!r} has no columns, and column is {column!r}.",
        "Leave column out for a file with one text per line; tables end with .csv, .tsv, .jsonl or .parquet.",
    )


def fields_of(line: str, delimiter: str) -> list[str]:
    """Fields of one line of a table; quotes belong to tab-separated fields."""
    if delimiter == "\t":
        return line.rstrip("\r\n").split("\t")
    with wide_fields():
        return next(csv.reader([line], delimiter=delimiter), [])


def _delimiter(path: File, header: str, column: str) -> str:
    """The delimiter by which the header has the column; else the usual one of the name."""
    usual = "," if path.suffix.lower() == ".csv" else "\t"
    order = (usual, *(delimiter for delimiter in DELIMITERS if delimiter != usual))
    return next((delimiter for delimiter in order if column in fields_of(header, delimiter)), usual)


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _is_array(path: File, first: str) -> bool:
    """True if the whole file is a JSON array of texts or of mappings."""
    if not first.lstrip().startswith("["):
        return False  # "[CLS] a text" goes on
    with path.open("rb") as file:
        content = _json(file.read().decode("utf-8-sig", errors="replace"))
    return isinstance(content, list) and all(isinstance(entry, (str, dict)) for entry in content)
