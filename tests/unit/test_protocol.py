"""Slices: each kind is right, and nothing that the page sends breaks the widget."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.features.inside.slices import TENSORS
from attn_widget.page import base85
from attn_widget.protocol import answer as protocol
from attn_widget.protocol.built import bundle
from tests.close import assert_close

TEXT = "The cat sat on the mat. It slept."


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return aw.analyze(TEXT, progress=False)


def ask(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Ask as the page does and read the buffers as the page does."""
    reply, buffers = protocol.answer(analysis, request)
    assert reply["ok"], reply
    arrays = {
        entry["name"]: np.frombuffer(buffer, dtype=entry["dtype"]).reshape(entry["shape"])
        for entry, buffer in zip(reply["arrays"], buffers, strict=True)
    }
    return reply["data"], arrays


def test_weights_are_those_of_the_analysis_for_a_head_and_for_the_mean(analysis: Analysis) -> None:
    _, arrays = ask(analysis, kind="weights", layer=2, head=3)
    np.testing.assert_array_equal(arrays["weights"], analysis.attention(2, 3))
    _, arrays = ask(analysis, kind="weights", layer=2, head="mean", rows=[1, 4])
    np.testing.assert_array_equal(arrays["weights"], analysis.attention(2, "mean")[1:4])


def test_the_softmax_of_the_scores_is_the_weights_and_q_k_give_the_scores(
    analysis: Analysis,
) -> None:
    _, weights = ask(analysis, kind="weights", layer=1, head=0)
    _, scores = ask(analysis, kind="scores", layer=1, head=0)
    data, qkv = ask(analysis, kind="qkv", layer=1, head=0)
    by_hand = np.exp(scores["scores"].astype(float))
    by_hand /= by_hand.sum(axis=1, keepdims=True)
    assert_close(by_hand, weights["weights"], terms=32, size=scores["scores"])
    product = qkv["q"].astype(float) @ qkv["k"].T * data["scaling"]
    size = np.abs(qkv["q"]) @ np.abs(qkv["k"]).T * data["scaling"]
    assert_close(product, scores["scores"], terms=qkv["q"].shape[1], size=size)


def test_the_code_of_later_views_is_a_compressed_module_of_the_pages_own_build(
    analysis: Analysis,
) -> None:
    _, arrays = ask(analysis, kind="code")
    script = zlib.decompress(arrays["code"].tobytes(), wbits=-15).decode()
    shared = re.findall(r'from"\./(chunk-\w+\.js)"', script)
    assert shared
    packed = max(bundle("widget.js").split('"'), key=len)
    page = zlib.decompress(base85.decode(packed.encode()), wbits=-15).decode()
    name, common, *_ = page.split("\0")
    assert set(shared) == {name}
    assert "import" not in common[:10]  # it needs nothing itself


def test_metrics_come_with_the_tau_that_was_asked_for(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="metrics", tau="uniform")
    assert data["tau"] == "uniform"
    weights = np.stack([analysis.trace.layer_weights(i) for i in range(analysis.trace.n_layers)])
    by_hand = (weights < 1 / analysis.trace.n_tokens).mean(axis=(2, 3))
    assert_close(arrays["metric:sparsity"], by_hand, terms=1)


def test_the_softmax_of_a_position_closes(analysis: Analysis) -> None:
    data, _ = ask(analysis, kind="softmax", position=3)
    ids = [entry["id"] for entry in data["entries"]]
    logits = analysis.trace.logits[3].astype(float)
    assert ids[0] == int(logits.argmax())
    for entry in data["entries"]:
        assert entry["probability"] == pytest.approx(entry["exp"] / data["sum_exp"])
        assert entry["logit"] == pytest.approx(logits[entry["id"]])
    assert data["sum_exp"] == pytest.approx(np.exp(logits - logits.max()).sum())
    assert data["vocab_size"] == len(logits)


def test_masked_predictions_are_those_of_the_masked_text(analysis: Analysis) -> None:
    data, arrays = ask(analysis, kind="predictions", mode="masked", top_k=3)
    masked = aw.analyze(TEXT.replace("cat", "[MASK]"), progress=False)
    expected = masked.predictions(top_k=3)
    np.testing.assert_array_equal(arrays["prediction_ids"][2], expected.ids[2])
    assert_close(
        arrays["prediction_probabilities"][2], expected.probabilities[2], terms=384, steps=6, size=1
    )
    assert data["mode"] == "masked"


