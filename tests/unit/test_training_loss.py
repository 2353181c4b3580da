"""The losses against `transformers`' own: what is not computed would not have changed them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import BertConfig, BertForPreTraining

from tests.close import assert_close
from training.data import CLS, IGNORED, MASK, SEP, Batch
from training.loss import TOLERATED, SummedCrossEntropy, compute

VOCABULARY = 1200


def build_tiny() -> BertForPreTraining:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = BertForPreTraining(config).train()
    for parameter in model.parameters():  # as initialised, all that is predicted is alike
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def build_pairs(padded: bool) -> Batch:
    """Four pairs of twelve tokens; with ``padded`` the last ones of three rows are none."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1000, VOCABULARY, (4, 12), generator=generator)
    ids[:, 0], ids[:, 6] = CLS, SEP
    labels = torch.full_like(ids, IGNORED)
    for row, column in ((0, 1), (0, 4), (1, 2), (2, 5), (3, 3)):
        labels[row, column], ids[row, column] = ids[row, column].clone(), MASK
    attention = None
    if padded:
        attention = torch.ones_like(ids)
        for row, length in ((0, 8), (1, 10), (2, 7)):
            attention[row, length:] = 0
    types = (torch.arange(12) > 6).long().expand(4, -1)
    next_labels = torch.tensor([0, 1, IGNORED, 1])
    return Batch(ids, types, attention, labels, next_labels)


def gradients(model: BertForPreTraining, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_losses_and_gradients_are_those_of_the_whole_model(padded: bool, attention: str) -> None:
    model, batch = build_tiny(), build_pairs(padded)
    model.set_attn_implementation(attention)
    assert batch.next_labels is not None
    names = ("input_ids", "token_type_ids", "attention_mask")
    plain: Any = model(**{name: getattr(batch, name) for name in names})
    mlm = cross_entropy(
        plain.prediction_logits.flatten(0, 1), batch.labels.flatten(), reduction="sum"
    )
    nsp = cross_entropy(plain.seq_relationship_logits, batch.next_labels)
    wanted = gradients(model, mlm + 0.2 * nsp)
    outcome = compute(model, batch)
    assert outcome.nsp is not None
    found = gradients(model, outcome.mlm_sum + 0.2 * outcome.nsp)
    torch.testing.assert_close(outcome.mlm_sum, mlm)
    torch.testing.assert_close(outcome.nsp, nsp)
    chosen = batch.labels != IGNORED
    torch.testing.assert_close(outcome.logits, plain.prediction_logits[chosen])
    assert (outcome.n_chosen, outcome.n_pairs) == (5, 3)
    answers = plain.seq_relationship_logits.argmax(-1) == batch.next_labels
    assert outcome.nsp_correct == int(answers.sum())
    assert wanted.keys() == found.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_cross_entropy_is_torchs(scale: float) -> None:
    generator = torch.Generator().manual_seed(2)
    logits = scale * torch.randn(131, 50, generator=generator)
    labels = torch.randint(0, 50, (len(logits),), generator=generator)
    ours, theirs = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    loss, reference = (
        SummedCrossEntropy.apply(ours, labels),
        cross_entropy(theirs, labels, reduction="sum"),
    )
    (loss / 7).backward()
    (reference / 7).backward()
    torch.testing.assert_close(loss, reference)
    assert_close(ours.grad, theirs.grad, terms=logits.shape[1], size=1 / 7)


def test_cross_entropy_of_bfloat16_logits_is_near_that_of_float32() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = (3 * torch.randn(300, 400, generator=generator)).bfloat16().requires_grad_()
    labels = torch.randint(0, 400, (300,), generator=generator)
    exact = logits.detach().float().requires_grad_()
    loss = SummedCrossEntropy.apply(logits, labels)
    wanted = cross_entropy(exact, labels, reduction="sum")
    loss.backward()
    wanted.backward()
    assert logits.grad is not None and logits.grad.dtype == torch.bfloat16
    assert loss.dtype == torch.float32
    # eight bits of a probability: each row within 2^-8, and they do not all err the same way
    torch.testing.assert_close(loss / 300, wanted / 300, rtol=0, atol=2**-10)
    torch.testing.assert_close(logits.grad.float(), exact.grad, rtol=2**-7, atol=1e-6)


def test_copying_is_the_probability_of_the_copyable_words_beyond_what_is_tolerated() -> None:
    model, batch = build_tiny(), build_pairs(padded=True)
    assert compute(model, batch).copied_sum is None
    batch.copyable = torch.zeros_like(batch.labels, dtype=torch.bool)
    batch.copyable[0, 2:4] = batch.copyable[2, 1] = batch.copyable[3, 8] = True
    with torch.no_grad():
        model.cls.predictions.bias[batch.input_ids[[0, 3], [2, 8]]] += 8  # likely, whoever asks
    outcome = compute(model, batch)
    assert outcome.copied_sum is not None
    shares = outcome.logits.softmax(-1)
    rows = (batch.labels != IGNORED).nonzero()[:, 0]
    copied = [
        float(probabilities[batch.input_ids[row][batch.copyable[row]]].sum())
        for probabilities, row in zip(shares, rows, strict=True)
    ]
    assert any(0 < share < TOLERATED for share in copied)
    assert any(share > TOLERATED for share in copied)
    wanted = -sum(math.log(1 - max(0.0, share - TOLERATED)) for share in copied)
    size = sum(share / (1 - share) for share in copied)  # of the logarithm's slope by a share
    assert_close(
        float(outcome.copied_sum.detach()), wanted, terms=outcome.logits.shape[1], size=size
    )
    outcome.copied_sum.backward()
    assert model.bert.embeddings.word_embeddings.weight.grad is not None
