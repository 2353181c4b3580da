"""The two losses of BERT, with the vocabulary's logits only where a token was chosen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional as F
from transformers import BertForPreTraining

from training.data import IGNORED, Batch


@dataclass
class Outcome:
    mlm_sum: torch.Tensor  # cross-entropy summed over the chosen tokens, nats
    n_chosen: int
    logits: torch.Tensor  # [chosen, vocabulary]
    labels: torch.Tensor  # [chosen]
    nsp: torch.Tensor | None  # mean cross-entropy of the pairs
    nsp_correct: int
    n_pairs: int


def compute(model: BertForPreTraining, batch: Batch) -> Outcome:
    """Run ``model`` on ``batch``."""
    output = model.bert(
        input_ids=batch.input_ids,
        token_type_ids=batch.token_type_ids,
        attention_mask=batch.attention_mask,
    )
    chosen = batch.labels != IGNORED
    labels = batch.labels[chosen]
    logits = model.cls.predictions(output.last_hidden_state[chosen])
    mlm_sum = F.cross_entropy(logits.float(), labels, reduction="sum")
    nsp, correct, pairs = None, 0, 0
    if batch.next_labels is not None:
        next_logits = model.cls.seq_relationship(output.pooler_output).float()
        nsp = F.cross_entropy(next_logits, batch.next_labels, ignore_index=IGNORED)
        known = batch.next_labels != IGNORED
        pairs = int(known.sum())
        correct = int((next_logits.argmax(-1) == batch.next_labels)[known].sum())
    return Outcome(mlm_sum, len(labels), logits, labels, nsp, correct, pairs)
