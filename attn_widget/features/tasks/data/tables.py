"""Any CSV file, `datasets` dataset, data frame or dict of columns as a Dataset."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attn_widget.checks import (
    check_name,
    check_path,
    check_seed,
    first_line,
    nearest,
    short_repr,
    stands_at,
)
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.reading.wide_fields import wide_fields
from attn_widget.features.tasks.data.dataset import Dataset, make_split, split_equally
from attn_widget.features.tasks.data.labels import check_texts, encode, is_missing
from attn_widget.features.tasks.data.splits import SHARES, assign, join_groups

# Names of the parts of a published dataset.
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}


@dataclass(frozen=True)
class Table:
    """Columns of equal length, and what to call a row in a message ("line 7")."""

    texts: list[Any]
    labels: list[Any]
    groups: list[Any] | None
    rows: list[str]


def read_csv(
    path: str | os.PathLike[str],
    *,
    text: str = "text",
    label: str = "label",
    group: str | None = None,
    classes: Sequence[str] | None = None,
    seed: int = 0,
    encoding: str = "utf-8-sig",
) -> Dataset:
    r"""A CSV file with a header (tab-separated if named ``.tsv``), as three splits.

    Parameters
    ----------
    path : str or path
    text, label, group, classes, seed
        As in `from_dataset`, which splits it.
    encoding : str
        The default is UTF-8, with or without a byte order mark.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError, InputTypeError
        No such file, another encoding, columns that do not exist, and all that `from_dataset` raises;
        rows are named by the line that they end on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> rows = [f"{word} thing number {k},{k % 2}" for k in range(20) for word in ("bad", "good")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "things.csv"
    ...     _ = file.write_text("\n".join(["text,label", *rows]))
    ...     read_csv(file, classes=("even", "odd"))
    Dataset('things', 2 classes, train 28, validation 4, test 8)
    """
    file = check_path(path, "path")
    _check_columns(text, label, group)
    check_name(encoding, "encoding", "the name of an encoding")
    seed = check_seed(seed)
    if stands_at(file) != "file":
        what = "is a folder" if stands_at(file) else "does not exist"
        raise InputError(f"{str(path)!r} {what}.", "Give the path of a CSV file.")
    try:
        with wide_fields(), file.open(encoding=encoding, newline="") as lines:
            reader = csv.DictReader(
                lines, delimiter="\t" if file.suffix.lower() == ".tsv" else ",", strict=True
            )
            wanted = [name for name in (text, label, group) if name is not None]
            for name in wanted:
                _check_column(name, reader.fieldnames or [], str(path))
            table = Table([], [], None if group is None else [], [])
            for row in reader:
                where = f"line {reader.line_num}"
                if None in row or None in row.values():
                    raise InputError(
                        f"{str(path)!r}, {where}: not the {len(reader.fieldnames or [])} columns of the "
                        "header.",
                        'Put texts with commas, quotes or line breaks into quotes ("...").',
                    )
                table.texts.append(row[text])
                table.labels.append(row[label])
                if table.groups is not None and group is not None:
                    table.groups.append(row[group])
                table.rows.append(where)
    except InputError:  # a ValueError too
        raise
    except (LookupError, ValueError) as error:
        raise InputError(
            f"{str(path)!r} is not {short_repr(encoding)}: {first_line(error)}.",
            "Give its encoding: encoding='cp1252'.",
        ) from error
    except (csv.Error, OSError) as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {first_line(error)}.", "Save it again as CSV."
        ) from error
    return _whole(file.stem, table, classes, seed)


def from_dataset(
    dataset: Any,
    *,
    text: str = "text",
    label: str = "label",
    group: str | None = None,
    classes: Sequence[str] | None = None,
    seed: int = 0,
    name: str = "dataset",
) -> Dataset:
    """Columns of texts and labels, as three splits.

    One table is shared out 70/20/10 by group, near copies of a text together, and then texts are left
    out until every class is as frequent in each split. Of a dataset with splits of its own those are
    kept whole; a validation or test split that is missing is taken from its training split.

    Parameters
    ----------
    dataset
        A `datasets.Dataset` or `DatasetDict`, a data frame, a dict of columns, a dict of such tables by
        split ("train", "validation", "test"), or a list of rows (dicts).
    text, label : str
        Names of the columns.
    group : str, optional
        Name of a column: rows with the same value (a review, an author) stay in one split.
    classes : sequence of str, optional
        Names of the classes in their order. Labels are then these names, or 0 to c - 1. Without it:
        the dataset's own names (`ClassLabel`), the sorted labels where they are strings, or whole
        numbers without a gap, from 0 or 1.
    seed : int
    name : str

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        Missing columns, empty texts, missing labels, labels with gaps, one class only, too few texts or
        groups of a class for three splits, a text or group in two splits of the dataset's own.
    InputTypeError
        Something without columns, texts that are not strings, a seed that is no whole number, classes
        that are no names.

    Examples
    --------
    >>> words = ["bad", "good"]
    >>> texts = [f"{words[k % 2]} thing number {k}" for k in range(40)]
    >>> found = from_dataset({"text": texts, "label": [k % 2 for k in range(40)]}, classes=words)
    >>> found, found.counts()["test"]
    (Dataset('dataset', 2 classes, train 28, validation 4, test 8), (4, 4))
    """
    seed = check_seed(seed)
    _check_columns(text, label, group)
    check_name(name, "name")
    parts = _own_splits(dataset, text)
    if parts is None:
        table, names = _table(dataset, text, label, group, "")
        if classes is not None:
            return _whole(name, table, classes, seed)
        return _whole(name, _named(table, names), names, seed)
    tables = {split: _table(part, text, label, group, f"{split} ") for split, part in parts.items()}
    if classes is not None:
        return _parts(name, {split: table for split, (table, _) in tables.items()}, classes, seed)
    named = {split: _named(table, names) for split, (table, names) in tables.items()}
    return _parts(name, named, tables["train"][1], seed)


def _whole(name: str, table: Table, classes: Sequence[str] | None, seed: int) -> Dataset:
    """One table, split here."""
    texts = check_texts(table.texts, table.rows)
    labels, names = encode(table.labels, table.rows, classes)
    groups = _groups(table) or range(len(texts))
    return split_equally(name, texts, labels, groups, names, seed)


def _parts(
    name: str, tables: dict[str, Table], classes: Sequence[str] | None, seed: int
) -> Dataset:
    """Tables that are splits already."""
    rows = [row for table in tables.values() for row in table.rows]
    texts = check_texts([text for table in tables.values() for text in table.texts], rows)
    labels, names = encode([x for table in tables.values() for x in table.labels], rows, classes)
    groups = [x for table in tables.values() for x in _groups(table) or []]
    placed: dict[str, list[int]] = {}
    for split, table in tables.items():
        start = sum(map(len, placed.values()))
        placed[split] = list(range(start, start + len(table.texts)))
    _check_apart("text", [text.strip() for text in texts], placed, rows)
    if groups:
        _check_apart("group", groups, placed, rows)
    missing = [split for split in SHARES if split not in placed]
    if missing:
        inside = placed["train"]
        joined = join_groups(
            [texts[row] for row in inside], [groups[row] for row in inside] if groups else inside
        )
        parts = assign(labels[inside], joined, ("train", *missing), seed)
        placed |= {split: [inside[row] for row in part] for split, part in parts.items()}
    for split, chosen in placed.items():
        absent = [c for k, c in enumerate(names) if k not in set(labels[chosen].tolist())]
        if absent:
            raise InputError(
                f"The {split} split has {len(chosen)} texts and none of class {absent[0]!r}.",
                "Give more texts of it, or one table and let it be split here.",
            )
    splits = {split: make_split(texts, labels, None, rows) for split, rows in placed.items()}
    return Dataset(name, names, splits["train"], splits["validation"], splits["test"])


def _groups(table: Table) -> list[Any] | None:
    if table.groups is None:
        return None
    for value, where in zip(table.groups, table.rows, strict=True):
        if is_missing(value):
            raise InputError(
                f"The group of {where} is missing.", "Fill the column, or name no group."
            )
    return [str(value) for value in table.groups]


def _check_apart(
    what: str, values: Sequence[str], placed: dict[str, list[int]], rows: Sequence[str]
) -> None:
    seen: dict[str, tuple[str, int]] = {}
    twice: list[tuple[int, int]] = []
    for split, chosen in placed.items():
        for row in chosen:
            first_split, first = seen.setdefault(values[row], (split, row))
            if first_split != split:
                twice.append((first, row))
    if twice:
        first, row = twice[0]
        raise InputError(
            f"{len(twice)} rows have a {what} that another split has too: {rows[first]} and {rows[row]} "
            f"({values[row][:60]!r}).",
            "Remove them from one of the splits, or give one table and let it be split here.",
        )


def _own_splits(dataset: Any, text: str) -> dict[str, Any] | None:
    """Tables by split, if ``dataset`` is a dict of those."""
    if not isinstance(dataset, Mapping) or text in dataset or "train" not in dataset:
        return None
    parts: dict[str, Any] = {}
    for key, part in dataset.items():
        split = SPLIT_NAMES.get(str(key).lower())
        if split is None or split in parts:
            raise InputError(
                f"The splits are {[str(key) for key in dataset]}, expected train, validation and test.",
                "Pass a dict of the splits that you want: {'train': ..., 'test': ...}.",
            )
        parts[split] = part
    return parts


def _table(
    dataset: Any, text: str, label: str, group: str | None, where: str
) -> tuple[Table, Sequence[str] | None]:
    """Columns by name, and the dataset's own names of the classes."""
    if isinstance(dataset, Sequence) and dataset and isinstance(dataset[0], Mapping):
        dataset = {key: [row.get(key) for row in dataset] for key in dataset[0]}
    names = getattr(dataset, "column_names", None)
    if names is None:
        names = dataset if isinstance(dataset, Mapping) else getattr(dataset, "columns", None)
    if names is None or not hasattr(dataset, "__getitem__"):
        raise InputTypeError(
            f"The dataset is of type {type(dataset).__name__}, expected a table with columns.",
            "Give a Dataset or DatasetDict, a data frame, a dict of columns, or a list of dicts "
            "(of a streamed dataset: list(dataset)).",
        )
    names = [str(column) for column in names]
    wanted = [column for column in (text, label, group) if column is not None]
    for column in wanted:
        _check_column(column, names, "the dataset")
    table: Any = dataset
    columns = {column: list(table[column]) for column in wanted}
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"Columns of different lengths: {lengths}.", "Give one value per row.")
    own = getattr((getattr(dataset, "features", None) or {}).get(label), "names", None)
    rows = [f"{where}row {row}" for row in range(len(columns[text]))]
    return Table(columns[text], columns[label], columns.get(group) if group else None, rows), own


def _named(table: Table, names: Sequence[str] | None) -> Table:
    """Numbers of a `ClassLabel` as its names: they are places, also where names are digits."""
    if not names:
        return table
    labels = [
        names[int(label)]
        if isinstance(label, (int, np.integer)) and 0 <= label < len(names)
        else label
        for label in table.labels
    ]
    return replace(table, labels=labels)


def _check_columns(text: Any, label: Any, group: Any) -> None:
    """Names of columns are str, each of another column."""
    for what, name in (("text", text), ("label", label), ("group", group)):
        if what != "group" or name is not None:
            check_name(name, what, "the name of a column")
    if text == label:
        raise InputError(
            f"text and label are both {short_repr(text)}, expected two columns.",
            "Name each of them.",
        )


def _check_column(name: str, columns: Sequence[str], where: str) -> None:
    if name not in columns:
        raise InputError(
            f"There is no column {short_repr(name)} in {where}: it has {short_repr(list(columns))}.",
            nearest(name, columns) or "Name it: text=..., label=..., group=...",
        )
