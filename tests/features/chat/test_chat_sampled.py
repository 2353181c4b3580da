"""Replies that are sampled, and chats that are read in windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from tests.features.chat import chat_models
from tests.features.chat.test_chat import CHATS, FAMILIES, analysis, ids_of, template_ids
from tests.unit.needs import needs_smollm2

SAMPLED = {"max_new_tokens": 12, "do_sample": True, "temperature": 0.7, "seed": 1}


def sampled(model: Any, prompt: list[int]) -> list[int]:
    """What `generate` writes after a prompt, without the token that ends it."""
    torch.manual_seed(SAMPLED["seed"])
    ids = torch.tensor([prompt])
    options = {name: value for name, value in SAMPLED.items() if name != "seed"}
    whole = model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=2, **options)
    written = whole[0, len(prompt) :].tolist()
    return written[: written.index(2)] if 2 in written else written


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sampled_reply_is_that_of_generate(family: str) -> None:
    model, tokenizer = chat_models.build(family)
    a = analysis(family, CHATS["system"], generate=SAMPLED)
    prompt = template_ids(tokenizer, CHATS["system"])
    assert ids_of(a) == prompt + sampled(model, prompt)
    assert a.chat.turns[-1].role == "assistant" and a.chat.turns[-1].stop == a.trace.n_tokens


@needs_smollm2
def test_smollm2_samples_as_generate_does() -> None:
    encoder = aw.load("smollm2", progress=False)
    messages = [{"role": "user", "content": "Name a color."}]
    a = aw.analyze(messages, model="smollm2", generate=SAMPLED, tagger=None, progress=False)
    prompt = template_ids(encoder.reader, messages)
    assert ids_of(a) == prompt + sampled(encoder.network, prompt)


def test_a_chat_that_is_read_in_windows_has_its_turns() -> None:
    a = analysis("llama3", CHATS["system"])
    b = analysis("llama3", CHATS["system"], windows=(32, 8))
    assert b.trace.windows is not None and b.chat.turns == a.chat.turns
    shares = b.chat.attention_by_turn(0, 0)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=0, atol=1e-6)
