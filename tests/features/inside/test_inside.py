"""Inside a layer: the parts are the model's own tensors, and they add up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertForPreTraining

import attn_widget as aw
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.inside.parameters import parameter_counts, position_table
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import layer_modules
from attn_widget.model.places import MINI
from attn_widget.trace.capture import capture
from attn_widget.trace.embeddings import embedding_parts
from attn_widget.trace.layer_activations import inside
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat sat, and naïve Dr. Smith's dog ran."


@pytest.fixture(scope="module", params=tiny_models.FAMILIES)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return aw.load(tiny_models.build(request.param))


def apply(module: Any, array: Any) -> Any:
    with torch.no_grad():
        return module(torch.from_numpy(array)).numpy()


def test_a_pass_for_one_layer_ends_there() -> None:
    encoder = aw.load(tiny_models.build("llama", num_hidden_layers=4))
    layers = layer_modules(encoder.family, encoder.model)
    assert layers is not None
    ran: list[int] = []
    for index, layer in enumerate(layers):
        layer.register_forward_hook(lambda *_, index=index: ran.append(index))
    encoding = encoder.encode(TEXT)
    inside(encoder, encoding, 1)
    assert ran == [0, 1]
    embedding_parts(encoder, encoding)
    assert ran == [0, 1, 0]


def test_the_parts_of_every_layer_add_up(encoder: Encoder) -> None:
    encoding = encoder.encode(TEXT)
    states = capture(encoder, encoding).hidden_states
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.model)
    assert states is not None and block is not None and layers is not None
    narrow = encoder.family.name == "mobilebert"
    for layer in range(encoder.n_layers):
        p = inside(encoder, encoding, layer)
        attention_norm = layers[layer].get_submodule(block.attention_norm)
        ffn_norm = layers[layer].get_submodule(block.ffn_norm)
        ffn_output = layers[layer].get_submodule(block.ffn_output)
        # Of another pass, whose buffers lie elsewhere: kernels may sum in another order.
        assert_close(p.layer_input, states[layer], **tiny_models.RUN)
        assert_close(apply(ffn_output, p.ffn_activation), p.ffn_output, terms=48)
        if not narrow:  # there the residual starts from the bottleneck
            total = p.layer_input + p.attention_output
            assert_close(total, p.attention_sum, terms=48)
        if p.pre_norm:
            assert_close(apply(attention_norm, p.layer_input), p.attention_norm, terms=48)
            assert_close(apply(ffn_norm, p.attention_sum), p.ffn_norm, terms=48)
            assert_close(p.attention_sum + p.ffn_output, p.ffn_sum, terms=48)
            np.testing.assert_array_equal(p.ffn_sum, p.layer_output)
        else:
            assert_close(apply(attention_norm, p.attention_sum), p.attention_norm, terms=48)
            assert_close(apply(ffn_norm, p.ffn_sum), p.ffn_norm, terms=48)
            if not narrow:
                assert_close(p.attention_norm + p.ffn_output, p.ffn_sum, terms=48)
                np.testing.assert_array_equal(p.ffn_norm, p.layer_output)
        if not (p.pre_norm and layer == encoder.n_layers - 1):  # a final norm follows
            assert_close(p.layer_output, states[layer + 1], **tiny_models.RUN)


def test_the_embeddings_add_up_to_the_first_hidden_state(encoder: Encoder) -> None:
    encoding = encoder.encode(TEXT, "It rained.")
    parts = embedding_parts(encoder, encoding)
    states = capture(encoder, encoding).hidden_states
    assert states is not None and encoder.family.embeddings is not None
    there = [part for part in (parts.token, parts.position, parts.segment) if part is not None]
    assert_close(sum(there), parts.sum, terms=48)
    norm = encoder.model.base_model.get_submodule(encoder.family.embeddings.norm)
    assert_close(apply(norm, parts.sum), parts.norm, terms=48)
    np.testing.assert_array_equal(parts.output, states[0])
    for name in ("position", "segment"):
        if getattr(parts, name) is None:
            with pytest.raises(NotAvailableError, match=f"This model has no {name} embeddings: "):
                parts.part(name)
        else:
            assert name not in parts.reasons


def test_the_position_table_begins_at_the_first_token(encoder: Encoder) -> None:
    encoding = encoder.encode(TEXT)
    parts = embedding_parts(encoder, encoding)
    if parts.position is None:
        with pytest.raises(NotAvailableError, match="has no position embeddings"):
            position_table(encoder)
        return
    table = position_table(encoder)
    assert len(table) == encoder.max_length
    np.testing.assert_array_equal(table[: encoding.n_tokens], parts.position)


def test_the_embedded_model_has_the_counts_of_transformers() -> None:
    own = aw.load(progress=False)
    pair = BertForPreTraining.from_pretrained(MINI), AutoTokenizer.from_pretrained(MINI)
    assert parameter_counts(own) == parameter_counts(aw.load(pair))


def test_parameter_counts_add_up(encoder: Encoder) -> None:
    counts = parameter_counts(encoder)
    total = sum(p.numel() for p in encoder.model.parameters())
    assert counts["total"] == total == sum(v for k, v in counts.items() if k != "total")
    tables = [
        m
        for m in encoder.model.base_model.embeddings.modules()
        if isinstance(m, torch.nn.Embedding)
    ]
    assert counts["embeddings"] >= sum(m.weight.numel() for m in tables) > 0
    assert min(counts["attention"], counts["feed_forward"], counts["norms"], counts["heads"]) > 0


def test_bert_base_has_the_published_number_of_attention_parameters_a_layer() -> None:
    model, tokenizer = tiny_models.build("bert", "Model")
    counts = parameter_counts(aw.load((model, tokenizer)))
    d, i, layers = 32, 48, 3
    assert counts["attention"] == layers * 4 * (d * d + d)
    assert counts["feed_forward"] == layers * (d * i + i + i * d + d)
    assert counts["norms"] == layers * 2 * 2 * d
    assert counts["pooler"] == d * d + d


def test_a_feed_forward_in_chunks_is_put_together() -> None:
    whole = aw.load(tiny_models.build("albert"))
    chunked = aw.load(tiny_models.build("albert", chunk_size_feed_forward=1))
    encoding = whole.encode(TEXT)
    expected, found = inside(whole, encoding, 1), inside(chunked, encoding, 1)
    assert_close(found.ffn_activation, expected.ffn_activation, terms=48, steps=2)
    assert_close(found.layer_output, expected.layer_output, terms=48, steps=2)


def test_what_cannot_be_shown_is_refused_in_words(encoder: Encoder) -> None:
    encoding = encoder.encode(TEXT)
    for layer in (-1, encoder.n_layers):
        with pytest.raises(InputError, match="0-based"):
            inside(encoder, encoding, layer)
    with pytest.raises(InputError, match="layer is True, expected an int"):
        inside(encoder, encoding, True)


def test_an_unknown_family_has_no_inside() -> None:
    import transformers as tf

    model = tf.RoFormerModel(tf.RoFormerConfig(**tiny_models.SMALL)).eval()
    encoder = aw.load((model, tiny_models.tokenizer("wordpiece")))
    encoding = encoder.encode(TEXT)
    for ask in (lambda: inside(encoder, encoding, 0), lambda: embedding_parts(encoder, encoding),
                lambda: parameter_counts(encoder), lambda: position_table(encoder)):  # fmt: skip
        with pytest.raises(NotAvailableError, match="roformer keeps its layers is not known"):
            ask()
