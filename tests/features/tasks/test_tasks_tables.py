"""Tables that somebody brings: CSV files, datasets, data frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.features import tasks

N = 60
TEXTS = [f"This is the {word} thing, number {k}." for k, word in enumerate(["bad", "good"] * 30)]
LABELS = [0, 1] * 30


class Table:
    """What `datasets.Dataset` has of what is used: names of columns, columns, features."""

    def __init__(self, columns: dict[str, list[Any]], features: dict[str, Any] | None = None):
        self.columns_, self.features = columns, features or {}
        self.column_names = list(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns_[name]


class ClassLabel:
    names = ("negative", "positive")


def columns(texts: list[Any] = TEXTS, labels: list[Any] = LABELS, **more: Any) -> dict[str, Any]:
    return {"text": texts, "label": labels, **more}


def test_all_kinds_of_tables_give_the_same_dataset() -> None:
    tables = [
        columns(),
        pd.DataFrame(columns()),
        Table(columns()),
        [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)],
    ]
    found = [tasks.from_dataset(table) for table in tables]
    assert {split.test.texts for split in found} == {found[0].test.texts}
    assert found[0].classes == ("0", "1")
    assert found[0].counts() == {"train": (21, 21), "validation": (3, 3), "test": (6, 6)}
    place = dict(zip(TEXTS, LABELS, strict=True))
    for split in found[0].splits.values():
        assert split.labels.tolist() == [place[text] for text in split.texts]
        assert split.scores is None
    assert repr(found[0]) == "Dataset('dataset', 2 classes, train 42, validation 6, test 12)"


def test_numbers_of_a_class_label_are_places_also_where_its_names_are_digits() -> None:
    class Digits:
        names = tuple(sorted(str(k) for k in range(12)))  # "10" stands before "2"

    labels = [k % 12 for k in range(120)]
    texts = [f"Text number {k} of class {Digits.names[label]}." for k, label in enumerate(labels)]
    whole = Table(columns(texts, labels), {"label": Digits()})
    for found in (tasks.from_dataset(whole), tasks.from_dataset({"train": whole})):
        assert found.classes == Digits.names
        for split in found.splits.values():
            for text, label in zip(split.texts, split.labels, strict=True):
                assert text.endswith(f"of class {found.classes[label]}.")


def test_the_names_of_a_class_label_are_used() -> None:
    found = tasks.from_dataset(Table(columns(), {"label": ClassLabel()}))
    assert found.classes == ("negative", "positive")
    assert tasks.from_dataset(
        Table(columns(), {"label": ClassLabel()}), classes=("a", "b")
    ).classes == (
        "a",
        "b",
    )


def test_groups_stay_whole() -> None:
    authors = [f"author {k // 6}" for k in range(N)]
    found = tasks.from_dataset(columns(author=authors), group="author", seed=2)
    place = dict(zip(TEXTS, authors, strict=True))
    parts = [{place[text] for text in split.texts} for split in found.splits.values()]
    assert sum(map(len, parts)) == len(set.union(*parts))


def test_near_copies_stay_together() -> None:
    texts = [text for text in TEXTS[:30] for text in (text, text.upper() + "!!")]
    labels = [label for label in LABELS[:30] for _ in range(2)]
    found = tasks.from_dataset(columns(texts, labels))
    parts = [{text.upper().rstrip("!") for text in split.texts} for split in found.splits.values()]
    assert sum(map(len, parts)) == len(set.union(*parts))


def test_splits_of_its_own_are_kept_and_missing_ones_taken_from_train() -> None:
    parts = {"train": columns(TEXTS[:40], LABELS[:40]), "test": columns(TEXTS[40:], LABELS[40:])}
    found = tasks.from_dataset(parts)
    assert found.test.texts == tuple(TEXTS[40:])
    assert set(found.train.texts) | set(found.validation.texts) == set(TEXTS[:40])
    assert found.counts()["validation"] in [(2, 2), (3, 3), (2, 3), (3, 2)]
    whole = tasks.from_dataset({**parts, "dev": columns(["x a", "x b"], [0, 1])})
    assert whole.train.texts == tuple(TEXTS[:40])
    assert whole.validation.texts == ("x a", "x b")


def test_a_csv_file_is_read_with_quotes_line_breaks_and_a_mark(tmp_path: Path) -> None:
    frame = pd.DataFrame(columns([f'"{k}", she\nsaid – {text}' for k, text in enumerate(TEXTS)]))
    frame["label"] = frame["label"].map({0: "no", 1: "yes"})
    comma, tab = tmp_path / "said.csv", tmp_path / "said.tsv"
    frame.to_csv(comma, index=False, encoding="utf-8-sig")
    frame.to_csv(tab, index=False, sep="\t")
    found = tasks.read_csv(comma)
    assert found.name == "said"
    assert found.classes == ("no", "yes")
    assert set().union(*(split.texts for split in found.splits.values())) == set(frame["text"])
    assert tasks.read_csv(tab).test.texts == found.test.texts
    assert tasks.read_csv(comma, classes=("yes", "no")).classes == ("yes", "no")


def test_labels_may_count_from_one_or_be_written_as_numbers() -> None:
    from_one = tasks.from_dataset(columns(labels=[label + 1 for label in LABELS]))
    assert from_one.classes == ("1", "2")
    floats = tasks.from_dataset(columns(labels=[float(label) for label in LABELS]))
    assert floats.test.labels.tolist() == tasks.from_dataset(columns()).test.labels.tolist()
    numbers = tasks.from_dataset(
        columns(labels=np.array(LABELS, dtype=np.int8)), classes=("a", "b")
    )
    assert numbers.classes == ("a", "b")


def with_label(row: int, label: Any) -> list[Any]:
    return [*LABELS[:row], label, *LABELS[row + 1 :]]


def with_text(row: int, text: Any) -> list[Any]:
    return [*TEXTS[:row], text, *TEXTS[row + 1 :]]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (columns(), {"text": "texts"}, "Did you mean 'text'"),
        (
            columns(),
            {"label": "stars"},
            r"no column 'stars' in the dataset: it has \['text', 'label'\]",
        ),
        (columns(), {"group": "author"}, "no column 'author'"),
        (columns([], []), {}, "no rows"),
        (columns(TEXTS[:-1]), {}, "different lengths"),
        (columns(with_text(3, " \n")), {}, "text of row 3 is empty"),
        (columns(with_text(4, float("nan"))), {}, "text of row 4 is empty"),
        (columns(with_text(5, None)), {}, "text of row 5 is empty"),
        (columns(labels=with_label(6, None)), {}, "label of row 6 is missing"),
        (columns(labels=with_label(7, float("nan"))), {}, "label of row 7 is missing"),
        (columns(labels=with_label(8, pd.NA)), {}, "label of row 8 is missing"),
        (columns(labels=with_label(8, "")), {}, "label of row 8 is missing"),
        (columns(labels=with_label(8, 0.5)), {}, "Cut ratings into classes"),
        (columns(labels=with_label(9, 3)), {}, r"\[0, 1, 3\]: \[2\] do not occur"),
        (columns(labels=with_label(9, -1)), {}, "begin at -1"),
        (columns(labels=[5 + k for k in LABELS]), {}, "begin at 5 .row 0."),
        (columns(labels=[0] * N), {}, "All 60 texts have the same label"),
        (columns(labels=["no"] * N), {}, "same label .'no'."),
        (columns(labels=with_label(1, "?")), {"classes": ("0", "1")}, "label of row 1 is '\\?'"),
        (columns(), {"classes": ("a", "b", "c")}, "class 'c' has no text"),
        (columns(), {"classes": ("a", "a")}, "given twice"),
        (columns(), {"classes": ("a",)}, r"expected one of \['a'\]"),
        (columns(labels=with_label(1, 2)), {}, "'2' has too few texts"),
        (columns(TEXTS[:4], LABELS[:4]), {}, "too few texts"),
        (columns(author=["me"] * N), {"group": "author"}, "or too few groups"),
        (columns(author=[None, *"a" * (N - 1)]), {"group": "author"}, "group of row 0 is missing"),
        ({"train": columns(), "extra": columns()}, {}, "expected train, validation and test"),
        ({"train": columns(), "test": columns()}, {}, "60 rows have a text that another split has"),
        ({"train": columns(), "test": columns(["x"], [-1])}, {}, "begin at -1 .test row 0."),
        (
            {"train": columns(), "test": columns(["x"], [1])},
            {},
            "test split has 1 texts and none of",
        ),
        ({"train": columns(), "test": columns([], [])}, {}, "test split has 0 texts"),
        ({"train": columns(["a", "b"], [0, 1])}, {}, "split has"),
        (
            {
                "train": columns(author=["a"] * N),
                "test": columns(["x", "y"], [0, 1], author=["a", "b"]),
            },
            {"group": "author"},
            "1 rows have a group",
        ),
    ],
)
def test_what_cannot_be_split_is_said(table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tasks.from_dataset(table, **options)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (iter([]), {}, "expected a table with columns"),
        ("texts.csv", {}, "expected a table with columns"),
        (columns(with_text(2, 7)), {}, "text of row 2 is of type int"),
        (columns(), {"classes": "ab"}, "expected several names"),
        (columns(), {"classes": 5}, "classes is 5, expected several names"),
        (columns(), {"classes": ("a", 5)}, "expected several names"),
        (columns(), {"seed": "0"}, "seed is a str, expected an int"),
    ],
)
def test_what_is_of_the_wrong_type_is_said(table: Any, options: Any, message: str) -> None:
    with pytest.raises(InputTypeError, match=message):
        tasks.from_dataset(table, **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no column 'text'"),
        (b"text,label\n", "no rows"),
        (b"text,stars\na,1\n", "no column 'label'"),
        (b"text,label\na,1\nb, c,0\n", "line 3: not the 2 columns"),
        (b"text,label\na\n", "line 2: not the 2 columns"),
        (b"text,label\na,1\n,0\n", "text of line 3 is empty"),
        (b"text,label\ncaf\xe9,1\n", "is not 'utf-8-sig'"),
        (b'text,label\n"a,1\n', "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "texts.csv"
    path.write_bytes(content)
    with pytest.raises(AttnWidgetError, match=message):
        tasks.read_csv(path)


def test_a_path_that_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        tasks.read_csv(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        tasks.read_csv(tmp_path)
    with pytest.raises(InputError, match="more than the disk takes"):
        tasks.read_csv("a" * 300)


def test_splits_cannot_be_changed_by_accident() -> None:
    found = tasks.from_dataset(columns())
    with pytest.raises(ValueError, match="read-only"):
        found.train.labels[0] = 1
    with pytest.raises(InputError, match="2 texts and an array of shape"):
        tasks.Split(("a", "b"), np.array([0]))
