"""A sum that closes does so whatever the model's activation, bounds and attention path are; one that does not is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from tests.unit import tiny_models

TEXT = "the cat sat on the mat"
AIM = aw.target(position=3, token=20, against=30)


def mpt() -> Any:
    torch.manual_seed(0)
    sizes = {"vocab_size": 512, "d_model": 32, "n_layers": 3, "n_heads": 4, "max_seq_len": 128}
    config = tf.MptConfig(
        **sizes,
        expansion_ratio=2,
        initializer_range=0.3,
        attn_config={"clip_qkv": 0.1},
        tie_word_embeddings=True,
    )
    return tf.MptForCausalLM(config).eval(), tiny_models.build("mpt")[1]


def run_of(pair: Any) -> Any:
    return aw.analyze(TEXT, model=pair, tagger=None, progress=False)


def plain_value(a: Any) -> float:
    """Of `transformers` alone, with the attention that the model has by default."""
    model = a.run.encoder.model
    with torch.no_grad():
        row = model(**a.run.encoding.inputs, use_cache=False).logits[0, 3]
    return float(row[20] - row[30])


ACTIVATIONS = ("sigmoid", "relu6", "mish", "leaky_relu", "tanh", "laplace", "relu2", "prelu")


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_decomposition_closes_with_every_activation(activation: str) -> None:
    a = run_of(tiny_models.build("gpt2", activation_function=activation))
    c = a.why.contributions(AIM)
    assert c.total == pytest.approx(plain_value(a), abs=1e-4)
    # What a sigmoid gives of 0 is a bias; a ratio of 0.5 to a number near 0 would blow every share up.
    assert np.abs(c.values).sum() < 50 * max(1, abs(c.value))


def test_a_decomposition_closes_where_queries_keys_and_values_are_bounded() -> None:
    a = run_of(mpt())
    assert a.why.contributions(AIM).total == pytest.approx(plain_value(a), abs=1e-5)


def test_a_model_that_gates_by_a_sigmoid_is_linear_with_its_gates_held() -> None:
    model, tokenizer = tiny_models.build("gpt2", seed=3)
    for block in model.transformer.h:
        inner = block.mlp.forward
        block.mlp.forward = lambda x, inner=inner: torch.sigmoid(x) * inner(x)
    a = run_of((model, tokenizer))
    assert a.why.contributions(AIM).total == pytest.approx(plain_value(a), abs=1e-4)


def test_a_sum_that_does_not_close_is_refused_with_its_gap() -> None:
    model, tokenizer = tiny_models.build("gpt2", seed=4)
    for block in model.transformer.h:
        inner = block.mlp.forward
        block.mlp.forward = lambda x, inner=inner: inner(x) * x  # not linear, whatever is held
    a = run_of((model, tokenizer))
    with pytest.raises(NotAvailableError, match=r"miss \d.*% of what they add up to"):
        a.why.contributions(AIM)


@pytest.fixture(scope="module")
def falcon() -> Any:
    """Falcon with ALiBi, whose heads have no queries and no keys: the bias alone is left."""
    model, tokenizer = tiny_models.build("falcon", alibi=True, seed=5)
    heads, width = model.config.num_attention_heads, model.config.hidden_size
    for block in model.transformer.h:
        weight = block.self_attention.query_key_value.weight.data
        weight[: width + width // heads] = 0  # all queries and the one key that they share
    return run_of((model, tokenizer))


def test_falcons_alibi_is_added_once(falcon: Any) -> None:
    n, heads, head_dim = falcon.trace.n_tokens, falcon.trace.n_heads, 8
    slopes = [2.0 ** (-8 * (h + 1) / heads) for h in range(heads)]
    for head, slope in enumerate(slopes):
        scores = slope * np.arange(n) / math.sqrt(head_dim)
        rows = np.where(np.tri(n, dtype=bool), np.exp(scores), 0)
        expected = rows / rows.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(falcon.attention(1, head), expected, atol=2e-3)  # in bfloat16


def test_falcons_figures_are_of_one_attention(falcon: Any) -> None:
    plain = plain_value(falcon)
    c = falcon.why.contributions(AIM)
    assert c.value == pytest.approx(plain, abs=1e-5) and c.total == pytest.approx(plain, abs=1e-5)
    assert falcon.why.head_effects(AIM).value == pytest.approx(plain, abs=1e-5)
    assert falcon.why.contributions(
        aw.target(position=3, token=20), "occlusion"
    ).value == pytest.approx(falcon.why.components(aw.target(position=3, token=20)).value, abs=1e-5)
    # Knocking out nothing that a row reads changes nothing.
    values = falcon.why.contributions(aw.target(position=1, token=20), "occlusion").values
    np.testing.assert_allclose(values[2:], 0, atol=1e-5)