def test_language_names_the_words_and_sentences(analysis: Analysis) -> None:
    data, _ = ask(analysis, kind="language")
    words = [word["text"] for word in data["words"]]
    assert words == ["The", "cat", "sat", "on", "the", "mat", ".", "It", "slept", "."]
    assert data["token_word"][:3] == [None, 0, 1]
    assert data["token_sentence"][1] == 0
    assert data["token_sentence"][8] == 1


@pytest.mark.parametrize(
    "request_",
    [
        {"kind": "weights", "layer": 99, "head": 0},
        {"kind": "weights", "layer": -1, "head": 0},
        {"kind": "weights", "layer": True, "head": 0},
        {"kind": "weights", "layer": 0.5, "head": 0},
        {"kind": "weights", "layer": 0, "head": "max"},
        {"kind": "weights", "layer": 0},
        {"kind": "weights", "layer": 0, "head": 0, "rows": [3, 3]},
        {"kind": "weights", "layer": 0, "head": 0, "rows": [0, 10_000]},
        {"kind": "weights", "layer": 0, "head": 0, "rows": "all"},
        {"kind": "scores", "layer": 0, "head": "mean"},
        {"kind": "softmax", "position": 9999},
        {"kind": "softmax", "position": 0, "token_ids": [10**9]},
        {"kind": "softmax", "position": 0, "token_ids": list(range(5000))},
        {"kind": "predictions", "mode": "guess"},
        {"kind": "predictions", "top_k": 0},
        {"kind": "predictions", "top_k": 10**9},
        {"kind": "predictions", "mode": "masked", "rows": [0, 99]},
        {"kind": "predictions", "rows": 3},
        {"kind": "rollout", "layer": 6},
        {"kind": "flow"},
        {"kind": "roles", "seed": -1},
        {"kind": "sentences"},
        {"kind": "sentences", "aggregation": "sum"},
        {"kind": "sentences", "aggregation": "max", "layer": "all"},
        {"kind": "drill", "aggregation": "mass", "a": 0, "b": 2},
        {"kind": "drill", "aggregation": "mass", "a": 0},
        {"kind": "tensor"},
        {"kind": "tensor", "name": "__class__"},
        {"kind": "tensor", "name": ["query"]},
        {"kind": "tensor", "name": "query", "layer": 0},
        {"kind": "tensor", "name": "query", "layer": 0, "head": "mean"},
        {"kind": "tensor", "name": "hidden", "layer": 7},
        {"kind": "tensor", "name": "token", "cols": [0, 10**6]},
        {"kind": "first_token", "head": 12},
        {"kind": "classification"},
        {"kind": "next_sentence"},
        {"kind": "metrics", "tau": -1},
        {"kind": "metrics", "tau": "median"},
        {"kind": "__class__"},
        {"kind": ["weights"]},
        {},
        [],
        None,
        "weights",
    ],
)
def test_a_request_that_does_not_fit_is_refused_in_words(
    analysis: Analysis, request_: object
) -> None:
    reply, buffers = protocol.answer(analysis, request_)
    assert reply["ok"] is False
    assert buffers == []
    assert "bug" not in reply["hint"], reply


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)
small = st.integers(-2, 12)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("layer", "head", "position", "token", "top_k", "seed", "a", "b"), small),
    **dict.fromkeys(("rows", "cols", "token_ids"), st.lists(small, max_size=3)),
    "mode": st.sampled_from(["as_is", "masked"]),
    "aggregation": st.sampled_from(["mass", "max"]),
    "name": st.sampled_from(TENSORS),
    "tau": st.just("uniform") | st.floats(),
}
requests = st.fixed_dictionaries(
    {"kind": st.sampled_from([*protocol.HANDLERS, "x"]) | json_like},
    optional={name: known | st.just("mean") | json_like for name, known in FIELDS.items()},
)


@settings(max_examples=150)
@given(request_=requests)
def test_no_request_raises_or_is_called_a_bug(analysis: Analysis, request_: object) -> None:
    reply, _ = protocol.answer(analysis, request_)
    assert reply["ok"] or "bug" not in reply["hint"], reply


def test_an_answer_over_the_limit_names_the_rows_that_fit(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MAX_REPLY_BYTES", 200)
    reply, _ = protocol.answer(analysis, {"kind": "weights", "layer": 0, "head": 0})
    n = analysis.trace.n_tokens
    assert reply["hint"] == f"Ask for at most {200 // (4 * n)} rows at a time."
