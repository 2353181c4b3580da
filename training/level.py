"""Bring the last hidden state to the scale of one, at no change of what the heads say.

Three dimensions hold nearly all of the sum that the last LayerNorm divides by, so what it gives out is small in the others
(0.07 where BERT's is near 1), and whoever fine-tunes the model reads that. The LayerNorm's gain and shift are multiplied by one
number, and the weights that read them, the heads', are divided by it. That is for what ships: these weights get so small that
an optimizer's steps would be large for them, so training goes on at the scale that the base has.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from training.corpus import Corpus
from training.masked import masked_sequences

if TYPE_CHECKING:
    from transformers import BertForPreTraining

SHIPPED, TRAINED = 1.0, 0.075  # standard deviation of the last hidden state
SEQUENCES = 16  # to measure it on


def level_by(model: BertForPreTraining, data: Path, deviation: float) -> float:
    """`level` on a sample of the validation text that `prepare` wrote into ``data``."""
    text = Corpus.open(data, "validation").tokens
    ids, _ = masked_sequences(text, model.config.vocab_size, SEQUENCES)
    return level(model, ids, deviation)


@torch.no_grad()
def level(model: BertForPreTraining, input_ids: torch.Tensor, deviation: float) -> float:
    """Scale the last hidden state of ``input_ids`` to a standard ``deviation``, its dimensions' median; returns the factor.

    Parameters
    ----------
    input_ids : int64 tensor [batch, n]
        Text to measure on.
    """
    last: Any = model.bert.encoder.layer[-1]
    norm = last.output.LayerNorm
    hidden = model.bert(input_ids=input_ids).last_hidden_state
    factor = deviation / float(hidden.std(dim=(0, 1)).median())
    readers: list[Any] = [model.cls.predictions.transform.dense]
    if model.bert.pooler is not None:
        readers.append(model.bert.pooler.dense)
    rescale(norm, readers, factor)
    return factor


@torch.no_grad()
def rescale(norm: Any, readers: list[Any], factor: float) -> None:
    """Multiply what ``norm`` gives out by ``factor``, and divide the weights of its ``readers`` by it."""
    norm.weight.mul_(factor)
    norm.bias.mul_(factor)
    for reader in readers:
        reader.weight.div_(factor)
