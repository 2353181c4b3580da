"""What the page asks and gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import to_json
from tests.features.qk.test_qk import keys, tiny

CELL: dict[str, Any] = {"kind": "qk", "layer": 1, "head": 3, "query": 6, "key": 2}


def asked(a: Any, **request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    reply, buffers = answer(a, {**CELL, **request})
    assert reply["ok"], reply
    arrays = {
        each["name"]: np.frombuffer(buffer, each["dtype"]).reshape(each["shape"])
        for each, buffer in zip(reply["arrays"], buffers, strict=True)
    }
    assert to_json(reply["data"]) == reply["data"]
    return reply["data"], arrays


def test_a_cell_by_tokens() -> None:
    found = keys().qk_attribution(1, 3, 6, 2)
    data, arrays = asked(keys(), against="others", by=None, matrix=False)
    assert (data["by"], data["others"]) == ("tokens", ["tokens", "parts"])
    assert data["againsts"] == ["others", "all", "rivals"] and data["fallback"] is None
    for name in ("score", "weight", "contrast", "constant", "distance", "gap"):
        assert data[name] == pytest.approx(getattr(found, name))
    assert data["capped"] is None and data["unreliable"] is False
    assert data["notes"][0].endswith("'run without each' shows that.")
    token = {"kind": "token", "layer": None, "head": None, "token": 0, "source": None}
    assert data["query_parts"][0] == token and len(data["key_parts"]) == 10
    assert data["pairs"][0][:2] == [6, 2] and len(data["pairs"]) == 8
    rest = data["contrast"] - sum(value for *_, value in data["pairs"])
    assert data["pairs_rest"] == pytest.approx(rest)
    np.testing.assert_allclose(arrays["matrix"], found.matrix)
    np.testing.assert_allclose(arrays["query_sums"], found.query_sums, rtol=1e-6)
    assert arrays["key_sums"].sum() == pytest.approx(data["contrast"], abs=1e-5)


def test_a_cell_by_parts() -> None:
    data, arrays = asked(keys(), layer=3, by="parts")
    assert "matrix" not in arrays and len(data["notes"]) == 2  # of a post-norm encoder
    head = next(part for part in data["key_parts"] if part["kind"] == "head")
    assert head["layer"] == 0 and isinstance(head["source"], int) and head["token"] is None
    _, arrays = asked(keys(), layer=3, by="parts", matrix=True)
    assert arrays["matrix"].shape == (len(data["query_parts"]), len(data["key_parts"]))


def test_a_part_of_an_encoder_decoder_says_which_text() -> None:
    from tests.features.qk.test_qk_families import two_texts

    data, arrays = asked(two_texts("bart").of("cross"), layer=1, head=1, query=2, key=1)
    assert data["others"] == ["tokens"]
    texts = [part["text"] for part in data["query_parts"] if part["kind"] == "token"]
    assert set(texts) == {0, 1}
    assert len(arrays["query_sums"]) == len(data["query_parts"]) > len(data["key_parts"])


def test_a_mask_of_the_widget_is_a_fallback() -> None:
    data, _ = asked(tiny("gpt2"), layer=1, head=1, query=1, key=1)
    assert data["against"] == "all" and data["fallback"] in data["notes"]
    data, _ = asked(tiny("gpt_oss"), layer=1, head=1, query=5, key=1, against="sink")
    assert data["against"] == "sink" and data["againsts"][-1] == "sink"
    assert data["others"] == ["parts"]


def test_effects_of_chosen_parts() -> None:
    request: dict[str, Any] = {"kind": "qk_effects", "layer": 3, "by": "parts"}
    data, _ = asked(keys(), **request, side="key", parts=[])
    assert len(data["effects"]) == 5
    chosen, _ = asked(keys(), **request, side="query", parts=[0, 4, 7])
    assert [each["part"] for each in chosen["effects"]] == [0, 4, 7]
    assert set(chosen["effects"][0]) == {"part", "direct", "total", "weight"}
    last = len(asked(keys(), layer=3, by="parts")[0]["key_parts"]) - 1
    refused, _ = asked(keys(), **request, side="key", parts=[last])  # biases
    assert refused["effects"] == []


def test_a_trace_is_a_tree_of_cells() -> None:
    data, _ = asked(tiny("llama"), kind="qk_trace", layer=2, head=1, query=7, key=3, depth=2)
    root = data["root"]
    assert (root["layer"], root["head"], root["query"], root["key"]) == (2, 1, 7, 3)
    for side in root["sides"].values():
        assert side["heads"] + side["ffns"] + side["rest"] == pytest.approx(
            root["contrast"], abs=1e-5
        )
        assert side["largest"][0]["kind"]
    for edge in root["children"]:
        assert edge["part"] == [edge["node"]["layer"], edge["node"]["head"]]
    assert root["children"] or root["stop"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"head": "mean"}, "A mean of heads has no query and key of its own"),
        ({"layer": 99}, "layer 99 is out of range"),
        ({"query": 10}, "query 10 is out of range"),
        ({"key": -1}, "key -1 is out of range"),
        ({"key": 2.5}, "key must be an integer"),
        ({"against": "you"}, "against is 'you'"),
        ({"against": 99}, "against 99 is out of range"),
        ({"against": [1]}, "against must be an integer"),
        ({"against": 2}, "the key itself"),
        ({"against": "sink"}, "no learned sink"),
        ({"by": "words"}, "by is 'words'"),
        ({"kind": "qk_effects", "side": "both"}, "side is 'both'"),
        ({"kind": "qk_effects", "side": "key", "parts": 3}, "parts must be at most 10"),
        ({"kind": "qk_effects", "side": "key", "parts": [99]}, "part 99 is out of range"),
        ({"kind": "qk_trace", "by": "parts", "depth": 9}, "depth 9 is out of range"),
    ],
)
def test_hostile_requests(request_: dict[str, Any], message: str) -> None:
    reply, _ = answer(keys(), {**CELL, **request_})
    assert not reply["ok"] and message in reply["error"]


def test_without_a_model_the_sentence_says_so() -> None:
    weights = [np.full((4, 3, 3), 1 / 3, np.float32)] * 2
    a = aw.from_attentions(weights, tokens=["a", "b", "c"])
    reply, _ = answer(a, {**CELL, "query": 1})
    assert not reply["ok"] and "no model to ask" in reply["error"]
