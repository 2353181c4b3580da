"""Texts from files, tables and datasets: text, JSON, CSV, TSV, Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from glob import has_magic
from pathlib import Path
from typing import Any

from attn_widget.checks import first_line
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.reading.formats import File, fields_of, format_of
from attn_widget.features.corpus.reading.globs import matching_files
from attn_widget.features.corpus.reading.remote import remote_files
from attn_widget.features.corpus.reading.wide_fields import wide_fields
from attn_widget.host.installed import require_extra

COLUMN = "text"

# Unreadable texts are reported with their place and the reason.
Fail = Callable[[str, str], None]


def read_texts(texts: Any, column: str | None) -> tuple[list[str], list[dict[str, str]]]:
    """The texts of a path, a glob or a dataset, and what of it could not be read.

    ``texts``: a dataset has ``column_names`` and gives mappings; a table is a DataFrame or of Arrow. ``column``:
    None = "text". Returns: the second has ``source`` (file and line, row or row group) and ``reason``. Raises
    `InputError`: no file matches; a column that is missing or holds no text; a file that cannot be opened. Raises
    `InputTypeError`: ``column`` is no str. Raises `NotAvailableError`: Parquet without pyarrow.
    """
    sources, failed = read_sources(texts, column)
    return [text for source in sources for text in source], failed


def read_sources(texts: Any, column: str | None) -> tuple[list[list[str]], list[dict[str, str]]]:
    """The texts of each file, or of the dataset, and what could not be read; as `read_texts`."""
    check_column(column)
    failed: list[dict[str, str]] = []

    def fail(source: str, reason: str) -> None:
        failed.append({"source": source, "reason": reason})

    if not isinstance(texts, (str, Path)):
        return [list(dataset_texts(texts, column, fail))], failed
    return [list(file_texts(path, column, fail)) for path in files_of(texts)], failed


def check_column(column: Any) -> None:
    """Raise an InputTypeError unless it is None or a str."""
    if column is not None and not isinstance(column, str):
        raise InputTypeError(f"column is a {type(column).__name__}, expected a str.", "")


def dataset_texts(texts: Any, column: str | None, fail: Fail) -> Iterator[str]:
    """The texts of a dataset or a table, one after the other."""
    if is_table(texts):
        yield from _table_column(texts, COLUMN if column is None else column, fail)
        return
    if isinstance(texts.column_names, dict):
        raise InputError(
            f"texts has the splits {', '.join(map(repr, texts.column_names))}, each a dataset.",
            "Give one of them: profile(dataset['train']).",
        )
    yield from _records("the dataset", enumerate(texts), COLUMN if column is None else column, fail)


def is_table(texts: Any) -> bool:
    """True if it is a DataFrame (of pandas, polars ...) or a table of Arrow: whole columns in memory."""
    return all(hasattr(texts, name) for name in ("columns", "shape", "__getitem__"))


def _table_column(table: Any, column: str, fail: Fail) -> Iterator[str]:
    kind = type(table).__name__
    names = list(getattr(table, "column_names", None) or table.columns)
    if names.count(column) != 1:
        has = ", ".join(map(repr, names))
        raise InputError(
            f"The {kind} has {'no' if column not in names else 'more than one'} column {column!r} (it has {has}).",
            "Name the column of the texts: profile(..., column=name).",
        )
    values = table[column]
    values = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    rows = ({column: value} for value in values)
    yield from _records(f"the {kind}", enumerate(rows), column, fail)


def file_texts(path: File, column: str | None, fail: Fail) -> Iterator[str]:
    """The texts of a file, one after the other."""
    try:
        yield from _read(path, column, fail)
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error.strerror or error}.",
            "Give readable files.",
        ) from error


def check_sources(files: Iterable[File], column: str | None) -> None:
    """Read the beginning of each file, so that a wrong column is reported before work begins.

    Raises `InputError`: as `file_texts`.
    """
    for path in files:
        for _ in file_texts(path, column, lambda _source, _reason: None):
            break


def is_source(texts: Any) -> bool:
    """True if texts are to be read from files or from a dataset's column."""
    return isinstance(texts, (str, Path)) or hasattr(texts, "column_names") or is_table(texts)


def files_of(pattern: str | Path) -> list[File]:
    """The files of a path, a glob or an address."""
    written = str(pattern)
    if "://" in written:
        return [*remote_files(written)]
    try:
        names = [written] if Path(written).is_file() else []
        if not names and has_magic(written):
            names = matching_files(written)
    except (OSError, ValueError):  # too long for a name, or with a null character
        names = []
    if not names:
        shown = written if len(written) <= 60 else written[:57] + "..."
        raise InputError(
            f"No file matches {shown!r}.",
            "Give a path or a glob of files. For one text: profile([text]), or analyze(text).",
        )
    return [Path(name) for name in names]


def _read(path: File, column: str | None, fail: Fail) -> Iterator[str]:
    kind, delimiter = format_of(path, column)
    name = COLUMN if column is None else column
    if kind == "parquet":
        yield from _parquet(path, name, fail)
    elif kind == "json lines":
        yield from _records(str(path), _json_lines(path, fail), name, fail)
    elif kind == "json":
        yield from _json_file(path, column, fail)
    elif kind == "delimited":
        yield from _records(str(path), _table(path, delimiter, name, fail), name, fail)
    else:
        yield from (line.strip() for _, line in _lines(path, fail) if line.strip())


