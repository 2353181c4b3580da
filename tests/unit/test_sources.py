"""Texts from files and datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attn_widget import profile
from attn_widget.corpus import Profile
from attn_widget.corpus.reading.sources import read_texts
from attn_widget.corpus.storage import Rows
from attn_widget.errors import InputError, InputTypeError

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
    monkeypatch.setattr("attn_widget.corpus.engines.local.read_chunk", None)
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
