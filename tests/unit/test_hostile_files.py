"""Files and folders that nobody meant to leave: loops of links, halves of folders, damage."""

from __future__ import annotations

import copy
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, ModelLoadError, NotAvailableError
from attn_widget.features import tasks
from attn_widget.features.corpus.reading.sources import files_of, read_texts
from attn_widget.features.exports.notebook import LivePages
from tests.unit import tiny_models


@pytest.fixture(scope="module")
def tiny() -> Any:
    return tiny_models.build("bert")


def test_links_that_loop_are_followed_once(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for k in range(3):  # each alone has 40 levels, together they have 3^40 folders
        (deep / f"up{k}").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "more").symlink_to(tmp_path / "elsewhere")
    for place in ("a/one.txt", "a/b/two.txt", "elsewhere/three.txt"):
        (tmp_path / place).write_text(place)
    (tmp_path / "a" / "same.txt").symlink_to(tmp_path / "a" / "one.txt")
    found = [
        str(path.relative_to(tmp_path))
        for path in map(Path, map(str, files_of(f"{tmp_path}/a/**")))
    ]
    assert found == ["a/b/two.txt", "a/more/three.txt", "a/one.txt"]
    assert read_texts(f"{tmp_path}/a/**/*.txt", None) == (
        ["a/b/two.txt", "elsewhere/three.txt", "a/one.txt"],
        [],
    )
    assert [Path(str(f)).name for f in files_of(f"{tmp_path}/**/b/**/t*.txt")] == [
        "two.txt",
        "three.txt",
    ]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_field_of_any_length_is_read(suffix: str, tmp_path: Path) -> None:
    long = "a" * 131_073
    file = tmp_path / f"long{suffix}"
    mark = "\t" if suffix == ".tsv" else ","
    rows = [f"{long} {k}{mark}{k % 2}" for k in range(40)]
    file.write_text("\n".join([f"text{mark}label", *rows]))
    before = csv.field_size_limit()
    texts, failed = read_texts(file, None)
    assert (texts, failed) == ([f"{long} {k}" for k in range(40)], [])
    data = tasks.read_csv(file, text="text", label="label", classes=("no", "yes"))
    assert max(len(text) for text in data.train.texts) == len(long) + 3
    assert csv.field_size_limit() == before


def test_a_revision_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(InputError, match="revision has a lone surrogate, U\\+D800"):
        aw.load("some/name", revision="\ud800")


def failing(tiny: Any) -> Any:
    """A model with fewer embeddings than it says."""
    model = copy.deepcopy(tiny[0])
    model.base_model.embeddings.word_embeddings = torch.nn.Embedding(8, 32)
    model.base_model.embeddings.word_embeddings.num_embeddings = 512
    return model, tiny[1]


