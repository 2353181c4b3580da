"""The two losses of BERT, with no work for tokens that neither of them reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from training.data import CLS, IGNORED, SEP, Batch

if TYPE_CHECKING:
    from transformers import BertForPreTraining

TOLERATED = 0.02  # a probability that costs nothing


@dataclass
class Outcome:
    mlm_sum: Tensor  # cross-entropy summed over the chosen tokens, nats
    n_chosen: int
    logits: Tensor  # [chosen, vocabulary]
    labels: Tensor  # [chosen]
    nsp: Tensor | None  # mean cross-entropy of the pairs
    nsp_correct: int
    n_pairs: int
    copied_sum: Tensor | None  # of `copied`, summed like mlm_sum


class SummedCrossEntropy(torch.autograd.Function):
    """Cross-entropy summed over rows of logits; loss and gradient from one softmax.

    The probabilities have the logits' dtype, so in bfloat16 a row's loss is rounded to some 0.002 nats.

    >>> logits = torch.tensor([[0.0, 0.0], [2.0, 2.0]], requires_grad=True)
    >>> loss = SummedCrossEntropy.apply(logits, torch.tensor([0, 1]))
    >>> loss.backward(); round(float(loss.detach()), 4), logits.grad.tolist()
    (1.3863, [[-0.5, 0.5], [0.5, -0.5]])
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> Tensor:
        gradient = logits.softmax(-1)
        # the normalizer from the largest logit: a label's own probability may have become 0
        normalizer = logits.amax(-1).float() - gradient.amax(-1).float().log()
        rows = torch.arange(len(labels), device=labels.device)
        losses = normalizer - logits[rows, labels].float()
        gradient[rows, labels] = (-losses).expm1().to(gradient.dtype)
        ctx.save_for_backward(gradient)
        return losses.sum()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(gradients[0]), None  # in place: there is no second backward pass


def encode(
    model: BertForPreTraining, batch: Batch, wanted: Tensor, keep_share: float = 1.0
) -> Tensor:
    """The last hidden state of the ``wanted`` tokens (bool [batch, n]), float [wanted, d].

    The last layer's feed-forward part is computed for them alone; the result is the same.

    With ``keep_share`` < 1 only that share of the tokens passes through the inner layers (all but
    the first and the last): every chosen token, the special ones, and others at random (token
    dropping, Hou et al. 2022, doi 10.18653/v1/2022.acl-long.262, with a random choice). It makes
    a token cheaper; padded batches are left whole.
    """
    bert = model.bert
    hidden = bert.embeddings(input_ids=batch.input_ids, token_type_ids=batch.token_type_ids)
    mask = None
    if batch.attention_mask is not None:
        hides = batch.attention_mask[:, None, None, :] == 0
        mask = torch.zeros_like(hides, dtype=hidden.dtype)
        mask.masked_fill_(hides, torch.finfo(hidden.dtype).min)
    modules: list[Any] = list(bert.encoder.layer)
    # padded batches come in all sizes, each of which would be compiled again
    *layers, _ = modules if mask is None else [layer.forward for layer in modules]
    first, *inner = layers
    last = modules[-1]
    hidden = first(hidden, mask)
    if keep_share >= 1 or mask is not None:
        for layer in inner:
            hidden = layer(hidden, mask)
    else:
        kept = int(keep_share * hidden.shape[1])
        rank = torch.rand(batch.input_ids.shape, device=hidden.device)
        rank += (batch.labels != IGNORED) | (batch.input_ids == CLS) | (batch.input_ids == SEP)
        places = rank.topk(kept, dim=1).indices.sort(dim=1).values
        places = places[..., None].expand(-1, -1, hidden.shape[2])
        part = hidden.gather(1, places)
        for layer in inner:
            part = layer(part)
        hidden = hidden.scatter(1, places, part)
    context, _ = last.attention.self(hidden, attention_mask=mask)
    return last.feed_forward_chunk(last.attention.output(context[wanted], hidden[wanted]))


def copied(logits: Tensor, batch: Batch, chosen: Tensor) -> Tensor:
    """``-log(1 - p)``, summed, where ``p`` is what a chosen token gives to the copyable words of its row.

    The first `TOLERATED` of it are left out, so that the weight falls where the model is about to copy.
    Unlikelihood training: Welleck et al. 2020, https://arxiv.org/abs/1908.04319.
    """
    assert batch.copyable is not None
    rows = chosen.nonzero()[:, 0]
    logits = logits.float()
    seen = logits.gather(-1, batch.input_ids[rows]) - logits.logsumexp(-1, keepdim=True)
    share = (seen.exp() * batch.copyable[rows]).sum(-1)
    return -torch.log1p(-(share - TOLERATED).clamp(min=0)).sum()


def compute(model: BertForPreTraining, batch: Batch, keep_share: float = 1.0) -> Outcome:
    """Run ``model`` on ``batch``; ``keep_share`` as in `encode`."""
    chosen = batch.labels != IGNORED
    wanted = chosen.clone()
    if batch.next_labels is not None:
        wanted[:, 0] = True
    hidden = encode(model, batch, wanted, keep_share)
    labels = batch.labels[chosen]
    logits = model.cls.predictions(hidden[chosen[wanted]])
    mlm_sum = SummedCrossEntropy.apply(logits, labels)
    nsp, correct, pairs = None, 0, 0
    if batch.next_labels is not None:
        pooler = model.bert.pooler
        assert pooler is not None
        firsts = torch.zeros_like(wanted)
        firsts[:, 0] = True
        next_logits = model.cls.seq_relationship(pooler(hidden[firsts[wanted]][:, None])).float()
        nsp = torch.nn.functional.cross_entropy(
            next_logits, batch.next_labels, ignore_index=IGNORED
        )
        known = batch.next_labels != IGNORED
        pairs = int(known.sum())
        correct = int((next_logits.argmax(-1) == batch.next_labels)[known].sum())
    copies = None if batch.copyable is None else copied(logits, batch, chosen)
    return Outcome(mlm_sum, len(labels), logits.detach(), labels, nsp, correct, pairs, copies)
