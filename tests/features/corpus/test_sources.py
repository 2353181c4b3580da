"""Texts from files and datasets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import attn_widget as aw
from attn_widget import profile
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading.sources import read_texts
from attn_widget.features.corpus.storage import Rows

TEXTS = ["Cats purr.", 'The dog, "Rex", ran.', "Über uns."]


class Dataset:
    column_names = ("text", "label")

    def __iter__(self) -> Any:
        return iter([{"text": text, "label": 1} for text in TEXTS])


def written(folder: Path, kind: str) -> Path:
    path = folder / f"texts.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"text": TEXTS, "n": [1, 2, 3]}), path, row_group_size=1)
    elif kind == "jsonl":
        path.write_text("\n".join(json.dumps({"text": text}) for text in TEXTS), "utf-8")
    elif kind == "csv":
        rows = ["n,text", *(f'1,"{text}"' for text in (t.replace('"', '""') for t in TEXTS))]
        path.write_text("\n".join(rows), "utf-8")
    else:
        path.write_text("\n\n".join(TEXTS), "utf-8")
    return path


@pytest.mark.parametrize("kind", ["txt", "jsonl", "csv", "parquet"])
def test_each_kind_of_file_gives_its_texts(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, kind)
    assert read_texts(path, None) == (TEXTS, [])
    if kind == "txt":
        with pytest.raises(InputError, match="has no columns"):
            read_texts(str(tmp_path / "*"), "text")
    else:
        assert read_texts(str(tmp_path / "*"), "text") == (TEXTS, [])


def test_a_profile_of_a_file_is_that_of_its_texts(tmp_path: Path) -> None:
    wanted = profile(TEXTS, tagger=None, progress=False)
    for source in (written(tmp_path, "parquet"), Dataset()):
        found = profile(source, tagger=None, progress=False)
        assert np.array_equal(found.figures, wanted.figures, equal_nan=True)
        assert found.failed == []


def test_addresses_name_files_and_the_folder_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``file://`` goes the way of ``s3://``."""
    written(tmp_path, "parquet")
    given = {"tagger": None, "progress": False, "folder": f"{tmp_path.as_uri()}/work"}
    wanted = profile(TEXTS, tagger=None, progress=False)
    found = profile(f"{tmp_path.as_uri()}/*.parquet", **given)
    assert np.array_equal(found.figures, wanted.figures, equal_nan=True)
    assert len(list((tmp_path / "work").glob("part-*"))) == 1
    monkeypatch.setattr("attn_widget.features.corpus.engines.local.read_chunk", None)
    again = profile(f"{tmp_path.as_uri()}/*.parquet", **given)
    assert np.array_equal(again.figures, wanted.figures, equal_nan=True)
    for address in (f"{tmp_path.as_uri()}/*.csv", "file:///nowhere/*.txt"):
        with pytest.raises(InputError, match="No file matches"):
            profile(address, **given)
    with pytest.raises(InputError, match="cannot be listed"):
        profile("nothing://bucket/*.txt", **given)


def test_the_splits_of_a_dataset_are_not_a_dataset() -> None:
    class Splits(dict[str, Any]):
        column_names: ClassVar = {"train": ["text"]}  # as a DatasetDict has it

    with pytest.raises(InputError, match="splits 'train'"):
        profile(Splits(train=Dataset()), progress=False)


