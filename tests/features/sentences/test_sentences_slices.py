"""Attention between sentences, as the page and files have it, is that of the analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.features.sentences.recorded import answers_of
from attn_widget.page.spec import WHOLE, PageSpec
from attn_widget.page.view_cells import view_cells
from tests.close import assert_close
from tests.unit.slice_replies import MODELS, ask, equal, made, reply_to


@pytest.fixture(params=[*MODELS, "tensors"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return made(request.param)


@pytest.mark.parametrize("aggregation", ["mass", "max"])
@pytest.mark.parametrize("of", [{}, {"layer": 1}, {"head": 0}, {"layer": 1, "head": 0}])
def test_sentences_and_their_drill_down_are_those_of_the_analysis(
    analysis: Analysis, aggregation: Any, of: dict[str, int]
) -> None:
    data, arrays = ask(analysis, kind="sentences", aggregation=aggregation, **of)
    found = analysis.sentences
    size = len(found)
    assert data["texts"] == list(found.texts) and size > 1
    assert data["tokens"] == [list(tokens) for tokens in found.tokens]
    equal(arrays["matrix"], found.matrix(aggregation, **of))
    if aggregation == "mass":
        assert_close(
            arrays["matrix"].sum(axis=1) + arrays["elsewhere"], 1, terms=analysis.trace.n_tokens
        )
    else:
        for a in range(size):
            for b in range(size):
                one = found.witness(a, b, **of)
                seen = tuple(
                    int(arrays[f"witness_{name}"][a, b])
                    for name in ("layer", "head", "query", "key")
                )
                assert seen == (one.layer, one.head, one.query, one.key)
    _, opened = ask(analysis, kind="drill", aggregation=aggregation, a=0, b=1, **of)
    expected = found.drill(0, 1, aggregation, **of)
    equal(opened["weights"], expected.weights)
    equal(opened["queries"], expected.queries)
    equal(opened["keys"], expected.keys)
    cell = opened["weights"].sum(axis=1).mean()
    if aggregation == "max":
        cell = opened["weights"].max()
    assert_close(arrays["matrix"][0, 1], cell, terms=analysis.trace.n_tokens)


def test_one_sentence_or_none_is_a_matrix_with_a_note() -> None:
    one = aw.analyze("the cat", tagger=None, progress=False)
    data, arrays = ask(one, kind="sentences", aggregation="max")
    assert arrays["matrix"].shape == arrays["witness_query"].shape == (1, 1)
    assert "one sentence" in data["note"]
    none = aw.from_attentions(np.ones((1, 1, 1, 1)), ["[CLS]"], tagger=None)
    for aggregation in ("mass", "max"):
        data, arrays = ask(none, kind="sentences", aggregation=aggregation)
        assert arrays["matrix"].shape == (0, 0)
        assert data["note"] == "No sentence was found in the text."


def test_the_first_sentence_can_be_opened_and_none_before_it() -> None:
    analysis = made("embedded")
    ask(analysis, kind="drill", a=0, b=0, aggregation="mass")
    request = {"kind": "drill", "a": -1, "b": 0, "aggregation": "mass"}
    assert "out of range" in reply_to(analysis, **request)[0]["error"]


def test_sentences_of_two_texts_are_sums_of_the_rectangle() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(7), (2, 2, 6)).astype(np.float32)
    source = ["One", "two", ".", "Three", "four", ".", "</s>"]
    target = ["</s>", "A", "b", ".", "C", "."]
    a = aw.from_attentions(
        cross_attentions=weights,
        encoder_attentions=np.full((1, 1, 7, 7), 1 / 7),
        encoder_tokens=source,
        decoder_tokens=target,
        tagger=None,
    ).of("cross")
    rows, cols = [[1, 2, 3], [4, 5]], [[0, 1, 2], [3, 4, 5]]
    data, arrays = ask(a, kind="sentences", aggregation="mass", layer=1, head=0)
    assert (data["tokens"], data["key_tokens"]) == (rows, cols)
    assert len(data["texts"]) == len(data["key_texts"]) == 2
    cells = [[weights[1, 0][np.ix_(r, c)].sum(1).mean() for c in cols] for r in rows]
    np.testing.assert_allclose(arrays["matrix"], cells, rtol=1e-6)
    elsewhere = [weights[1, 0, r, 6].mean() for r in rows]
    np.testing.assert_allclose(arrays["elsewhere"], elsewhere, rtol=1e-6)
    _, arrays = ask(a, kind="sentences", aggregation="max")
    most = [[weights[..., r, :][..., c].max() for c in cols] for r in rows]
    np.testing.assert_array_equal(arrays["matrix"], np.array(most, np.float32))
    names = ("layer", "head", "query", "key")
    places = tuple(arrays[f"witness_{name}"] for name in names)
    np.testing.assert_array_equal(weights[places], arrays["matrix"])
    _, arrays = ask(a, kind="drill", aggregation="mass", a=1, b=0, layer=0, head=1)
    np.testing.assert_array_equal(arrays["weights"], weights[0, 1][np.ix_(rows[1], cols[0])])


def test_a_page_carries_both_sums_of_every_layer_and_an_output_those_of_the_run() -> None:
    analysis = made("embedded")
    asked = [request for request, _, _ in answers_of(analysis, {}, WHOLE)]
    assert len(asked) == 2 * (1 + analysis.trace.n_layers)
    light = [request for request, _, _ in answers_of(analysis, {}, PageSpec(light=True))]
    assert light == [{"kind": "sentences", "aggregation": name} for name in ("mass", "max")]


def test_the_table_has_the_columns_of_the_contract_and_the_picture_its_sums() -> None:
    pytest.importorskip("pandas")
    widget = aw.show(made("embedded"), view="sentences")
    cells, table = view_cells(widget.analysis, widget.selection), widget.to_dataframe("sentences")
    widget.close()
    assert ",".join(table.columns) == "a,b,a_text,b_text,value"
    np.testing.assert_allclose(cells.shades.ravel(), table["value"], atol=1e-6)
    assert list(cells.rows) == list(made("embedded").sentences.texts)
