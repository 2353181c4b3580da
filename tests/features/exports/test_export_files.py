"""Where files go: clear refusals before anything is drawn, and no half-written file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attn_widget.errors import InputError, InputTypeError
from attn_widget.host.files import destination, write


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


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    (tmp_path / "link.csv").symlink_to(pipe)
    for path in (pipe, tmp_path / "link.csv", "/dev/null"):
        with pytest.raises(InputError, match="is not a regular file"):
            destination(path)
    assert pipe.is_fifo()


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.csv", tmp_path / "a.csv"
    for old in (None, b"old"):
        if old is not None:
            target.write_bytes(old)
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write(destination(link), b"new")
        assert link.is_symlink() and target.read_bytes() == b"new"
        assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["a.csv", "a.csv", "real"]


@pytest.mark.parametrize("path", [None, 3, b"a.csv", ["a.csv"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InputTypeError, match="expected a str or a path"):
        destination(path)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a\0b.csv", "NUL"),
        ("a\ud800.csv", "no file's name can have"),
        ("~nobody-of-this-name/a.csv", "home folder"),
    ],
)
def test_names_that_no_file_can_have_are_refused(path: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        destination(path)
