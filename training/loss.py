"""The two losses of BERT, with the vocabulary's logits only where a token was chosen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy
from transformers import BertForPreTraining

from training.data import CLS, IGNORED, SEP, Batch


@dataclass
class Outcome:
    mlm_sum: torch.Tensor  # cross-entropy summed over the chosen tokens, nats
    n_chosen: int
    logits: torch.Tensor  # [chosen, vocabulary]
    labels: torch.Tensor  # [chosen]
    nsp: torch.Tensor | None  # mean cross-entropy of the pairs
    nsp_correct: int
    n_pairs: int


def encode(model: BertForPreTraining, batch: Batch, keep_share: float) -> torch.Tensor:
    """The last hidden state, float [batch, n, d].

    With ``keep_share`` < 1 only that share of the tokens passes through the inner layers (all but
    the first and the last): every chosen token, the special ones, and others at random (token
    dropping, Hou et al. 2022, doi 10.18653/v1/2022.acl-long.262, with a random choice). It makes
    a token cheaper; padded batches are left whole.
    """
    bert = model.bert
    if keep_share >= 1 or batch.attention_mask is not None:
        return bert(
            input_ids=batch.input_ids,
            token_type_ids=batch.token_type_ids,
            attention_mask=batch.attention_mask,
        ).last_hidden_state
    hidden = bert.embeddings(input_ids=batch.input_ids, token_type_ids=batch.token_type_ids)
    first, *inner, last = bert.encoder.layer
    hidden = first(hidden)
    kept = int(keep_share * hidden.shape[1])
    wanted = torch.rand(batch.input_ids.shape, device=hidden.device)
    wanted += (batch.labels != IGNORED) | (batch.input_ids == CLS) | (batch.input_ids == SEP)
    places = wanted.topk(kept, dim=1).indices.sort(dim=1).values
    places = places[..., None].expand(-1, -1, hidden.shape[2])
    part = hidden.gather(1, places)
    for layer in inner:
        part = layer(part)
    return last(hidden.scatter(1, places, part))


def compute(model: BertForPreTraining, batch: Batch, keep_share: float = 1.0) -> Outcome:
    """Run ``model`` on ``batch``; ``keep_share`` as in `encode`."""
    last_hidden_state = encode(model, batch, keep_share)
    chosen = batch.labels != IGNORED
    labels = batch.labels[chosen]
    logits = model.cls.predictions(last_hidden_state[chosen])
    mlm_sum = cross_entropy(logits.float(), labels, reduction="sum")
    nsp, correct, pairs = None, 0, 0
    if batch.next_labels is not None:
        pooler = model.bert.pooler
        assert pooler is not None
        next_logits = model.cls.seq_relationship(pooler(last_hidden_state)).float()
        nsp = cross_entropy(next_logits, batch.next_labels, ignore_index=IGNORED)
        known = batch.next_labels != IGNORED
        pairs = int(known.sum())
        correct = int((next_logits.argmax(-1) == batch.next_labels)[known].sum())
    return Outcome(mlm_sum, len(labels), logits, labels, nsp, correct, pairs)
