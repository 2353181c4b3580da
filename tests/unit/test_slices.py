"""Slices say what the analysis says, for every kind of model; what one lacks is refused in words."""

from __future__ import annotations

import math

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import SliceError
from attn_widget.figures.catalog.choices import MIXINGS
from attn_widget.model.tokens import Token
from attn_widget.protocol import answer as protocol
from attn_widget.protocol.initial_payload import token_columns
from attn_widget.protocol.request import integer, optional, span
from attn_widget.protocol.slices import attention as slices
from tests.close import assert_close
from tests.unit.slice_replies import MODELS, ask, equal, given_tensors, made, reply_to


@pytest.fixture(params=[*MODELS, "tensors"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return made(request.param)


@pytest.fixture(params=MODELS)
def of_model(request: pytest.FixtureRequest) -> Analysis:
    return made(request.param)


def test_what_attention_carries_is_that_of_the_analysis(of_model: Analysis) -> None:
    for kind in MIXINGS:
        matrix = ask(of_model, kind="mixing", quantity=kind, layer=1)[1]["weights"]
        equal(matrix, of_model.mixing.matrix(kind, 1))
        rolled = ask(of_model, kind="mixing_rollout", quantity=kind, layer=1, rows=[1, 3])
        equal(rolled[1]["weights"], of_model.mixing.rollout(kind, 1)[1:3])
    _, arrays = ask(of_model, kind="mixing", quantity="norms", layer=1, head=2, rows=[0, 2])
    equal(arrays["weights"], of_model.mixing.matrix("norms", 1, 2)[:2])
    lengths = ask(of_model, kind="value_lengths", layer=1)[1]["lengths"]
    assert_close(of_model.attention(1, 2)[:2] * lengths[2], arrays["weights"], terms=32)
    ratio = ask(of_model, kind="mixing", quantity="mixing", layer=1)[1]["ratio"]
    equal(ratio, of_model.mixing.ratio(1))


def test_a_link_in_every_head_is_a_cell_of_each_matrix(analysis: Analysis) -> None:
    every = [
        [analysis.attention(layer, head) for head in range(analysis.trace.n_heads)]
        for layer in range(analysis.trace.n_layers)
    ]
    weights = ask(analysis, kind="pair_weights", rows=[2, 3], cols=[1, 2])[1]["weights"]
    assert_close(weights, np.array(every)[:, :, 2, 1], terms=1)
    words = ask(analysis, kind="pair_weights", rows=[1, 3], cols=[0, 2])[1]["weights"]
    assert_close(words, np.array(every)[:, :, 1:3, :2].sum(-1).mean(-1), terms=8)


def test_a_link_that_a_mask_forbids_has_no_weight() -> None:
    looks_back = made("gpt2")
    later = ask(looks_back, kind="pair_weights", rows=[0, 1], cols=[2, 3])[1]["weights"]
    assert np.isnan(later).all()


def test_a_pair_closes_its_sum(of_model: Analysis) -> None:
    data, arrays = ask(of_model, kind="mixing_pair", layer=1, query=2, key=1)
    whole = data["key"] + data["others"] + data["bias"] + data["shift"]
    parts = sum(abs(data[name]) for name in ("key", "others", "bias", "shift"))
    assert_close(whole, data["output"], terms=32, steps=4, size=parts)
    assert_close(data["length"], of_model.mixing.matrix("mixing", 1)[2, 1], terms=32, steps=4)
    assert_close(np.linalg.norm(arrays["vector"]), data["length"], terms=32)


def test_mixing_of_the_wrong_kind_is_refused(of_model: Analysis) -> None:
    said, _ = protocol.answer(
        of_model, {"kind": "mixing", "quantity": "alti", "layer": 1, "head": 0}
    )
    assert not said["ok"] and "quantity of a layer" in said["error"]
    said, _ = protocol.answer(of_model, {"kind": "mixing", "quantity": "weights", "layer": 1})
    assert not said["ok"] and "norms" in said["hint"]


def test_rollout_flow_and_layer_change_are_those_of_the_analysis(analysis: Analysis) -> None:
    last = analysis.trace.n_layers - 1
    equal(ask(analysis, kind="rollout", layer=last)[1]["weights"], analysis.rollout())
    _, arrays = ask(analysis, kind="rollout", layer=0, rows=[1, 3])
    equal(arrays["weights"], analysis.rollout(0)[1:3])
    equal(ask(analysis, kind="flow", token=2)[1]["flow"], analysis.heads.flow(2))
    equal(ask(analysis, kind="layer_change")[1]["change"], analysis.heads.layer_change)


def test_a_number_is_taken_from_the_first_to_the_last_and_no_further() -> None:
    for value in (2, 3, 4):
        assert integer({"layer": value}, "layer", 2, 5) == value
    for value in (1, 5):
        with pytest.raises(SliceError, match=f"layer {value} is out of range") as caught:
            integer({"layer": value}, "layer", 2, 5)
        assert caught.value.hint == "Allowed: 2 to 4."
    assert optional({"head": 0}, "head", 3) == 0
    assert optional({}, "head", 3) is None


def test_rows_are_a_span_that_is_not_empty() -> None:
    assert span({}, "rows", 8) == slice(0, 8)
    assert span({"rows": [0, 8]}, "rows", 8) == slice(0, 8)
    assert span({"rows": (7, 8)}, "rows", 8) == slice(7, 8)
    for given, allowed in (([3, 3], "4 to 8"), ([3, 9], "4 to 8"), ([8, 9], "0 to 7")):
        with pytest.raises(SliceError) as caught:
            span({"rows": given}, "rows", 8)
        assert caught.value.hint == f"Allowed: {allowed}."
    for given in ("01", [1], [1, 2, 3], {"start": 1}):
        with pytest.raises(SliceError, match="must be"):
            span({"rows": given}, "rows", 8)


def test_the_first_of_everything_can_be_asked_for_and_nothing_before_it() -> None:
    analysis = made("embedded")
    ask(analysis, kind="predictions", top_k=1)
    ask(analysis, kind="predictions", top_k=slices.MAX_TOP_K)
    request = {"kind": "predictions", "top_k": slices.MAX_TOP_K + 1}
    assert "out of range" in reply_to(analysis, **request)[0]["error"]


def test_a_list_of_ids_may_be_as_long_as_it_says_and_no_longer() -> None:
    analysis = made("embedded")
    most = [1] * slices.MAX_TOKEN_IDS
    ask(analysis, kind="softmax", position=1, token_ids=most)
    for ids in ([*most, 1], "12", 3):
        reply, _ = reply_to(analysis, kind="softmax", position=1, token_ids=ids)
        assert reply["error"] == "token_ids must be a list of at most 1000 ids."


def test_before_each_token_stands_the_text_since_the_token_before() -> None:
    tokens = (
        Token("[CLS]", 0, 0, 0, special=True),
        Token("a", 1, 1, 2),
        Token("cat", 2, 4, 7),
        Token("at", 3, 5, 7),  # lies inside the token before
        Token("[SEP]", 4, 0, 0, special=True),
        Token("it", 5, 2, 4, segment=1),
    )
    columns = token_columns(tokens, " a  cat", "..it")
    assert columns["before"] == ["", " ", "  ", "", "", ".."]


def test_flow_that_would_take_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = given_tensors()
    monkeypatch.setattr(slices, "MAX_FLOW_EDGES", 3 * 8 * 8 - 1)
    reply, _ = reply_to(analysis, kind="flow", token=1)
    assert "3 layers of 8 tokens" in reply["error"]
    assert "Rollout answers" in reply["hint"]


def test_specializations_come_raw_scaled_and_as_z_scores(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="specialization")
    found = analysis.heads.specialization
    assert data["keys"] == list(found.raw)
    assert data["reasons"] == found.reasons
    for key in data["keys"]:
        equal(arrays[f"raw:{key}"], found.raw[key])
        equal(arrays[f"scaled:{key}"], found.scaled()[key])
        equal(arrays[f"z:{key}"], found.zscores()[key])
        chance = data["chance"][key]
        by_layer = chance if isinstance(chance, list) else [chance] * analysis.trace.n_layers
        numbers = [math.nan if one is None else one for one in by_layer]
        np.testing.assert_allclose(numbers, found.chance_by_layer[key])
        assert key in data["reasons"] or np.isfinite(arrays[f"raw:{key}"]).any()


def test_roles_are_those_of_the_analysis(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="roles", seed=1)
    found = analysis.heads.roles(1)
    equal(arrays["labels"], found.labels)
    equal(arrays["layout"], found.layout)
    equal(arrays["centroids"], found.centroids)
    assert (data["names"], data["axes"]) == (list(found.names), list(found.axes))
    assert data["silhouettes"].keys() == {str(k) for k in found.silhouettes}
    assert data["seed"] == 1


def test_one_layer_has_no_change() -> None:
    given = aw.from_attentions(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"], tagger=None)
    assert ask(given, kind="layer_change")[1]["change"].shape == (0,)


def test_errors_stay_short_whatever_they_repeat() -> None:
    given = given_tensors()
    for request in ({"kind": "metrics", "tau": "x" * 10**6}, {"kind": "x" * 10**6},
                    {"kind": "mixing", "layer": 1, "quantity": ["x"] * 10**5},
                    {"kind": "tensor", "name": "y" * 10**6}):  # fmt: skip
        reply, _ = reply_to(given, **request)
        assert reply["ok"] is False
        assert len(reply["error"]) + len(reply["hint"]) < 1100
