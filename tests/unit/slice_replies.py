"""Replies to requests, as the page reads them, of several kinds of model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.protocol import answer as protocol
from tests.unit import tiny_models

TEXT = "The cat sat on the mat. It didn't rain, so Dr. Smith's dog slept!"
MODELS = ("embedded", "albert", "modernbert", "distilbert")


def given_tensors() -> Analysis:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(8), size=(3, 2, 8)).astype(np.float32)
    tokens = ["[CLS]", "the", "cat", "sat", ".", "it", "purred", "[SEP]"]
    return aw.from_attentions(list(weights), tokens, text="The cat sat. It purred")


@cache
def made(kind: str) -> Analysis:
    if kind == "tensors":
        return given_tensors()
    model = None if kind == "embedded" else tiny_models.build(kind)
    return aw.analyze(TEXT, model=model, progress=False)


def reply_to(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The reply, and its arrays as the page reads them."""
    reply, buffers = protocol.answer(analysis, request)
    assert "bug" not in reply.get("hint", ""), reply
    arrays = {
        entry["name"]: np.frombuffer(buffer, dtype=entry["dtype"]).reshape(entry["shape"])
        for entry, buffer in zip(reply.get("arrays", []), buffers, strict=True)
    }
    return reply, arrays


def ask(analysis: Analysis, **request: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    reply, arrays = reply_to(analysis, **request)
    assert reply["ok"], reply
    return reply["data"], arrays


def equal(found: np.ndarray, expected: Any) -> None:
    np.testing.assert_array_equal(found, np.asarray(expected))
