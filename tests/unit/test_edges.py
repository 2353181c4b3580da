"""Arguments, files and pipes at the edge: each is refused in words, or read for what it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.checks import first_line
from attn_widget.errors import (
    AttnWidgetError,
    InputTypeError,
    NotEnoughMemoryError,
    TooLongError,
)
from attn_widget.features.corpus.parquet_file import DamagedError
from attn_widget.model.tokenizing import tokenize_alone
from tests.unit import tiny_models
from tests.unit.needs import needs_lancedb

TEXT = "the cat sat on the mat"


class Number:
    """An int by its ``__index__`` alone, as those of many array libraries."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Broken:
    """Fails at every question."""

    def __index__(self) -> int:
        raise RuntimeError("no")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    def __hash__(self) -> int:
        return 0


@pytest.fixture(scope="module")
def analysis() -> aw.Analysis:
    return aw.analyze(TEXT, tagger=None, progress=False)


def test_whatever_is_an_int_is_read_as_one(analysis: aw.Analysis) -> None:
    np.testing.assert_array_equal(
        analysis.attention(Number(1), Number(2)), analysis.attention(1, 2)
    )
    assert analysis.predictions(Number(3)).ids.shape[1] == 3
    assert aw.target(position=Number(2), token="cat") == aw.target(position=2, token="cat")
    for number in (Number(2), np.int64(2)):
        widget = aw.show(TEXT, tagger=None, layer=number, head=number)
        assert (widget.layer, widget.head) == (2, 2) and type(widget.layer) is int
        widget.close()


@pytest.mark.parametrize("value", [Broken(), 1.5, "1", True, None, np.array([1, 2])])
def test_whatever_is_none_is_refused(analysis: aw.Analysis, value: Any) -> None:
    with pytest.raises(AttnWidgetError, match="expected an int"):
        analysis.predictions(value)
    with pytest.raises(AttnWidgetError, match="expected an int"):
        analysis.attention(value, 0)


@pytest.mark.parametrize("windows", [False, (32, 8)])
def test_progress_is_a_function_for_every_kind_of_run(windows: Any) -> None:
    a = aw.analyze(f"{TEXT} " * 20, windows=windows, tagger=None, progress=False)
    for ask in (a.mask, a.ablate):
        chosen: Any = [2] if ask == a.mask else [(1, 2)]
        with pytest.raises(InputTypeError, match="progress is 5, expected a function"):
            ask(chosen, progress=5)  # pyright: ignore[reportArgumentType]


def test_deep_nesting_is_refused_and_not_printed() -> None:
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    c = aw.compare(TEXT, "a dog", tagger=None, progress=False)
    with pytest.raises(InputTypeError):
        c.recovery(deep)


@pytest.mark.parametrize("views", [[Broken()], [["similarity"]], {"similarity": 1, "x": 2}])
def test_views_of_a_ranking_are_names(tmp_path: Path, views: Any) -> None:
    ranking = aw.similarity(
        "a cat", ["a dog", "a bird"], model="attn_widget/mini", pooling="mean", tagger=None, progress=False
    )  # fmt: skip
    with pytest.raises(AttnWidgetError, match=r"has only the view|expected a list"):
        ranking.to_html(tmp_path / "page.html", views=views)


@pytest.mark.parametrize("truncation", [False, True])
def test_a_text_of_megabytes_is_refused_before_it_is_tokenized(
    monkeypatch: pytest.MonkeyPatch, truncation: bool
) -> None:
    long = "the cat sat " * 900_000
    encoder = aw.load(progress=False)
    monkeypatch.setattr("attn_widget.model.tokenizing.tokenize_alone", None)
    with pytest.raises(TooLongError, match=r"10,800,000 characters; .* reads at most 512 tokens"):
        aw.analyze(long, model=encoder, truncation=truncation, progress=False)
    with pytest.raises(TooLongError, match="text_pair has 10,800,000"):
        encoder.encode("a", long, truncation=truncation)
    monkeypatch.setattr("attn_widget.model.two_texts.tokenize_alone", None)
    with pytest.raises(TooLongError, match="10,800,000 characters"):
        aw.analyze(long, output="a", model=tiny_models.build("t5"), truncation=truncation)