def test_what_cannot_be_read_is_listed_and_the_rest_is_kept(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.txt"
    mixed.write_bytes(b"One.\n" + "Zwölf.\n".encode("latin-1") + b"Two.\n")
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"text": "One."}\n{"text"\n{"text": 5}\n')
    for path, texts, n_failed in ((mixed, ["One.", "Two."], 1), (lines, ["One."], 2)):
        found, failed = read_texts(path, None)
        assert (found, len(failed)) == (texts, n_failed)
    done = profile(mixed, tagger=None, progress=False)
    assert done.n_texts == 2 and done.failed[0]["source"] == f"{mixed}, line 2"


def test_a_corrupt_block_of_parquet_loses_no_other(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    table = pa.table({"text": TEXTS})
    pq.write_table(table, path, row_group_size=1, use_dictionary=False, compression="none")
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    packed = bytearray(path.read_bytes())
    packed[start : start + 12] = b"\xff" * 12
    path.write_bytes(packed)
    found, failed = read_texts(path, None)
    assert found == [TEXTS[0], TEXTS[2]]
    assert [item["source"] for item in failed] == [f"{path}, row group 1"]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_missing_column_is_told_before_the_work(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'body'"):
        profile(written(tmp_path, kind), column="body", progress=False)


def test_other_bad_sources_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds int64, no text"):
        profile(written(tmp_path, "parquet"), column="n", progress=False)
    with pytest.raises(InputError, match="No file matches"):
        profile(str(tmp_path / "*.csv"), progress=False)
    with pytest.raises(InputError, match="for files and datasets"):
        profile(TEXTS, column="text", progress=False)
    with pytest.raises(InputTypeError, match="column is a int"):
        profile(Dataset(), column=5, progress=False)  # pyright: ignore[reportArgumentType]


def test_another_order_of_the_texts_gives_the_same_bits(tmp_path: Path) -> None:
    one = profile(TEXTS, tagger=None, progress=False)
    other = profile(TEXTS[::-1], tagger=None, progress=False)
    one.save(tmp_path / "one.parquet")
    for found in (other, Profile.load(tmp_path / "one.parquet")):
        for key in one.keys:
            assert one.mean[key].tobytes() == found.mean[key].tobytes()
            assert one.sd[key].tobytes() == found.sd[key].tobytes()
            assert [e.tobytes() for e in one.interval[key]] == [
                e.tobytes() for e in found.interval[key]
            ]


def test_a_file_without_hashes_still_loads(tmp_path: Path) -> None:
    made = profile(TEXTS, tagger=None, progress=False)
    before = Profile(Rows(made.index, made.n_tokens, made.figures), made.meta)
    before.save(tmp_path / "before.parquet")
    found = Profile.load(tmp_path / "before.parquet")
    assert "digest" not in pq.read_schema(tmp_path / "before.parquet").names
    assert np.array_equal(found.interval["self"][0], before.interval["self"][0], equal_nan=True)


# GLUE's files: quotes that nothing closes, and labels beside the sentences.
GLUE = """sentence\tlabel
it 's a "charming journey\t1
"unflinchingly bleak\t0
"a quoted one"\t1
"""
SENTENCES = ["it 's a \"charming journey", '"unflinchingly bleak', '"a quoted one"']
ROWS = [{"text": text, "n": k} for k, text in enumerate(TEXTS)]


def csv_of(delimiter: str) -> str:
    quoted = ['"' + text.replace('"', '""') + '"' for text in TEXTS]
    return "\n".join(
        [f"n{delimiter}text", *(f"{k}{delimiter}{text}" for k, text in enumerate(quoted))]
    )


@pytest.mark.parametrize(
    ("name", "content", "column", "texts"),
    [
        ("sst2.tsv", GLUE, "sentence", SENTENCES),
        ("sst2.txt", GLUE, "sentence", SENTENCES),
        ("sst2.csv", GLUE, "sentence", SENTENCES),
        ("a.tab", GLUE, "label", ["1", "0", "1"]),
        ("a.csv", csv_of(","), None, TEXTS),
        ("a.csv", csv_of(";"), None, TEXTS),
        ("a.csv", csv_of("|"), "text", TEXTS),
        ("a.csv", "\ufeff" + csv_of(","), "n", ["0", "1", "2"]),
        ("a.dat", csv_of(","), "text", TEXTS),
        ("a.json", json.dumps(TEXTS), None, TEXTS),
        ("a.json", json.dumps(TEXTS, indent=1), None, TEXTS),
        ("a.json", json.dumps(ROWS), None, TEXTS),
        ("a.json", json.dumps(ROWS, indent=2), "text", TEXTS),
        ("a.json", json.dumps({"text": TEXTS, "n": [1, 2, 3]}), None, TEXTS),
        ("a.json", json.dumps({"title": TEXTS}, indent=2), "title", TEXTS),
        ("a.json", json.dumps({"text": TEXTS[1]}), None, TEXTS[1:2]),
        ("a.json", "\n".join(map(json.dumps, ROWS)), None, TEXTS),
        ("a.txt", "\n".join(map(json.dumps, ROWS)), None, TEXTS),
        ("a.txt", json.dumps(TEXTS), None, TEXTS),
        ("a", json.dumps(ROWS, indent=2), "text", TEXTS),
        ("a.txt", "[CLS] a text\n[SEP] another", None, ["[CLS] a text", "[SEP] another"]),
        ("a.txt", "{a} text\n5", None, ["{a} text", "5"]),
        ("a.txt", csv_of(","), None, csv_of(",").splitlines()),
    ],
)
def test_a_file_is_read_by_its_content(
    name: str, content: str, column: str | None, texts: list[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    assert read_texts(path, column) == (texts, [])


@pytest.mark.parametrize("suffix", ["", ".txt", ".csv", ".json"])
def test_parquet_of_any_name_is_parquet(suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path, "parquet").rename(tmp_path / f"renamed{suffix}")
    assert read_texts(path, None) == (TEXTS, [])


@pytest.mark.parametrize(
    ("name", "content", "column", "match"),
    [
        ("a.txt", b"one\ntwo", "text", r"a\.txt' has no columns, and column is 'text'"),
        ("a.tsv", GLUE.encode(), None, r"no column 'text' \(it has 'sentence', 'label'\)"),
        ("a.csv", b"text,n,text\na,1,b", None, "more than one column 'text'"),
        ("a.json", b"[1, 2", None, "is no JSON"),
        ("a.json", b"5", None, "holds one JSON int"),
        ("a.json", b'{"title": "a"}', None, "holds one JSON dict with 'title'"),
        ("a.json", json.dumps(ROWS).encode(), "body", "no column 'body'"),
        ("a.json", json.dumps(TEXTS).encode(), "body", "no column 'body'"),
        ("a.txt.gz", gzip.compress(b"one", mtime=0), None, "is gzip, .* gunzip"),
        ("a.txt", b"%PDF-1.7", None, "is PDF"),
        ("a.xlsx", b"PK\x03\x04", None, "is a zip archive"),
        ("a.txt", "Über".encode("utf-16"), None, "is UTF-16"),
        ("a.txt", b"a\0b", None, "is a binary file"),
        ("a.parquet", b"no parquet", None, "cannot be read as Parquet"),
    ],
)
def test_what_has_no_such_texts_is_refused_by_name(
    name: str, content: bytes, column: str | None, match: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=match):
        profile(path, column=column, tagger=None, progress=False)


def test_rows_that_do_not_fit_the_header_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,n\nfirst,1\nsecond, with a comma,2\nthird\nlast,4\n"open,5\nlost,6\n')
    texts, failed = read_texts(path, None)
    assert texts == ["first", "last"]
    assert [one["source"] for one in failed] == [f"{path}, {at}" for at in ("line 3", "line 4", "lines 6 to 7")]  # fmt: skip
    assert failed[0]["reason"] == "3 fields, and the header has 2"


def test_a_column_of_a_table_in_memory(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": [*TEXTS, None, 5], "label": [1, 0, 1, 0, 1]}, index=[*"abcde"])
    for table in (frame, pa.table({"text": [*TEXTS, None], "n": [1, 2, 3, 4]})):
        assert read_texts(table, None)[0] == TEXTS
    texts, failed = read_texts(frame, "text")
    assert [one["source"] for one in failed] == ["the DataFrame, row 3", "the DataFrame, row 4"]
    wanted = profile(TEXTS, tagger=None, progress=False)
    found = profile(frame, column="text", tagger=None, progress=False)
    assert texts == TEXTS and np.array_equal(found.figures, wanted.figures, equal_nan=True)
    with pytest.raises(InputError, match=r"no column 'body' \(it has 'text', 'label'\)"):
        profile(frame, column="body", progress=False)
    twice = pd.DataFrame([["a", "b"]], columns=["text", "text"])
    with pytest.raises(InputError, match="more than one column 'text'"):
        profile(twice, progress=False)


@pytest.mark.parametrize("names", [pd.DataFrame({"text": TEXTS}), {"text": TEXTS}])
def test_names_of_columns_and_keys_are_no_texts(names: Any) -> None:
    where = aw.target(position=1, token="cat")
    kind = type(names).__name__
    if kind == "dict":
        with pytest.raises(InputTypeError, match="texts is a dict"):
            profile(names, progress=False)
    for call in (
        lambda: aw.corpus.head_means(names, progress=False),
        lambda: aw.corpus.agreement(names, target=where, progress=False),
        lambda: aw.report(names, "a.html"),
        lambda: aw.compare.many(names, progress=False),
    ):
        with pytest.raises(InputTypeError, match=f"is a {kind}, expected a list"):
            call()
