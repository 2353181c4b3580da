"""A mask is known by what the run shows and by the config's own flags, not by the number that it is made of or by a name."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.trace.qkv import large_negative
from tests.unit import tiny_models

TEXT = "the cat sat on the mat"
GPT = {"vocab_size": 512, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128}
XLM = {
    "vocab_size": 512,
    "emb_dim": 32,
    "n_layers": 2,
    "n_heads": 4,
    "max_position_embeddings": 128,
}
CAUSAL: dict[str, Any] = {
    "openai-gpt": lambda: tf.OpenAIGPTLMHeadModel(tf.OpenAIGPTConfig(**GPT)),
    "ctrl": lambda: tf.CTRLLMHeadModel(tf.CTRLConfig(**GPT, dff=48)),
    "codegen": lambda: tf.CodeGenForCausalLM(tf.CodeGenConfig(**GPT, rotary_dim=4)),
    "xlm": lambda: tf.XLMWithLMHeadModel(tf.XLMConfig(**XLM, causal=True)),
    "flaubert": lambda: tf.FlaubertWithLMHeadModel(tf.FlaubertConfig(**XLM, causal=True)),
    "roformer": lambda: tf.RoFormerForCausalLM(
        tf.RoFormerConfig(**tiny_models.SMALL, embedding_size=32, is_decoder=True)
    ),
}


@cache
def model(name: str, dtype: torch.dtype) -> Any:
    torch.manual_seed(0)
    made = CAUSAL[name]().eval().to(dtype)
    for layer in made.base_model.modules():
        if name == "openai-gpt" and type(layer).__name__ == "Attention":
            layer.c_attn.weight.data[:, :64] = 0  # no queries and no keys: every head is flat
    return made


def analysis(name: str, dtype: torch.dtype = torch.float32) -> Any:
    tokenizer = tiny_models.build("gpt2")[1]
    return aw.analyze(TEXT, model=(model(name, dtype), tokenizer), tagger=None, progress=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["float32", "float16"])
@pytest.mark.parametrize("name", CAUSAL)
def test_a_causal_mask_is_seen_whatever_it_is_made_of(name: str, dtype: torch.dtype) -> None:
    a = analysis(name, dtype)
    for layer in range(a.trace.n_layers):
        np.testing.assert_array_equal(a.trace.allowed(layer), np.tri(a.trace.n_tokens, dtype=bool))
        later = a.trace.layer_scores(layer)[:, ~np.tri(a.trace.n_tokens, dtype=bool)]
        assert np.isneginf(later).all()
    assert a.run.encoder.predicts == "next" and a.model.default_mode == "next"


def test_a_flat_head_of_gpt_has_full_entropy() -> None:
    metrics = analysis("openai-gpt").metrics
    np.testing.assert_allclose(metrics.focus_normalized, 1, atol=1e-5)


def test_a_model_that_reads_both_ways_is_an_encoder() -> None:
    torch.manual_seed(0)
    both = tf.XLMWithLMHeadModel(tf.XLMConfig(**XLM)).eval()
    a = aw.analyze(TEXT, model=(both, tiny_models.build("bert")[1]), tagger=None, progress=False)
    assert a.run.encoder.predicts == "here" and a.trace.allowed(0) is None


def test_a_decoder_told_to_look_both_ways_depends_on_later_words() -> None:
    """Of occlusion, later words counted as 0 because decoders are causal."""
    both, tokenizer = tiny_models.build("gemma3_text", use_bidirectional_attention=True)
    a = aw.analyze(TEXT, model=(both, tokenizer), tagger=None, progress=False)
    assert a.trace.allowed(0) is None
    aim = aw.target(position=2, token=7, against=9)
    values = a.why.contributions(aim, "occlusion").values
    ids = a.run.encoding.inputs["input_ids"]
    n = ids.shape[1]
    word = [i for i, token in enumerate(a.language.tokens) if token.word == 3]
    assert word[0] > 2
    allowed = torch.ones(1, 1, n, n, dtype=torch.bool)
    for key in word:
        allowed[..., key] = False
        allowed[..., key, key] = True
    both.config._attn_implementation = "eager"
    added = torch.zeros(1, 1, n, n).masked_fill(~allowed, torch.finfo(torch.float32).min)
    with torch.no_grad():
        logits = [
            both(input_ids=ids, attention_mask=mask, use_cache=False).logits[0, 2]
            for mask in (torch.zeros(1, 1, n, n), added)
        ]
    whole, without = (float(row[7] - row[9]) for row in logits)
    assert abs(whole - without) > 1e-4
    np.testing.assert_allclose(values[word].sum(), whole - without, atol=1e-4)


def test_large_scores_are_no_mask() -> None:
    n = 4
    every = torch.ones(n, n, dtype=torch.bool)
    scores = torch.zeros(2, n, n)
    masked = scores.masked_fill(~every.tril(), -1e4)
    assert large_negative(masked, every).equal(~every.tril())
    assert large_negative(scores, every) is None
    in_one_head = scores.clone()
    in_one_head[0, 2, 1] = -1e4
    assert large_negative(in_one_head, every) is None
    spread = torch.linspace(-9000, 0, n * n).view(1, n, n)  # they do not stand apart
    assert large_negative(spread, every) is None
    assert large_negative(scores - 1e4, every) is None  # no query would have a key