@pytest.mark.parametrize("given", ["text", "text_pair"])
def test_a_text_that_no_windows_read_is_refused_by_its_beginning(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "the cat sat " * 900_000
    texts = {"text": "a cat", given: long}
    encoder, read = aw.load(progress=False), 0

    def counted(*args: Any) -> Any:
        nonlocal read
        read += len(args[3]["text"][0])
        return tokenize_alone(*args)

    monkeypatch.setattr("attn_widget.trace.windows.run.tokenize_alone", counted)
    monkeypatch.setattr("attn_widget.model.tokenizing.tokenize_alone", None)
    with pytest.raises(
        TooLongError, match=r"has 10,800,000 characters; 2,000 windows of 24 tokens"
    ):
        aw.analyze(**texts, model=encoder, windows=(24, 4), progress=False)
    assert read <= 300_000
    monkeypatch.setattr("attn_widget.host.memory.free_bytes", lambda: 10**8)
    with pytest.raises(
        NotEnoughMemoryError, match=r"Reading .* tokens in windows takes some .* GB"
    ):
        aw.analyze(**texts, model=encoder, windows=True, progress=False)
    assert read <= 600_000


def test_windows_that_the_memory_does_not_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = aw.load(progress=False)
    text = "the cat sat on the mat. " * 200
    monkeypatch.setattr("attn_widget.host.memory.free_bytes", lambda: 10**6)
    with pytest.raises(NotEnoughMemoryError, match=r"Reading 1,402 tokens in windows"):
        aw.analyze(text, model=encoder, windows=(24, 4), progress=False)


def changed(file: Path, **values: Any) -> Path:
    """A profile's file without a checksum, as of version 1, with another description."""
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    (key,) = set(table.schema.metadata) - {b"checksum"}
    described = {**json.loads(table.schema.metadata[key]), "format": 1, **values}
    to = file.with_name("changed.parquet")
    pq.write_table(table.replace_schema_metadata({key: json.dumps(described)}), to)
    return to


def test_a_description_that_does_not_fit_its_file_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "one.parquet"
    aw.profile([TEXT, "a dog", "it purrs"], tagger=None, progress=False).save(file)
    assert aw.Profile.load(changed(file)).n_texts == 3
    wrong: list[dict[str, Any]] = [
        *({"keys": value} for value in ("x", None, [], 3.5, [[1]], {"a": 1})),
        *({"shape": value} for value in ([1], None, "x")),
        {"observed": {"a": [1]}},
        {"seed": None},
    ]
    for values in wrong:
        with pytest.raises(DamagedError, match="description does not fit its content"):
            aw.Profile.load(changed(file, **values))


@needs_lancedb
def test_settings_and_options_of_an_index_have_their_types(
    tmp_path: Path, analysis: aw.Analysis
) -> None:
    import lancedb

    index = aw.corpus.index(
        [TEXT, "a dog"], tmp_path / "index", layer=2, tagger=None, progress=False
    )
    for exact in (np.array([1, 2]), "no", 1):
        with pytest.raises(InputTypeError, match=r"exact is .* expected True or False"):
            index.neighbors(analysis, 1, 3, exact=exact)  # pyright: ignore[reportArgumentType]
    wrong: list[tuple[str, Any]] = [
        *(("layer", value) for value in ("x", None, [], float("nan"), -1)),
        *(("n_texts", value) for value in ("x", {}, 1.5)),
        ("failed", 3),
        ("model", None),
    ]
    encoder = aw.load(progress=False)
    for name, value in wrong:
        with pytest.raises(AttnWidgetError, match=f"{name} of the settings"):
            aw.WordIndex(
                lancedb.connect(tmp_path / "index"), encoder, {**index.settings, name: value}
            )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("No kernel (see /usr/lib/python3.11/site-packages/x/y.py).", "No kernel"),
        ("cannot open '/opt/dist-packages/a b': denied", "cannot open"),
        ("Invalid bytes at C:\\Python\\Lib\\site-packages\\x.py", "Invalid bytes"),
        ("expected 3, got 4.", "expected 3, got 4"),
        ("/home/me/model.bin is no file", "/home/me/model.bin is no file"),
        ("/usr/lib/site-packages/x.py", "ValueError"),
    ],
)
def test_a_message_ends_before_a_path_of_a_package(said: str, kept: str) -> None:
    assert first_line(ValueError(said)) == kept


def test_a_pipe_that_is_closed_ends_the_command_in_silence() -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "attn_widget", TEXT]
    child = subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    os.close(reading)  # before the first line, as `| head -0`
    _, said = child.communicate()
    assert (said, child.returncode) == ("", 141)
