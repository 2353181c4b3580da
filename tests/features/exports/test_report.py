"""report(): many texts in one page, one text in memory at a time."""

from __future__ import annotations

import importlib
import json
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, TooLongError
from attn_widget.page.compress import inflate
from attn_widget.page.saved_run import SavedRun
from attn_widget.page.size_budget import ENOUGH, MAX_BYTES, SizeBudget
from attn_widget.page.snapshot import Snapshot
from attn_widget.protocol.built import bundle
from attn_widget.protocol.pack import unpack


def index_of(path: Path) -> dict:
    (text,) = re.findall(r'id="aw-index">(.*?)</script>', path.read_text("utf-8"))
    return json.loads(text)


def test_a_report_lists_its_texts_in_their_order(tmp_path: Path) -> None:
    texts = ["the cat sat", ("a dog", "it barked"), "<b>bold</b>"]
    path = aw.report(texts, tmp_path / "cats.html", layers=[0], title="Cats", progress=False)
    index = index_of(path)
    assert index["layout"] == "report"
    assert [run["title"] for run in index["runs"]] == [
        "the cat sat",
        "a dog · it barked",
        "<b>bold</b>",
    ]
    assert index["runs"][0]["tokens"] == 5
    assert "<title>Cats</title>" in path.read_text("utf-8")


def test_the_code_of_a_report_is_there_once(tmp_path: Path) -> None:
    path = aw.report(["the cat sat"] * 3, tmp_path / "r.html", layers=[0], progress=False)
    text = path.read_text("utf-8")
    (code,) = re.findall(r'id="aw-code">([^<]+)<', text)
    assert inflate(code).decode("utf-8").split("\0") == [
        bundle("widget.css"),
        bundle("standalone.js"),
    ]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([], "no text to report"),
        (["fine", "  "], "Text 1: .*white space"),
        (["fine", 3], "Text 1"),
        ([("a", "b", "c")], "text 0 is a tuple of 3"),
        (["lone \ud800 surrogate"], "Text 0"),
    ],
)
def test_a_text_that_cannot_be_used_is_named_and_nothing_is_written(
    tmp_path: Path, texts: list, said: str
) -> None:
    with pytest.raises(aw.AttnWidgetError, match=said):
        aw.report(texts, tmp_path / "r.html", layers=[0], progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_single_text_and_unknown_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputTypeError, match="texts is one str"):
        aw.report("the cat", tmp_path / "r.html")
    with pytest.raises(InputTypeError, match="no option 'modle'"):
        aw.report(["the cat"], tmp_path / "r.html", modle="x")
    with pytest.raises(InputError, match="an entry of views is"):
        aw.report(["the cat"], tmp_path / "r.html", views=["atention"], progress=False)


def test_all_texts_are_read_before_the_first_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bar of progress has not begun when the last text is refused."""
    texts = ["the cat sat"] * 200 + ["word " * 600]
    with pytest.raises(TooLongError, match="Text 200: "):
        aw.report(texts, tmp_path / "r.html", layers=[0])
    assert "report" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("texts", [None, 5, b"the cat"])
def test_what_is_not_several_texts_is_refused(texts: object, tmp_path: Path) -> None:
    with pytest.raises(InputTypeError, match="texts is"):
        aw.report(texts, tmp_path / "r.html", progress=False)  # pyright: ignore[reportArgumentType]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"layer": 99}, {"head": -1}, {"view": "atention"}, {"metric": "bogus"}, {"theme": "purple"},
        {"top_k": 99}, {"depth": 0}, {"quantity": "x"}, {"scale": "x"}, {"special": "no"},
        {"chrome": 3}, {"height": "tall"}, {"token": 99}, {"pair": [0, 1]}, {"group": [1]},
        {"title": 3}, {"title": "lone \ud800"}, {"layers": 3}, {"views": 3}, {"views": [3]},
    ],
)  # fmt: skip
def test_options_that_show_refuses_are_refused_before_any_text_runs(
    wrong: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By its name, which in the package is that of the function.
    module = importlib.import_module("attn_widget.analysis.texts")
    monkeypatch.setattr(module, "analyze", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises((InputError, InputTypeError)) as error:
        aw.report(["the cat"], tmp_path / "r.html", progress=False, **wrong)
    assert next(iter(wrong))[:-1] in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_report_opens_on_what_is_selected(tmp_path: Path) -> None:
    path = aw.report(
        ["the cat"], tmp_path / "r.html", layer=2, view=None, theme="dark", progress=False
    )
    (chunk,) = re.findall(r'data-chunk="paint">([^<]+)<', path.read_text("utf-8"))
    meta, _ = unpack(inflate(chunk))
    selection = meta["snapshot"]["selection"]
    assert (selection["layer"], selection["view"], selection["theme"]) == (2, "attention", "dark")


def saved_of(size: int) -> SavedRun:
    noise = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8).tobytes()
    return SavedRun("text", 20, Snapshot({"paint": noise}, "weights", 0.0, None, None))


def test_more_texts_than_a_browser_can_open_are_refused_after_a_few() -> None:
    many = SizeBudget([20] * 3000)
    large = saved_of(int(MAX_BYTES / 2000))
    for _ in range(ENOUGH - 1):
        many.take(large)
    with pytest.raises(InputError, match=r"3,000 texts .* Give about 1,\d{3} at a time"):
        many.take(large)


def test_three_thousand_short_texts_have_room_and_share_it() -> None:
    room = SizeBudget([20] * 3000)
    small = saved_of(int(MAX_BYTES / 3000 * 0.7))
    for _ in range(2 * ENOUGH):
        room.take(small)
    assert room.of_one["most"] * 3000 < MAX_BYTES
    assert room.of_one["tensors"] == 1 / 3000


def test_a_long_text_at_the_beginning_does_not_speak_for_short_ones() -> None:
    room = SizeBudget([400] * ENOUGH + [10] * 3000)
    large = saved_of(int(MAX_BYTES / 2000))
    for _ in range(ENOUGH):
        room.take(large)


def test_memory_does_not_grow_with_the_number_of_texts(tmp_path: Path) -> None:
    def texts(count: int) -> list[str]:
        return [f"the cat number {i} sat on the mat" for i in range(count)]

    def peak(count: int) -> int:
        tracemalloc.start()
        aw.report(texts(count), tmp_path / "r.html", layers=[0], heads=[0], progress=False)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2)  # what is loaded once
    few, many = peak(3), peak(12)
    assert many - few < 5_000_000
