"""Words in context: a real table of LanceDB, against a search by hand."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.corpus.words import build
from attn_widget.protocol.answer import answer
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.made_texts import corpus

lancedb = pytest.importorskip("lancedb")
TEXTS = [*corpus(40), "The bank of the river.", "She sat by the river."]
LAYER = 3


def tags(text: str) -> list[tuple[int, int, str]]:
    """Every word a noun but for "the"."""
    found, at = [], 0
    for word in text.rstrip(".").split(" "):
        found.append((at, at + len(word), "DET" if word.lower() == "the" else "NOUN"))
        at += len(word) + 1
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("index")


@pytest.fixture(scope="module")
def index(place: Path) -> aw.WordIndex:
    return aw.corpus.index([*TEXTS, ""], place, layer=LAYER, tagger=tags, progress=False)


def test_the_nearest_are_those_of_a_search_by_hand(index: aw.WordIndex) -> None:
    asked = aw.analyze("A boat on the river.", tagger=None, progress=False)
    vector = asked.model.hidden_states[LAYER + 1][5]
    rows: list[tuple[float, int, int, str]] = []
    for place, text in enumerate(TEXTS):
        a = aw.analyze(text, tagger=None, progress=False)
        for position, token in enumerate(a.tokens):
            state = a.model.hidden_states[LAYER + 1][position]
            cosine = state @ vector / np.linalg.norm(state) / np.linalg.norm(vector)
            if not token.special:
                rows.append((float(cosine), place, position, token.text))
    rows.sort(reverse=True)
    assert (index.n_texts, index.n_tokens, index.approximate) == (len(TEXTS), len(rows), False)
    found = index.near(asked, token=5, k=8)
    assert_close(found["similarity"], [row[0] for row in rows[:8]], terms=384, size=1)
    for one, (_, place, position, token) in zip(found.itertuples(), rows, strict=False):
        assert (one.index, one.position, one.token) == (place, position, token)
        assert one.text == TEXTS[place] and one.text[one.start : one.end].lower() == token
    assert found["token"][0] == "river" and found["pos"][0] == "NOUN"
    assert index.failed[0]["index"] == len(TEXTS) and "empty" in index.failed[0]["reason"]


def test_whole_texts_are_ranked_and_each_is_explained(index: aw.WordIndex) -> None:
    options: Any = {"model": "attn_widget/mini", "progress": False}
    ranked = index.similar("A boat on the river.", **options)
    assert ranked.passages == TEXTS
    plain = aw.similarity("A boat on the river.", TEXTS, **options)
    np.testing.assert_allclose(ranked.scores, plain.scores, atol=1e-6)
    assert ranked.explain(ranked.order[0]).b.text == TEXTS[ranked.order[0]]
    with pytest.raises(InputError, match="a is empty"):
        index.similar("", **options)


def test_the_page_is_told_the_words_and_their_tags(index: aw.WordIndex) -> None:
    asked = aw.analyze("A boat on the river.", tagger=None, progress=False)
    reply, _ = answer(asked, {"kind": "near", "token": 5})
    assert reply["ok"], reply
    data = reply["data"]
    assert data["rows"] == index.neighbors(asked, 5, 10) and data["layer"] == LAYER
    assert sum(count for _, count in data["tags"]) == data["counted"] == 100
    assert not answer(asked, {"kind": "near", "token": 99})[0]["ok"]
    index.close()
    assert "No index" in answer(asked, {"kind": "near", "token": 5})[0]["error"]


def test_it_is_opened_again_and_refuses_other_models_and_layers(
    index: aw.WordIndex, place: Path
) -> None:
    again = aw.WordIndex.open(place)
    assert repr(again) == repr(index)
    asked = aw.analyze("the river", tagger=None, progress=False)
    assert again.neighbors(asked, 1, 3) == index.neighbors(asked, 1, 3, LAYER)
    with pytest.raises(InputError, match="holds the output of layer 3"):
        again.near(asked, 1, layer=2)
    with pytest.raises(InputError, match="layer is array"):
        again.near(asked, 1, layer=np.arange(2))  # pyright: ignore
    with pytest.raises(InputTypeError, match="neither pickled nor copied: it holds an open"):
        copy.deepcopy(again)
    other = tiny_models.build("bert")
    with pytest.raises(InputError, match="other weights"):
        aw.WordIndex.open(place, model=other)
    with pytest.raises(InputError, match="of other weights"):
        again.near(aw.analyze("the cat", model=other, progress=False), 1)
    with pytest.raises(InputError, match="holds an index already"):
        aw.corpus.index(TEXTS, place, layer=LAYER)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"texts": np.float32(1)}, InputTypeError, "texts is .*, expected several str"),
        ({"texts": []}, InputError, "texts is empty"),
        ({"layer": 6}, InputError, "layer is 6"),
        ({"layer": "last"}, InputError, "layer is .last."),
        ({"texts": [""]}, InputError, "No text could be read"),
        ({"texts": "nowhere/*"}, InputError, "No file matches"),
    ],
)
def test_what_cannot_be_made_is_refused(
    change: dict[str, Any], error: type[Exception], match: str, tmp_path: Path
) -> None:
    given = {"texts": TEXTS[:1], "layer": 0, "tagger": None, "progress": False, **change}
    with pytest.raises(error, match=match):
        aw.corpus.index(given.pop("texts"), tmp_path / "new", **given)
    with pytest.raises(InputError, match="no finished index"):
        aw.WordIndex.open(tmp_path / "new")


def test_every_layer_gives_out_what_an_analysis_has(tmp_path: Path) -> None:
    """ALBERT's layers are one module: its hidden states are told apart by their order."""
    model = tiny_models.build("albert")
    encoder = aw.load(model, progress=False)
    for layer in range(encoder.n_layers):
        states = build._Builder(encoder, layer, None, False)._states(
            [encoder.encode("the cat")] * 2
        )
        a = aw.analyze("the cat", model=encoder, progress=False)
        assert_close(states[1], a.model.hidden_states[layer + 1], terms=384, steps=6)


def test_a_large_index_is_approximate_and_finds_nearly_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "LARGE", 2000)
    texts = corpus(400)
    found = aw.corpus.index(
        texts, tmp_path, layer=1, model=tiny_models.build("bert"), tagger=None, progress=False
    )
    assert found.approximate and found.n_tokens > 2000
    assert found.recall(queries=20) >= 0.9
