"""The embedded model in torch alone is the model of `transformers`, bit by bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, BertForPreTraining

from attn_widget import analyze
from attn_widget.checks.rounding import rounding
from attn_widget.model.bert import BertForPreTraining as OwnBert
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load, unload
from attn_widget.model.places import MINI
from attn_widget.model.tokenizing import mask
from attn_widget.trace.capture import capture
from attn_widget.trace.embeddings import embedding_parts
from attn_widget.trace.forward import forward_ids, lm_logits
from attn_widget.trace.layer_activations import inside

WORDS = "The old keeper of the light tells her that a storm 'll come, and it does. "
TEXTS: dict[str, tuple[str, str | None]] = {
    "short": ("the cat sat on the mat", None),
    "pair": ("Where is it?", "It is in the garden, behind the house."),
    "odd characters": ("naïve 你好 🙂‍↔️ x\u200by [MASK] [SEP] 1/2 A\u0301 ﬁ", None),
    "long": (WORDS * 14, WORDS),
    "too long": (WORDS * 40, WORDS * 30),
}


@pytest.fixture
def own() -> Encoder:
    """The embedded model, not asked for its `transformers` objects by any other test."""
    unload()
    encoder = load(progress=False)
    assert isinstance(encoder.network, OwnBert)
    return encoder


@pytest.fixture(scope="module")
def theirs() -> Encoder:
    """The same files as `transformers` loads them."""
    model = BertForPreTraining.from_pretrained(MINI, attn_implementation="sdpa").eval()
    return load((model, AutoTokenizer.from_pretrained(MINI)))


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def test_parameters_have_the_same_names_order_and_values(own: Encoder, theirs: Encoder) -> None:
    a, b = (list(encoder.network.named_parameters()) for encoder in (own, theirs))
    assert [name for name, _ in a] == [name for name, _ in b]
    assert all(
        torch.equal(x, y) and x.dtype == y.dtype for (_, x), (_, y) in zip(a, b, strict=True)
    )


def test_the_facts_of_both_are_the_same(own: Encoder, theirs: Encoder) -> None:
    names = (
        *("family", "n_layers", "n_heads", "hidden_size", "head_dim", "vocab_size", "max_length"),
        *("n_embeddings", "takes_segments", "has_lm", "has_nsp", "classifier", "id2label"),
        *("device", "dtype", "mask_token_id", "untrained"),
    )
    for name in names:
        assert getattr(own, name) == getattr(theirs, name), name


def test_the_tokenizers_are_the_same(own: Encoder, theirs: Encoder) -> None:
    a, b = (json.loads(e.reader.backend_tokenizer.to_str()) for e in (own, theirs))
    assert a == b
    assert own.token_texts([0, 103, 30521]) == theirs.token_texts([0, 103, 30521])


@pytest.mark.parametrize("name", TEXTS)
def test_tokens_and_inputs_are_the_same(own: Encoder, theirs: Encoder, name: str) -> None:
    text, pair = TEXTS[name]
    a, b = (encoder.encode(text, pair, truncation=True) for encoder in (own, theirs))
    assert (a.tokens, a.truncated) == (b.tokens, b.truncated)
    assert a.inputs.keys() == b.inputs.keys()
    assert all(torch.equal(a.inputs[key], b.inputs[key]) for key in a.inputs)
    # What was cut once leaves no limit behind.
    assert own.encode(WORDS * 20).n_tokens == theirs.encode(WORDS * 20).n_tokens


@pytest.mark.parametrize("name", TEXTS)
def test_a_run_is_bit_equal_to_sdpa_of_transformers(
    own: Encoder, theirs: Encoder, name: str
) -> None:
    encoding = own.encode(*TEXTS[name], truncation=True)
    if not encoding.tokens[1].special:
        encoding = mask(own, encoding, [1])
    a, b = capture(own, encoding), capture(theirs, encoding)
    with torch.no_grad():  # and to the model left alone, not only to what is captured of it
        alone = theirs.model(**encoding.inputs, output_hidden_states=True)
    assert same(a.logits, alone.prediction_logits[0])
    assert same(a.nsp_logits, alone.seq_relationship_logits[0])
    assert same(a.hidden_states, torch.cat(alone.hidden_states))
    for layer in range(own.n_layers):
        assert a.allowed(layer) is None
        assert same(a.layer_scores(layer), b.layer_scores(layer))
        assert same(a.layer_weights(layer), b.layer_weights(layer))
        for head in range(own.n_heads):
            for part in ("queries", "keys", "values"):
                assert same(getattr(a, part)(layer, head), getattr(b, part)(layer, head))


def test_parts_of_layers_and_embeddings_are_bit_equal(own: Encoder, theirs: Encoder) -> None:
    encoding = own.encode(*TEXTS["pair"])
    for layer in range(own.n_layers):
        a, b = (vars(inside(encoder, encoding, layer)) for encoder in (own, theirs))
        assert a.keys() == b.keys()
        assert all(same(a[key], b[key]) for key in a)
    a, b = (vars(embedding_parts(encoder, encoding)) for encoder in (own, theirs))
    assert all(same(a[key], b[key]) for key in a if key != "reasons")
    assert a["reasons"] == b["reasons"] == {}


def test_a_batch_with_padding_and_picked_positions_is_bit_equal(
    own: Encoder, theirs: Encoder
) -> None:
    torch.manual_seed(0)
    ids = torch.randint(1000, 20_000, (3, 17))
    attention = torch.ones_like(ids)
    attention[1, 9:] = attention[2, 3:] = 0
    given = {"attention_mask": attention, "token_type_ids": (ids % 2)}
    a, b = (forward_ids(encoder, ids, **given) for encoder in (own, theirs))
    assert torch.equal(a, b)
    places = torch.tensor([4, 8, 2])
    a, b = (forward_ids(encoder, ids, **given, positions=places) for encoder in (own, theirs))
    assert torch.equal(a, b)
    hidden = torch.randn(5, own.hidden_size)
    assert torch.equal(lm_logits(own, hidden), lm_logits(theirs, hidden))


def test_the_objects_of_transformers_come_when_they_are_asked_for_and_run_from_then_on(
    own: Encoder,
) -> None:
    before = analyze("the cat sat", model=own)
    lock = own.lock
    assert isinstance(own.model, BertForPreTraining)
    assert own.model is own.model is own.network
    assert own.tokenizer.is_fast
    assert own.config is own.model.config
    assert (
        own.tokenizer("the cat").input_ids == own.encode("the cat").inputs["input_ids"][0].tolist()
    )
    assert load((own.model, own.tokenizer)).lock is lock is own.lock
    after = analyze("the cat sat", model=own)
    assert same(before.attention(3, 5), after.attention(3, 5))
    with torch.no_grad():
        own.model.bert.encoder.layer[0].attention.self.query.weight.zero_()
    changed = analyze("the cat sat", model=own)
    # Without its weights every query is the bias, and all rows are one.
    apart = np.ptp(changed.attention(0, 5), axis=0).max()
    assert apart <= rounding(np.abs(changed.scores(0, 5)).max(), 32)
    assert np.ptp(before.attention(0, 5), axis=0).max() > 1e-2
    unload(own)


@pytest.mark.parametrize("asked", ["model", "tokenizer", "config"])
def test_each_of_them_can_be_the_first(own: Encoder, asked: str) -> None:
    assert type(getattr(own, asked)).__module__.startswith("transformers.")
