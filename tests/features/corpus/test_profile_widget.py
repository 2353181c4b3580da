"""show(profile): the pack, the answers, the selection, and what is refused."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import traitlets

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.examples import with_text
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.reading.blocks import KEYS
from attn_widget.features.corpus.reading.targets import SPECIAL_TOKENS
from attn_widget.features.corpus.storage import Rows
from attn_widget.features.corpus.widget import ProfileWidget
from attn_widget.figures import metrics, patterns, specialization
from attn_widget.page.compress import inflate
from attn_widget.page.output import outputs
from attn_widget.page.snapshot import exact_snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.pack import unpack
from tests.unit.needs import needs_spacy

TEXTS = [
    "The cat sat on the mat, and the dog saw it.",
    "Why do they run?",
    "It rains in Paris; nobody goes out.",
    "No.",
]


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    path = tmp_path_factory.mktemp("profile") / "heads.parquet"
    aw.profile(TEXTS, progress=False, seed=3).save(path)
    return Profile.load(path)


@pytest.fixture
def widget(profile: Profile) -> Iterator[ProfileWidget]:
    shown = aw.show(profile, layer=3, head=5)
    yield shown
    shown.close()


def test_it_opens_on_the_head_that_stands_out_most(profile: Profile) -> None:
    one_place = ("cls", "punctuation", "self", "previous", "next", "rest")
    of_words = {*specialization.KEYS, *patterns.KEYS} - {*one_place}
    keys = [k for k in profile.keys if k in of_words]
    figures = np.stack([profile.mean[k] for k in keys]).reshape(len(keys), -1)
    known = figures[np.isfinite(figures).all(axis=1)]
    scores = (known - known.mean(axis=1, keepdims=True)) / known.std(axis=1, keepdims=True)
    place = divmod(int(scores.max(axis=0).argmax()), profile.n_heads)
    shown, chosen = aw.show(profile), aw.show(profile, layer=4, head=1)
    assert (shown.layer, shown.head) == place
    assert (chosen.layer, chosen.head) == (4, 1)
    shown.close()
    chosen.close()


def ask(widget: ProfileWidget, **request: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    reply, buffers = widget._slice(request, [])
    assert isinstance(reply, dict)
    arrays = {
        array["name"]: np.frombuffer(buffer, array["dtype"]).reshape(array["shape"])
        for array, buffer in zip(reply.get("arrays", []), buffers, strict=True)
    }
    return reply, arrays


def test_the_pack_has_every_figure_of_the_profile_and_no_text(
    widget: ProfileWidget, profile: Profile
) -> None:
    meta, arrays = unpack(widget.first_paint)
    accuracies = meta["profile"]["accuracies"]
    assert meta["profile"] == {
        "n_texts": 4,
        "n_tokens": int(profile.n_tokens.sum()),
        "seed": 3,
        "tagger": profile.meta["tagger"],
        "keys": list(KEYS),
        "accuracies": accuracies,
        "by_chance": {
            f"accuracy: {row['pattern']}": row["best_by_chance"]
            for row in profile.pattern_records()
            if f"accuracy: {row['pattern']}" in accuracies
            and row["keys"] == ("all" if row["pattern"] in SPECIAL_TOKENS else "words")
        },
        "interval_note": "no intervals: 4 texts, and an interval takes 8 different ones",
        "looks_back": False,
        "examples": False,
    }
    assert meta["text"] == "" and all(column == [] for column in meta["tokens"].values())
    assert meta["metrics"]["keys"] == list(metrics.KEYS)
    assert len(arrays) == 5 * len(KEYS) + 3 * len(accuracies)
    table = profile.patterns
    for key in accuracies:
        name = key.removeprefix("accuracy: ")
        rows = table[table["pattern"] == name]
        among = "all" if name in ("first token", "separator") else "words"
        rows = rows[rows["keys"] == among]
        for part, column in (("metric", "accuracy"), ("low", "low"), ("high", "high")):
            wanted = rows[column].to_numpy(np.float32).reshape(6, 12)
            assert np.array_equal(arrays[f"{part}:{key}"], wanted, equal_nan=True)
    assert "accuracy: previous" in accuracies
    for key in KEYS:
        low, high = profile.interval[key]
        expected = {"metric": profile.mean[key], "low": low, "high": high, "sd": profile.sd[key]}
        for name, values in expected.items():
            assert np.array_equal(arrays[f"{name}:{key}"], values, equal_nan=True), (name, key)
        assert np.array_equal(arrays[f"count:{key}"], profile.count[key])
        assert arrays[f"count:{key}"].dtype == np.int32


@needs_spacy
def test_specialization_is_scaled_from_the_means_without_a_chance_level(
    widget: ProfileWidget, profile: Profile
) -> None:
    reply, arrays = ask(widget, kind="specialization")
    assert reply["data"]["keys"] == list(specialization.KEYS)
    assert set(reply["data"]["chance"].values()) == {None}
    for key in specialization.KEYS:
        mean = profile.mean[key]
        assert np.array_equal(arrays[f"raw:{key}"], mean, equal_nan=True)
        scaled = specialization.scale_by_layer(mean)
        assert np.array_equal(arrays[f"scaled:{key}"], scaled, equal_nan=True)
        assert np.array_equal(arrays[f"z:{key}"], specialization.standardize(mean), equal_nan=True)
    assert reply["data"]["reasons"] == {}
    assert any(note.startswith("entities: mean over the 1 of 4") for note in reply["data"]["notes"])


def test_roles_are_those_of_the_profile(widget: ProfileWidget, profile: Profile) -> None:
    reply, arrays = ask(widget, kind="roles")
    expected = profile.roles()
    assert reply["data"]["names"] == list(expected.names) and reply["data"]["seed"] == 3
    assert np.array_equal(arrays["labels"], expected.labels)
    assert np.array_equal(arrays["layout"], expected.layout)


def test_metrics_and_patterns_are_means(widget: ProfileWidget, profile: Profile) -> None:
    for kind, prefix, keys in (
        ("metrics", "metric", metrics.KEYS),
        ("patterns", "pattern", tuple(patterns.OFFSETS)),
    ):
        _, arrays = ask(widget, kind=kind)
        for key in keys:
            assert np.array_equal(arrays[f"{prefix}:{key}"], profile.mean[key], equal_nan=True)


def test_what_a_profile_does_not_hold_is_refused_in_words(widget: ProfileWidget) -> None:
    reply, _ = ask(widget, kind="metrics", tau="uniform")
    assert not reply["ok"] and "tau = 0.01" in reply["error"]
    for request in ({"kind": "weights", "layer": 0, "head": 0}, {"kind": "roles", "seed": -1}, {}):
        reply, _ = ask(widget, **request)
        assert not reply["ok"] and reply["error"]


def test_a_figure_that_no_text_has_is_na_with_its_reason() -> None:
    figures = np.random.default_rng(0).random((3, len(KEYS), 2, 4), dtype=np.float32)
    figures[:, KEYS.index("entities")] = np.nan
    rows = Rows(np.arange(3), np.full(3, 9), figures)
    shown = aw.show(Profile(rows, {"keys": list(KEYS), "model": "m", "tagger": None}))
    reply, arrays = ask(shown, kind="specialization")
    assert reply["data"]["reasons"] == {"entities": "None of the 3 texts has it."}
    assert np.isnan(arrays["raw:entities"]).all() and np.isnan(arrays["z:entities"]).all()
    shown.close()


def test_a_profile_of_an_older_version_is_shown_without_patterns() -> None:
    keys = [*metrics.KEYS, *specialization.KEYS]
    figures = np.random.default_rng(0).random((2, len(keys), 2, 4), dtype=np.float32)
    rows = Rows(np.arange(2), np.full(2, 9), figures)
    shown = aw.show(Profile(rows, {"keys": keys, "model": "m", "tagger": None}))
    meta, _ = unpack(shown.first_paint)
    assert meta["profile"]["keys"] == keys
    reply, _ = ask(shown, kind="patterns")
    assert not reply["ok"] and "patterns" in reply["error"]
    shown.close()


def test_show_returns_the_widget_with_its_selection(widget: ProfileWidget) -> None:
    assert (widget.layer, widget.head, widget.view, widget.status) == (3, 5, "heads", "ready")
    assert repr(widget) == "<ProfileWidget of attn_widget/mini, 4 texts, L3 H5>"
    widget.metric = "punctuation"
    widget.head = "mean"


@pytest.mark.parametrize(
    ("name", "value"),
    [("layer", 6), ("layer", -1), ("head", 12), ("metric", "thumbnails"), ("view", "tree")],
)
def test_a_selection_outside_the_profile_is_refused(
    widget: ProfileWidget, name: str, value: object
) -> None:
    before = getattr(widget, name)
    with pytest.raises(traitlets.TraitError):
        setattr(widget, name, value)
    assert getattr(widget, name) == before
    widget.set_state({name: value})
    assert widget.error["hint"] == "The selection was left as it was."


def test_options_of_a_text_are_refused(profile: Profile) -> None:
    with pytest.raises(InputTypeError, match="no option 'token'"):
        aw.show(profile, token=3)


def test_a_closed_widget_says_so(profile: Profile) -> None:
    shown = aw.show(profile)
    shown.close()
    shown.close()
    assert shown.status == "closed" and repr(shown) == "<ProfileWidget, closed>"
    reply, _ = ask(shown, kind="roles")
    assert not reply["ok"] and "closed" in reply["error"]
    with pytest.raises(InputError, match="closed"):
        _ = shown.profile


def test_the_output_of_a_cell_keeps_the_whole_profile_and_a_picture(widget: ProfileWidget) -> None:
    found = outputs(widget._shown, code=False)
    chunks = dict(re.findall(r'data-chunk="([\w-]+)">([^<]+)<', found["text/html"]))
    meta, arrays = unpack(inflate(chunks["paint"]))
    assert meta["snapshot"]["selection"]["layer"] == 3
    assert {"kind": "specialization"} in [one["request"] for one in meta["recorded"]]
    np.testing.assert_array_equal(
        arrays["metric:confidence_avg"], widget.profile.mean["confidence_avg"]
    )
    picture = base64.b64decode(found["image/png"])
    width, height = struct.unpack(">II", picture[16:24])
    assert width == 2 * height  # 12 heads in 6 layers
    assert 'class="attn-widget-output"' in found["text/html"]


def test_a_figure_that_no_text_has_is_a_grey_picture(profile: Profile) -> None:
    shown = ProfileWidget(profile, metric="role")
    assert "image/png" in outputs(shown._shown, code=False)
    key = profile.keys[0]
    before, profile.mean[key] = profile.mean[key], np.full((6, 12), np.nan, dtype=np.float32)
    try:
        assert "image/png" in outputs(shown._shown, code=False)
    finally:
        profile.mean[key] = before
        shown.close()


@pytest.fixture(scope="module")
def live() -> Iterator[ProfileWidget]:
    shown = aw.show(aw.profile(TEXTS, progress=False, tagger=None), layer=3, head=5)
    yield shown
    shown.close()


def test_examples_are_those_of_the_profile_with_the_row_of_their_link(live: ProfileWidget) -> None:
    assert unpack(live.first_paint)[0]["profile"]["examples"] is True
    for by, lowest in (("link", False), ("self", True)):
        request = {"kind": "examples", "layer": 2, "head": 3, "by": by, "lowest": lowest}
        reply, arrays = ask(live, **request)
        wanted = live.profile.examples(2, 3, by=by, k=6, lowest=lowest)
        assert [one["index"] for one in reply["data"]["examples"]] == wanted["index"].tolist()
        assert reply["data"]["names"] == list(live.profile.example_names)
        for place, (one, row) in enumerate(
            zip(reply["data"]["examples"], wanted.itertuples(), strict=True)
        ):
            a = aw.analyze(row.text, tagger=None, progress=False)
            assert (one["query"], one["key"]) == (row.query, row.key)
            assert one["text"] == [token.text for token in a.tokens]
            assert np.array_equal(arrays[f"row:{place}"], a.attention(2, 3)[row.query])
    for change in ({"head": "mean"}, {"by": "nothing"}, {"layer": 9}):
        reply, _ = ask(live, **{**request, **change})
        assert not reply["ok"] and reply["error"]


def test_an_example_is_opened_as_a_run_of_its_own(live: ProfileWidget) -> None:
    reply, arrays = ask(live, kind="weights", layer=2, head=3, source={"example": 1})
    assert not reply["ok"] and "no longer open" in reply["error"]
    reply, arrays = ask(live, kind="example_paint", index=1, layer=2, head=3)
    meta, packed = unpack(arrays["paint"].tobytes())
    a = aw.analyze(TEXTS[1], tagger=None, progress=False)
    assert meta["text"] == TEXTS[1] and meta["selected"] == {"layer": 2, "head": 3}
    assert np.array_equal(packed["weights"], a.attention(2, 3))
    _, arrays = ask(live, kind="weights", layer=1, head=0, source={"example": 1})
    assert np.array_equal(arrays["weights"], a.attention(1, 0))
    reply, _ = ask(live, kind="example_paint", index=99, layer=2, head=3)
    assert "not at hand" in reply["error"]


def test_a_saved_page_has_the_examples_of_every_head(live: ProfileWidget) -> None:
    for light, heads in ((True, 1), (False, 72)):
        found = exact_snapshot(live._shown_source, live.selection, PageSpec(light=light))
        meta, arrays = unpack(found.chunks["paint"])
        assert not meta["profile"]["looks_back"]
        recorded = [one for one in meta["recorded"] if one["request"]["kind"] == "examples"]
        assert len(recorded) == heads
        own = next(
            one for one in recorded if (one["request"]["layer"], one["request"]["head"]) == (3, 5)
        )
        wanted = live.profile.linked_examples(3, 5, "link", 6)
        assert [one["index"] for one in own["data"]["examples"]] == [r["index"] for r, _ in wanted]
        row, _ = wanted[0]
        alone = aw.analyze(row["text"], tagger=None, progress=False)
        weights = arrays[own["arrays"]["row:0"]]
        assert np.array_equal(weights, alone.attention(3, 5)[row["query"]])


def test_a_text_that_many_heads_have_as_an_example_is_run_once() -> None:
    profile = aw.profile(TEXTS, progress=False)
    encoder = aw.load(progress=False)
    widget = aw.show(profile)
    runs: list[int] = []
    handle = encoder.network.register_forward_hook(lambda *_: runs.append(1))
    try:
        exact_snapshot(widget._shown_source, widget.selection)
    finally:
        handle.remove()
    assert len(runs) == len(TEXTS)
    widget.close()


def test_few_tokens_of_examples_are_kept() -> None:
    encoder = aw.load(progress=False)
    texts = [f"{word} " * 198 for word in ("cat", "dog", "man")]  # 200 tokens each
    kept: dict[str, aw.Analysis] = {}
    for text in texts:
        kept = with_text(kept, encoder, text)
        assert kept[text].text == text and [*kept][-1] == text
    assert [*kept] == texts[1:]
    again = with_text(kept, encoder, texts[1])
    assert again[texts[1]] is kept[texts[1]] and [*again] == [texts[2], texts[1]]
    longest = "word " * 510
    assert [*with_text(again, encoder, longest)] == [longest]