def _table(path: File, delimiter: str, column: str, fail: Fail) -> Iterator[tuple[int, Any]]:
    """Rows of a table with a header. Those with more or fewer fields than it, or an open quote, are reported.

    Tab-separated fields are taken as they stand (text/tab-separated-values), others may be quoted as in CSV.
    """
    header: list[str] | None = None
    count = 0
    for place, row in _rows(path, delimiter, fail):
        if header is None:
            header = row
            if row.count(column) > 1:
                raise InputError(
                    f"{str(path)!r} has more than one column {column!r}.", "Rename one of them."
                )
        elif len(row) == len(header):
            yield count, dict(zip(header, row, strict=True))
            count += 1
        elif row:
            fail(f"{path}, {place}", f"{len(row)} fields, and the header has {len(header)}")


def _rows(path: File, delimiter: str, fail: Fail) -> Iterator[tuple[str, list[str]]]:
    """Place of each row, as messages name it, and its fields; blank lines have none."""
    if delimiter == "\t":
        for number, line in _lines(path, fail):
            yield f"line {number}", fields_of(line, delimiter) if line.strip("\r\n") else []
        return
    lines = (line for _, line in _lines(path, fail))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        began = reader.line_num + 1
        try:
            with wide_fields():
                row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fail(f"{path}, lines {began} to {reader.line_num}", f"no CSV ({first_line(error)})")
            continue
        yield f"line {began}", row


def _json_file(path: File, column: str | None, fail: Fail) -> Iterator[str]:
    """A JSON array of texts or of mappings, or a mapping of columns."""
    with path.open("rb") as file:
        content = file.read()
    try:
        data: Any = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{str(path)!r} is no JSON ({first_line(error)}).",
            "Give an array of texts or of objects; one object per line in a .jsonl file.",
        ) from error
    name = COLUMN if column is None else column
    if isinstance(data, dict) and isinstance(data.get(name), (list, str)):
        values = data[name] if isinstance(data[name], list) else [data[name]]
        data = [{name: value} for value in values]
    if not isinstance(data, list):
        has = f" with {', '.join(map(repr, data))}" if isinstance(data, dict) else ""
        raise InputError(
            f"{str(path)!r} holds one JSON {type(data).__name__}{has}, expected an array of texts or of objects"
            f", or a list {name!r}.",
            "Name the list of the texts: profile(..., column=name).",
        )
    if column is None and all(isinstance(text, str) for text in data):
        yield from data
    else:
        yield from _records(str(path), enumerate(data), name, fail)


def _lines(path: File, fail: Fail) -> Iterator[tuple[int, str]]:
    """Lines as UTF-8; a line in another encoding is reported and skipped."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                fail(f"{path}, line {number}", f"not UTF-8 ({error.reason})")


def _json_lines(path: File, fail: Fail) -> Iterator[tuple[int, Any]]:
    for number, line in _lines(path, fail):
        if line.strip():
            try:
                yield number - 1, json.loads(line)
            except (ValueError, RecursionError) as error:
                fail(f"{path}, line {number}", f"not JSON ({first_line(error)})")


def _records(
    source: str, rows: Iterable[tuple[int, Any]], column: str, fail: Fail
) -> Iterator[str]:
    """A column of mappings. The first row without the column is an error; one without text is reported."""
    for k, row in rows:
        if not isinstance(row, dict) or column not in row:
            has = ", ".join(map(repr, row)) if isinstance(row, dict) else type(row).__name__
            raise InputError(
                f"Row {k} of {source} has no column {column!r} (it has {has}).",
                "Name the column of the texts: profile(..., column=name).",
            )
        if isinstance(row[column], str):
            yield row[column]
        else:
            fail(f"{source}, row {k}", f"{column!r} is a {type(row[column]).__name__}, no text")


def _parquet(path: File, column: str, fail: Fail) -> Iterator[str]:
    require_extra("pyarrow", "Reading Parquet needs pyarrow", "pandas")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path if isinstance(path, Path) else path.open("rb"))
    except pa.ArrowException as error:
        raise InputError(
            f"{str(path)!r} cannot be read as Parquet ({first_line(error)}).",
            "Give a whole Parquet file.",
        ) from error
    with file:
        schema = file.schema_arrow
        if column not in schema.names:
            raise InputError(
                f"{str(path)!r} has no column {column!r} (it has {', '.join(schema.names)}).",
                "Name the column of the texts: profile(..., column=name).",
            )
        kind = schema.field(column).type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise InputError(
                f"Column {column!r} of {str(path)!r} holds {kind}, no text.",
                "Name the column of the texts: profile(..., column=name).",
            )
        for group in range(file.num_row_groups):
            try:
                values = file.read_row_group(group, columns=[column])[column].to_pylist()
            except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
                fail(f"{path}, row group {group}", f"cannot be read ({first_line(error)})")
                continue
            for k, value in enumerate(values):
                if value is None:
                    fail(f"{path}, row group {group}, row {k}", f"{column!r} is empty")
                else:
                    yield value
