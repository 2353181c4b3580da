"""Texts at the edge on the real model: every section is a number, or N/A with its reason."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis.report_json import document
from attn_widget.protocol.initial_payload import unknown_tokens
from attn_widget.protocol.pack import to_json
from tests.close import assert_close

EDGES = {
    "only punctuation": "?! ... --",
    "one word": "cat",
    "an unknown word": "☃",
    "one word, 512 tokens": "word " * 510,
    "one long word in many pieces": "unbelievable" * 8,
    "a mask": "[MASK]",
}


@pytest.mark.parametrize("name", EDGES)
def test_every_section_is_there_or_says_why_not(name: str) -> None:
    analysis = aw.analyze(EDGES[name], progress=False)
    whole: dict[str, Any] = json.loads(json.dumps(to_json(document(analysis)), allow_nan=False))
    for section in ("metrics", "specialization", "rollout", "predictions", "hidden_states"):
        assert whole[section] is not None, whole["not_available"]
    for section, value in whole.items():
        if value is None and section not in ("text_pair", "truncated"):
            # A revision that is not known stands inside a section; a missing section has a reason.
            assert whole["not_available"][section]
    raw, reasons = whole["specialization"]["raw"], whole["specialization"]["reasons"]
    for key, values in raw.items():
        missing = all(value is None for row in values for value in row)
        assert missing == (key in reasons)
    np.testing.assert_allclose(np.sum(whole["rollout"], axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "unknown"), [("cat", 0), ("cat ☃", 0), ("cat ☃ ☃", 2), ("☃", 1), ("☃ ☃", 2)]
)
def test_unknown_tokens_are_told_where_they_are_most_of_the_text(text: str, unknown: int) -> None:
    found = unknown_tokens(aw.analyze(text, tagger=None, progress=False))
    wanted = {"count": unknown, "tokens": len(text.split()), "text": "[UNK]"}
    assert found == (wanted if unknown else None)


def test_only_punctuation_has_no_word_classes_and_a_share_of_punctuation() -> None:
    found = aw.analyze(EDGES["only punctuation"], progress=False).heads.specialization
    assert {"syntax", "semantics", "entities"} <= found.reasons.keys()
    assert np.isfinite(found.punctuation).all()
    assert 0 < found.punctuation.max() <= 1


def test_the_residual_bars_are_those_of_the_plain_modules() -> None:
    import torch

    analysis = aw.analyze("The cat sat on the mat.", progress=False)
    assert analysis.run is not None
    model = analysis.run.encoder.model
    states: dict[tuple[int, str], torch.Tensor] = {}
    handles = []
    for index, layer in enumerate(model.bert.encoder.layer):
        for part, module in (("attention", layer.attention), ("layer", layer)):

            def keep(_m: Any, args: Any, out: Any, at: tuple[int, str] = (index, part)) -> None:
                states[at[0], at[1] + " in"] = args[0][0].double()
                states[at] = (out[0] if isinstance(out, tuple) else out)[0].double()

            handles.append(module.register_forward_hook(keep))
    with torch.no_grad():
        model(**analysis.run.encoding.inputs)
    for handle in handles:
        handle.remove()
    found = analysis.model.residuals
    for index in range(analysis.trace.n_layers):
        into = states[index, "attention in"]
        middle, out = states[index, "attention"], states[index, "layer"]
        expected = (middle - into).norm(dim=-1) / into.norm(dim=-1)
        size = (middle.norm(dim=-1) + into.norm(dim=-1)) / into.norm(dim=-1)
        assert_close(found.attention[index], expected, terms=384, size=size)
        expected = (out - middle).norm(dim=-1) / middle.norm(dim=-1)
        size = (out.norm(dim=-1) + middle.norm(dim=-1)) / middle.norm(dim=-1)
        assert_close(found.ffn[index], expected, terms=384, size=size)
