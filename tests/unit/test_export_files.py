"""Where files go: clear refusals before anything is drawn, and no half-written file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attn_widget.errors import InputError
from attn_widget.export.files import destination, write


def test_a_missing_suffix_and_a_wrong_one_are_refused_with_the_right_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no suffix, expected '\.csv'\. Use 'table\.csv'"):
        destination(tmp_path / "table", ".csv")
    with pytest.raises(InputError, match=r"Use 'table\.csv'"):
        destination(tmp_path / "table.xlsx", ".csv")


def test_a_missing_folder_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    with pytest.raises(InputError, match=r"Did you mean '.*figures'\?"):
        destination(tmp_path / "figurs" / "deep" / "a.png", ".png")
    with pytest.raises(InputError, match="does not exist"):
        destination(tmp_path / "zzz" / "a.png", ".png")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        destination(tmp_path / "a.png", ".png")


def test_the_home_folder_and_capital_suffixes_are_understood(tmp_path: Path) -> None:
    assert destination(tmp_path / "A.PNG", ".png") == tmp_path / "A.PNG"
    assert destination("~/a.png", ".png") == Path.home() / "a.png"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old and much longer")
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_when_writing_fails_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")

    def full(_self: Path, _target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in os.scandir(tmp_path)] == ["a.csv"]
