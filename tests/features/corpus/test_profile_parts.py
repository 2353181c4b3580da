"""profile() of an encoder-decoder: figures of its parts over many texts are those of single analyses."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, TooLongError
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading.batch import one_thread
from attn_widget.features.corpus.source import ProfileSource
from attn_widget.figures.catalog.specializations import ALIGNMENT
from attn_widget.figures.metrics import KEYS as METRICS
from attn_widget.page.output import outputs
from attn_widget.protocol.pack import unpack
from tests.unit import tiny_models

PAIRS = [
    ("The cat sat on the mat.", "A quick brown fox."),
    ("Why do they run?", "It rains."),
    ("It rains in Paris; nobody goes out.", "The old dog saw the cat."),
]
DATES = ["the 8th of November 1987", "March 3, 2024", "2001, May 30"]


def profiled(name: str, part: Any, **options: Any) -> Profile:
    model = tiny_models.build(name)
    return aw.profile(PAIRS, model=model, part=part, tagger=None, progress=False, **options)


@cache
def dates(part: Any = None) -> Profile:
    return aw.profile(DATES, model="dates", generate=12, part=part, tagger=None, progress=False)


def figures(run: aw.Analysis) -> dict[str, Any]:
    known = run.metrics.as_dict()
    if run.part == "cross":
        return known | run.heads.monotony.as_dict()
    return known | run.heads.specialization.raw | run.heads.patterns.as_dict()


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("name", ["t5", "bart"])
def test_figures_of_a_part_are_those_of_single_analyses(name: str, part: Any) -> None:
    p = profiled(name, part)
    assert (p.part, p.n_texts) == (part, 3) and f"({part}): 3 texts" in repr(p)
    model = tiny_models.build(name)
    with one_thread():  # as a profile reads; on two threads torch rounds otherwise
        runs = [
            aw.analyze(source, output=output, model=model, tagger=None, progress=False).of(part)
            for source, output in PAIRS
        ]
        expected = [figures(run) for run in runs]
    assert p.n_tokens.tolist() == [run.trace.n_tokens for run in runs]
    for k, by_key in enumerate(expected):
        for place, key in enumerate(p.keys):
            np.testing.assert_array_equal(p.figures[k, place], by_key[key])
    mean = np.mean([by_key["focus_entropy"] for by_key in expected], axis=0)
    np.testing.assert_allclose(p.mean["focus_entropy"], mean, rtol=1e-6)


def test_by_default_cross_attention_is_profiled_with_its_alignment() -> None:
    p = dates()
    assert p.part == "cross" and p.keys == (*METRICS, "monotony", "expected_place")
    runs = [
        aw.analyze(text, generate=12, model="dates", tagger=None, progress=False).of("cross")
        for text in DATES
    ]
    for key in (metric.key for metric in ALIGNMENT):
        expected = np.mean([run.heads.monotony.as_dict()[key] for run in runs], axis=0)
        np.testing.assert_allclose(p.mean[key], expected, rtol=1e-6)
    with pytest.raises(
        NotAvailableError, match="queries and keys of cross-attention are two texts"
    ):
        p.roles()
    with pytest.raises(NotAvailableError, match=r'part="encoder"'):
        p.pattern_records()


def test_examples_of_cross_attention_name_what_is_written_and_what_is_read() -> None:
    p = dates()
    rows = p.linked_examples(1, 1, "link", 3)
    weights = [row["weight"] for row, _ in rows]
    assert weights == sorted(weights, reverse=True) and "same word" not in p.example_names
    for row, run in rows:
        assert (run.part, run.text, run.model.source_text) == ("cross", row["output"], row["text"])
        assert row["weight"] == run.attention(1, 1)[row["query"], row["key"]]
        assert row["query_token"] == run.tokens[row["query"] + 1].text
        assert row["key_token"] == run.model.key_tokens[row["key"]].text
        words = [i for i, token in enumerate(run.tokens[1:]) if token.text not in "-</s>"]
        letters = [j for j, token in enumerate(run.model.key_tokens) if token.text.strip(" ,<>/s")]
        assert row["weight"] == run.attention(1, 1)[np.ix_(words, letters)].max()
    source = ProfileSource(p)
    reply, buffers = source.answer({"kind": "examples", "layer": 1, "head": 1, "by": "link"})
    first, run = reply["data"]["examples"][0], rows[0][1]
    assert first["written"] == rows[0][0]["query_token"] and first["output"] == run.text
    assert first["text"] == [token.text for token in run.model.key_tokens]
    np.testing.assert_array_equal(
        np.frombuffer(buffers[0], "f4"), run.attention(1, 1)[first["query"]]
    )
    request = {"kind": "example_paint", "layer": 1, "head": 1, "index": first["index"]}
    reply, buffers = source.answer(request)
    meta, _ = unpack(buffers[0])
    assert (meta["part"], meta["parts"], meta["text"]) == ("cross", ["cross"], run.text)


def test_a_profile_of_a_part_is_saved_loaded_and_resumed(tmp_path: Path) -> None:
    whole = dates()
    whole.save(tmp_path / "dates.parquet")
    again = Profile.load(tmp_path / "dates.parquet")
    assert (again.part, again.keys) == ("cross", whole.keys)
    np.testing.assert_array_equal(again.figures, whole.figures)
    with pytest.raises(InputError, match="has no texts"):
        again.examples(0, 0)
    examples = again.examples(1, 1, by="monotony", texts=DATES, model="dates")
    assert examples.to_dict("records") == whole.examples(1, 1, by="monotony").to_dict("records")
    folder = tmp_path / "work"
    options: dict[str, Any] = {"model": "dates", "generate": 12, "tagger": None, "progress": False}
    first = aw.profile(DATES, folder=folder, **options)
    parts = sorted(path.name for path in folder.glob("part-*"))
    second = aw.profile(DATES, folder=folder, **options)
    assert sorted(path.name for path in folder.glob("part-*")) == parts
    for kept in (first, second):
        np.testing.assert_array_equal(kept.figures, whole.figures)
    with pytest.raises(InputError, match="part"):
        aw.profile(DATES, folder=folder, part="encoder", **options)
    pairs = profiled("bart", "cross", folder=tmp_path / "pairs")
    pairs.save(tmp_path / "pairs.parquet")
    model = tiny_models.build("bart")
    rows = Profile.load(tmp_path / "pairs.parquet").examples(
        0, 0, texts=[list(pair) for pair in PAIRS], model=model
    )
    assert rows.to_dict("records") == pairs.examples(0, 0).to_dict("records")


@pytest.mark.parametrize("part", ["encoder", "cross"])
def test_it_is_shown_like_other_profiles(part: Any) -> None:
    p = dates(part)
    shown = aw.show(p)
    meta, arrays = unpack(shown.first_paint)
    assert meta["model"]["name"].endswith(f", {part}") and repr(shown).startswith("<ProfileWidget")
    assert [*meta["profile"]["keys"]] == [*p.keys] and meta["profile"]["examples"]
    if part == "cross":
        assert meta["metrics"]["keys"] == [*p.keys]
        np.testing.assert_array_equal(arrays["metric:monotony"], p.mean["monotony"])
        scores = np.abs(p.mean["monotony"] - p.mean["monotony"].mean())
        assert scores[shown.layer, shown.head] > 0
        shown.metric = "monotony"
        reply, _ = ProfileSource(p).answer({"kind": "specialization"})
        assert not reply["ok"] and "two texts" in str(reply["error"])
    output = outputs(shown._shown, code=False)
    assert sorted(output) == ["image/png", "text/html"]
    shown.close()


def test_what_cannot_be_profiled_is_refused_in_words() -> None:
    model = tiny_models.build("bart")

    def run(texts: Any = PAIRS, **options: Any) -> Profile:
        given: dict[str, Any] = {"model": model, "tagger": None, "progress": False, **options}
        return aw.profile(texts, **given)

    for options, error, words in (
        ({"part": "x"}, InputError, "part is 'x', expected one of 'encoder', 'decoder', 'cross'"),
        ({"texts": ["a text"]}, InputError, r"Text 0 of 1: .* no target is given\. Give pairs"),
        ({"generate": 3}, InputError, "Text 0 of 3: generate is 3, and an output is given"),
        ({"texts": [("a", "b", "c")]}, InputTypeError, "text 0 is a tuple of 3, expected"),
        ({"texts": [("a", " ")]}, InputError, "Text 0 of 1: output holds only white space"),
        ({"texts": [("a", "b " * 90)]}, TooLongError, r"Text 0 of 1: output has \d+ tokens; .* writes at most 64"),
        ({"engine": "ray"}, NotAvailableError, "Ray read one text for each run"),
        ({"model": None, "part": "cross"}, NotAvailableError, "part is 'cross', and .* is no encoder-decoder"),
        ({"model": None, "texts": ["a"], "generate": 3}, NotAvailableError, "generate is 3, and .* is no encoder-decoder"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            run(**options)
    listed = run([*PAIRS, ("a", "")], failures="list")
    assert listed.n_texts == 3 and [one["index"] for one in listed.failed] == [3]
    assert "output is empty" in listed.failed[0]["reason"]
