"""Queries and keys that were given with attention from outside reach the page, live and saved."""

from __future__ import annotations

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.page.snapshot import snapshot
from attn_widget.page.spec import PageSpec
from attn_widget.protocol.answer import answer
from attn_widget.protocol.pack import unpack
from tests.close import assert_close

N, WIDTH = 6, 4


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    q, k = np.random.default_rng(0).normal(size=(2, N, WIDTH))
    exps = np.exp(q @ k.T / np.sqrt(WIDTH))
    weights = exps / exps.sum(axis=1, keepdims=True)
    names = [f"w{i}" for i in range(N)]
    return aw.from_attentions(
        weights[None, None], names, queries=q[None, None], keys=k[None, None], tagger=None
    )


def test_queries_and_keys_are_answered_without_values(analysis: Analysis) -> None:
    reply, buffers = answer(analysis, {"kind": "qkv", "layer": 0, "head": 0})
    assert [array["name"] for array in reply["arrays"]] == ["q", "k"]
    q, k = (np.frombuffer(buffer, dtype=np.float32).reshape(N, WIDTH) for buffer in buffers)
    scores = q @ k.T * np.float32(reply["data"]["scaling"])
    assert_close(scores, analysis.scores(0, 0), terms=WIDTH)


def test_a_saved_page_has_their_vectors_and_scores_to_the_bit(analysis: Analysis) -> None:
    found = snapshot(analysis, {"layer": 0, "head": 0}, PageSpec(views=["attention"]))
    meta, arrays = unpack(found.chunks["paint"])
    stored = {entry["request"]["kind"]: entry["arrays"] for entry in meta["recorded"]}
    np.testing.assert_array_equal(arrays[stored["scores"]["scores"]], analysis.scores(0, 0))
    np.testing.assert_array_equal(arrays[stored["qkv"]["q"]], analysis.model.queries(0, 0))