def test_a_model_that_fails_is_named_not_the_disk(tiny: Any, tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    encoder = aw.load(failing(tiny))
    encoder.n_embeddings = 512
    for call in (
        lambda: aw.analyze("the cat", model=encoder, tagger=None),
        lambda: aw.corpus.index(
            ["the cat"], tmp_path / "i", layer=0, model=encoder, tagger=None, progress=False
        ),
    ):
        with pytest.raises(
            NotAvailableError, match=r"cannot be run on this text: IndexError: .*range"
        ) as told:
            call()
        assert "disk" not in str(told.value) and isinstance(told.value.__cause__, IndexError)


def test_a_call_that_was_killed_blocks_no_folder(tiny: Any, tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    code = f"""
import os, sys
import attn_widget as aw
from attn_widget.features.corpus.words import build
from tests.unit import tiny_models
build._finish = lambda *_: os._exit(9)
aw.corpus.index(["the cat sat"], {str(tmp_path / "i")!r}, layer=0, model=tiny_models.build("bert"), tagger=None, progress=False)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    with pytest.raises(InputError, match="no finished index"):
        aw.WordIndex.open(tmp_path / "i", model=tiny)
    made = aw.corpus.index(
        ["a dog"], tmp_path / "i", layer=0, model=tiny, tagger=None, progress=False
    )
    assert made.n_texts == 1
    assert aw.WordIndex.open(tmp_path / "i", model=tiny).n_tokens == made.n_tokens
    with pytest.raises(InputError, match="holds an index already"):
        aw.corpus.index(["a dog"], tmp_path / "i", layer=0, model=tiny, tagger=None, progress=False)


def test_a_training_that_was_killed_at_its_first_write_begins_again(
    tiny: Any, tmp_path: Path
) -> None:
    for name in (".checkpoint.json.part", ".checkpoint.json.0a1b2c3d.part"):
        (tmp_path / name).write_text('{"form')
    fitted = tasks.fit_classifier(
        tiny, ["a good cat", "a bad dog"], [0, 1], epochs=1, checkpoint=tmp_path, progress=False
    )
    assert fitted.history
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".checkpoint")]


def test_a_damaged_record_of_a_classifier_is_named(tiny: Any, tmp_path: Path) -> None:
    texts = ["a good cat", "a bad dog"]
    fitted = tasks.fit_classifier(tiny, texts, [0, 1], epochs=1, progress=False)
    folder = fitted.save(tmp_path / "c")
    record = folder / "fit.json"
    whole = record.read_text()
    record.write_text(whole.replace("loss", "lost"))
    with pytest.raises(ModelLoadError, match=r"is damaged: fit\.json is not what was written"):
        tasks.load_classifier(folder)
    (folder / "sha256.json").unlink()  # as an earlier version left it
    history = json.loads(whole)["history"]
    for damaged in (
        "[" * 100_000, "[]", "{", "\x00", '{"history": 5}', '{"settings": []}', '{"moved": [[1], [2, 3]]}',
        '{"moved": "a"}', '{"history": [[]]}', '{"history": [{}]}', '{"history": [{"validation": {}}]}',
        json.dumps({"history": [{**history[0], "train": {"loss": None}}]}),
    ):  # fmt: skip
        record.write_text(damaged)
        with pytest.raises(ModelLoadError, match=r"fit.json' is damaged"):
            tasks.load_classifier(folder)
    record.write_text(whole)
    assert repr(tasks.load_classifier(folder)) == repr(fitted)


def test_a_damaged_notebook_is_left_as_it_is() -> None:
    output = '<div class="attn-widget-output" data-version="0"></div>'
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "m"}, "text/html": output}
    state = {
        "application/vnd.jupyter.widget-state+json": {
            "state": {"m": {"state": {"a": "IPY_MODEL_b"}}, "b": {}}
        }
    }
    whole: Any = {
        "cells": [
            {
                "cell_type": "code",
                "outputs": [{"output_type": "display_data", "data": view}],
                "source": "",
            }
        ],
        "metadata": {"widgets": state},
        "nbformat": 4,
        "nbformat_minor": 5,
    }

    def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        keys = (
            value
            if isinstance(value, dict)
            else range(len(value))
            if isinstance(value, list)
            else ()
        )
        return [at, *(path for key in keys for path in paths(value[key], (*at, key)))]

    for path in paths(whole)[1:]:
        for wrong in (None, 5, "a", [], {}, [None], [[]], {"a": None}):
            notebook = copy.deepcopy(whole)
            place = notebook
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = wrong
            LivePages().preprocess(nbformat.from_dict(notebook), {})
    left, _ = LivePages().preprocess(nbformat.from_dict(copy.deepcopy(whole)), {})
    assert "widgets" not in left.metadata
    assert list(left.cells[0].outputs[0].data) == ["text/html"]


def test_an_engine_page_beyond_the_limit_of_memory_is_refused(tmp_path: Path) -> None:
    """The tokenizer's library would end the process (ulimit -v)."""
    code = f"""
import re, resource
import attn_widget as aw
from attn_widget.errors import NotEnoughMemoryError
from attn_widget.host.memory import read
widget = aw.AttentionWidget(aw.analyze("the cat", tagger=None, progress=False))
widget.analysis.run.encoder.model
used = int(re.search(r"VmSize:\\s+(\\d+)", read("/proc/self/status"))[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + 150_000_000,) * 2)
try:
    widget.to_html({str(tmp_path / "a.html")!r}, engine=True)
except NotEnoughMemoryError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("A page with the weights of attn_widget/mini takes some 0.5 GB"), (
        ran
    )
    assert not (tmp_path / "a.html").exists()
