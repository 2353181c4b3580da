"""Models whose shape is unlike that of their kin: their attention, hidden states and predictions are the model's own."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import NotAvailableError
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.tiny_models import GROUPED, IDS, SMALL, SPREAD, STACKS

TEXT = "The cat sat on the mat, and the dog looked at the bird."
DECODER: dict[str, Any] = {**STACKS, "is_decoder": True, "is_encoder_decoder": False}
OPT: dict[str, Any] = {
    "vocab_size": 512, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "ffn_dim": 48,
    "max_position_embeddings": 128, "word_embed_proj_dim": 16, "init_std": SPREAD / 3, "pad_token_id": 1, **IDS,
}  # fmt: skip


class Kind(NamedTuple):
    cls: str
    config: Any
    tokenizer: str
    predicts: str | None


def _trocr() -> Any:
    return tf.TrOCRConfig(
        vocab_size=512, d_model=32, decoder_layers=3, decoder_attention_heads=4, decoder_ffn_dim=48,
        max_position_embeddings=64, init_std=SPREAD / 3, pad_token_id=1, **IDS,
    )  # fmt: skip


def _xlnet() -> Any:
    return tf.XLNetConfig(
        vocab_size=512,
        d_model=32,
        n_layer=3,
        n_head=4,
        d_inner=48,
        initializer_range=SPREAD,
        pad_token_id=1,
        **IDS,
    )


def _gemma3n() -> Any:
    sliding, full = "sliding_attention", "full_attention"
    return tf.Gemma3nTextConfig(
        **{**GROUPED, "num_hidden_layers": 5, "intermediate_size": [48] * 5, "initializer_range": 0.1}, **IDS,
        vocab_size_per_layer_input=512, hidden_size_per_layer_input=8, num_kv_shared_layers=2, sliding_window=8,
        laurel_rank=4, layer_types=[sliding, sliding, full, sliding, full],
        activation_sparsity_pattern=[0.95, 0.0, 0.0, 0.0, 0.0],
    )  # fmt: skip


KINDS = {
    "opt-350m": Kind("OPTForCausalLM", lambda: tf.OPTConfig(**OPT, do_layer_norm_before=False), "beginning", "next"),
    "layoutlm": Kind("LayoutLMForMaskedLM", lambda: tf.LayoutLMConfig(**SMALL), "wordpiece", "here"),
    "bart": Kind("BartForCausalLM", lambda: tf.BartConfig(**DECODER), "beginning", "next"),
    "pegasus": Kind("PegasusForCausalLM", lambda: tf.PegasusConfig(**DECODER), "beginning", "next"),
    "bigbird_pegasus": Kind(
        "BigBirdPegasusForCausalLM", lambda: tf.BigBirdPegasusConfig(**DECODER), "beginning", "next"
    ),
    "bert-generation": Kind(
        "BertGenerationDecoder", lambda: tf.BertGenerationConfig(**SMALL, is_decoder=True), "wordpiece", "next"
    ),
    "trocr": Kind("TrOCRForCausalLM", _trocr, "beginning", "next"),
    "xlnet": Kind("XLNetLMHeadModel", _xlnet, "unigram", None),
    "gemma3n": Kind("Gemma3nForCausalLM", _gemma3n, "beginning", "next"),
}  # fmt: skip


@cache
def built(name: str) -> tuple[Any, Any]:
    cls, config, tokenizer, _ = KINDS[name]
    torch.manual_seed(0)
    model = getattr(tf, cls)(config()).eval()
    with torch.no_grad():  # biases and norms start at 0 and 1
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model, tiny_models.tokenizer(tokenizer)


@cache
def analysis(name: str) -> Analysis:
    return aw.analyze(TEXT, model=built(name), tagger=None, progress=False)


@cache
def eager(name: str) -> Any:
    """The same text run by `transformers` alone."""
    model, _ = built(name)
    model.set_attn_implementation("eager")
    run = analysis(name).run
    assert run is not None
    options: dict[str, Any] = {"output_attentions": True, "output_hidden_states": True}
    if name != "xlnet":
        options["use_cache"] = False
    with torch.no_grad():
        return model(**run.encoding.inputs, **options)


@pytest.fixture(scope="module", params=KINDS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_weights_are_those_of_the_models_eager_attention(name: str) -> None:
    trace, expected = analysis(name).trace, eager(name).attentions
    assert trace.n_layers == len(expected)
    for layer, weights in enumerate(expected):
        assert trace.layer_weights(layer).shape == weights.shape[1:]
        scores = trace.layer_scores(layer)
        size = scores[np.isfinite(scores)]
        assert_close(trace.layer_weights(layer), weights[0], terms=32, steps=5, size=size)


def states_are_the_models_own(a: Analysis, expected: Any, name: str) -> None:
    states = [state[0].numpy() for state in expected.hidden_states]
    assert (
        a.model.hidden_states.shape
        == (len(states), a.trace.n_tokens, 32)
        == (a.trace.n_layers + 1, a.trace.n_tokens, 32)
    )
    if name == "opt-350m":  # the last one of `transformers` is as wide as the head reads
        states = states[:-1]
    for found, state in zip(a.model.hidden_states, states, strict=False):
        assert_close(found, state, terms=48, steps=14)


def test_hidden_states_and_logits_are_the_models_own(name: str) -> None:
    a, expected = analysis(name), eager(name)
    if name != "gemma3n":
        states_are_the_models_own(a, expected, name)
    if KINDS[name].predicts is not None:
        assert_close(a.trace.logits, expected.logits[0], terms=48, steps=14)
        assert a.predictions().mode == ("next" if KINDS[name].predicts == "next" else "as_is")


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.predicts == "next"])
def test_what_is_written_is_what_the_model_writes(name: str) -> None:
    model, tokenizer = built(name)
    a = aw.analyze("The cat", generate=4, model=(model, tokenizer), tagger=None, progress=False)
    ids = [token.id for token in a.tokens]
    prompt = torch.tensor([ids[: len(ids) - len(a.model.generated)]])
    options: dict[str, Any] = {
        "max_new_tokens": len(a.model.generated),
        "do_sample": False,
        "num_beams": 1,
    }
    with torch.no_grad():
        assert (
            a.model.generated
            and model.generate(prompt, use_cache=False, **options)[0].tolist() == ids
        )


def test_a_permutation_language_model_predicts_nothing_of_a_text_that_it_sees() -> None:
    a, target = analysis("xlnet"), aw.target(position=3, token=17)
    for ask in (
        a.predictions,
        lambda: a.why.contributions(target),
        lambda: a.why.logit_lens(target),
    ):
        with pytest.raises(
            NotAvailableError, match="XLNetLMHeadModel predicts tokens that a permutation hides"
        ):
            ask()
    with pytest.raises(NotAvailableError, match=r"permutation hides \(perm_mask\).*writes no text"):
        aw.analyze("The cat", generate=3, model=built("xlnet"), progress=False)


def test_streams_of_hidden_states_are_not_called_hidden_states() -> None:
    a = analysis("gemma3n")
    with pytest.raises(NotAvailableError, match="several vectors for each token and layer"):
        _ = a.model.hidden_states
    model = aw.load(built("gemma3n")).with_pooling("mean")
    with pytest.raises(NotAvailableError, match="which of them are pooled"):
        aw.similarity("the cat", "a dog", model=model, progress=False)


def test_figures_of_a_decoder_of_two_widths_close() -> None:
    a, target = analysis("opt-350m"), aw.target(position=5, token=17, against=30)
    c = a.why.contributions(target)
    expected = eager("opt-350m").logits[0, 5]
    assert c.value == pytest.approx(float(expected[17] - expected[30]), abs=1e-5)
    assert c.gap <= 1e-5 and not c.values[6:].any()
    off = a.ablate([(2, 1)]).trace.logits[5]
    effect = a.why.head_effects(target).effects[2, 1]
    assert effect == pytest.approx(c.value - (off[17] - off[30]), abs=1e-5)
    assert a.why.logit_lens(target).values[-1] == pytest.approx(c.value, abs=1e-5)
    parts = a.model.embeddings
    assert parts.position is not None
    assert_close(parts.token + parts.position, a.model.hidden_states[0], terms=2)
    assert sum(a.model.parameters.values()) == 2 * a.model.parameters["total"]
    assert a.model.parameters["embeddings"] >= 512 * 16
    with pytest.raises(NotAvailableError, match="maps its last hidden states to another width"):
        a.why.components(target)
