"""Half precision, sixty-four tokens, and a sentence embedder of real weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import NotAvailableError, NotEnoughMemoryError
from attn_widget.features.qk import kept
from tests.unit import tiny_models
from tests.unit.needs import needs_minilm

SENTENCE = (
    "The man who lost his keys near the old bridge asked the girl for help because he was tired. "
)


def closes(a: Any, by: str, layer: int, limit: float) -> None:
    """Three cells of a layer, of three heads."""
    rng = np.random.default_rng(layer)
    for head in range(3):
        query = int(rng.integers(4, a.trace.n_tokens - 1))
        key = int(rng.integers(1, query))
        found = a.qk_attribution(layer, head, query, key, by=by)
        assert abs(found.gap) <= limit * max(1.0, abs(found.contrast))
        row = a.trace.weights(layer, head)[query].astype(np.float64)
        words = [k for k, token in enumerate(a.tokens) if k not in (key,) and not token.special]
        if a.model.default_mode == "next":
            words = [k for k in words if 0 < k <= query]
        assert found.contrast == pytest.approx(
            np.log(row[key]) - np.log(row[words]).mean(), abs=20 * limit
        )


@pytest.mark.parametrize("by", ["tokens", "parts"])
def test_sixty_four_tokens(by: str) -> None:
    a = aw.analyze(SENTENCE * 3, tagger=None, progress=False)
    assert a.trace.n_tokens >= 60
    for layer in (1, 5):
        closes(a, by, layer, 1e-5)


@pytest.mark.parametrize("by", ["tokens", "parts"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_half_precision_closes_within_its_rounding(family: str, by: str) -> None:
    model, tokenizer = tiny_models.build(family)
    a = aw.analyze(
        "The cat sat on the mat near our house.",
        model=(model.half(), tokenizer),
        tagger=None,
        progress=False,
    )
    closes(a, by, 1, 16 * float(torch.finfo(torch.float16).eps))


@needs_minilm
@pytest.mark.parametrize("by", ["tokens", "parts"])
def test_a_sentence_embedder(by: str) -> None:
    a = aw.similarity("The keys to the cabinet are here.", "The door is open.", tagger=None).a
    for layer in range(a.trace.n_layers):
        closes(a, by, layer, 1e-5)


def test_a_thousand_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder reads them in windows, a decoder at once: its heads and FFNs are few, and tokens may be too many."""
    long = " ".join(["cat"] * 1000)
    windows = aw.analyze(long, windows=True, tagger=None, progress=False)
    with pytest.raises(NotAvailableError, match="window"):
        windows.qk_attribution(1, 3, 6, 2)
    a = aw.analyze(long, model=tiny_models.build("bloom"), tagger=None, progress=False)
    assert a.trace.n_tokens >= 1000
    found = a.qk_attribution(1, 1, 900, 890, by="parts")
    assert abs(found.gap) <= 3e-5 * max(1, abs(found.contrast))
    monkeypatch.setattr(kept, "ONE_HEAD_BYTES", 2**24)  # a tiny head's vectors are short
    with pytest.raises(NotEnoughMemoryError, match=r"Ask about a part of the text, or by='parts'"):
        a.qk_attribution(1, 1, 900, 2, by="tokens")
