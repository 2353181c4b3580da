"""Quality of masks filled by a model on held-out text, with base rates next to it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from training.corpus import Corpus
from training.data import (
    CLS,
    IGNORED,
    MASK,
    PAD,
    SEP,
    build_batch,
    mask_tokens,
)
from training.loss import compute

if TYPE_CHECKING:
    from transformers import BertForPreTraining

SEED = 20_231
LENGTH = 128  # tokens of a sequence, the two special ones included
MASK_RATE = 0.15
BATCH = 32  # sequences of a forward pass


@dataclass
class MaskedFigures:
    """Over all chosen tokens (15%: 80% masked, 10% replaced, 10% kept), and over those that are masked alone."""

    loss: float  # mean cross-entropy, nats
    top1: float
    top5: float
    n_chosen: int
    hidden_top1: float  # of the words hidden by a [MASK], as when a user types one
    hidden_top5: float
    n_hidden: int


def masked_sequences(
    tokens: np.ndarray, vocabulary: int, limit: int | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Consecutive stretches of ``tokens`` as model inputs, masked the same way at every call.

    Parameters
    ----------
    tokens : integer array [total]
        Running text; what does not fill a last sequence is left out.
    limit : int, optional
        Use at most this many sequences, spread evenly over the text.

    Returns
    -------
    input_ids, labels : int64 tensors [sequences, 128]
        ``labels`` is -100 where no token was chosen.

    Examples
    --------
    >>> ids, labels = masked_sequences(np.arange(2000, 2300), 30522)
    >>> ids.shape, ids[:, 0].tolist(), bool((labels[:, 0] == -100).all())
    (torch.Size([2, 128]), [101, 101], True)
    """
    inner = LENGTH - 2
    rows = tokens[: len(tokens) // inner * inner].reshape(-1, inner).astype(np.int64)
    if limit is not None and limit < len(rows):
        rows = rows[np.linspace(0, len(rows) - 1, limit).astype(int)]
    rng = np.random.default_rng(SEED)
    changed, labels = mask_tokens(rows, np.ones(rows.shape, bool), MASK_RATE, vocabulary, rng)
    edges = ((0, 0), (1, 1))
    ids = np.pad(changed, edges)
    ids[:, 0], ids[:, -1] = CLS, SEP
    return torch.from_numpy(ids), torch.from_numpy(np.pad(labels, edges, constant_values=IGNORED))


@torch.no_grad()
def masked_figures(
    model: BertForPreTraining, ids: torch.Tensor, labels: torch.Tensor
) -> MaskedFigures:
    """Loss and accuracy of ``model`` on what `masked_sequences` returned."""
    loss = 0.0
    hits: list[torch.Tensor] = []
    hidden: list[torch.Tensor] = []
    for some_ids, some_labels in zip(ids.split(BATCH), labels.split(BATCH), strict=True):
        chosen = some_labels != IGNORED
        wanted = some_labels[chosen]
        words = some_ids != PAD
        states = model.bert(
            input_ids=some_ids, attention_mask=None if words.all() else words.long()
        ).last_hidden_state[chosen]
        logits = model.cls.predictions(states)
        hits.append(logits.topk(5, dim=-1).indices == wanted[:, None])
        hidden.append(some_ids[chosen] == MASK)
        loss += float(cross_entropy(logits, wanted, reduction="sum"))
    every, masked = torch.cat(hits), torch.cat(hidden)
    return MaskedFigures(
        loss / len(every),
        *top_shares(every),
        len(every),
        *top_shares(every[masked]),
        int(masked.sum()),
    )


def top_shares(hits: torch.Tensor) -> tuple[float, float]:
    """Top-1 and top-5 accuracy from ``hits``, bool [n, 5]; 0 of no words."""
    n = max(1, len(hits))
    return int(hits[:, 0].sum()) / n, int(hits.sum()) / n


def frequency_figures(
    tokens: np.ndarray, ids: torch.Tensor, labels: torch.Tensor, vocabulary: int
) -> MaskedFigures:
    """The same figures for always answering with the text's own word frequencies.

    They are counted on the very text that is scored, so this base rate is as high as it can be.
    """
    counts = np.bincount(tokens, minlength=vocabulary)
    share = counts / counts.sum()
    best = np.argsort(-counts, kind="stable")[:5]
    wanted = labels[labels != IGNORED].numpy()
    hits = torch.from_numpy(wanted[:, None] == best)
    masked = ids[labels != IGNORED] == MASK
    return MaskedFigures(
        float(-np.log(share[wanted]).mean()),
        *top_shares(hits),
        len(wanted),
        *top_shares(hits[masked]),
        int(masked.sum()),
    )


@torch.no_grad()
def next_sentence_figures(
    model: BertForPreTraining, corpus: Corpus, n_batches: int
) -> dict[str, float | int]:
    """Accuracy on unmasked pairs drawn as in training (half true neighbors; chance 0.5)."""
    settings = {"single": 0.0, "pair": 1.0, "short": 0.0, "long": 0.0, "names": 0.0}
    settings |= {
        "mask_rate": 0.0,
        "micro_tokens": BATCH * LENGTH,
        "length": LENGTH,
        "long_length": 512,
    }
    correct = pairs = 0
    for part in range(n_batches):
        batch = build_batch(corpus, settings, model.config.vocab_size, (SEED, part))
        outcome = compute(model, batch)
        correct += outcome.nsp_correct
        pairs += outcome.n_pairs
    return {"accuracy": correct / pairs, "chance": 0.5, "n_pairs": pairs}


def evaluate_masked(
    model: BertForPreTraining,
    untrained: BertForPreTraining | None,
    corpus: Corpus,
    limit: int | None,
) -> dict[str, dict[str, float | int]]:
    """Masked-LM and next-sentence figures of ``model``, and the base rates.

    Parameters
    ----------
    untrained : BertForPreTraining, optional
        The model before its first step; left out of the result when None.
    limit : int, optional
        Number of sequences; None reads the whole text.
    """
    vocabulary = model.config.vocab_size
    ids, labels = masked_sequences(corpus.tokens, vocabulary, limit)
    figures = {
        "model": asdict(masked_figures(model, ids, labels)),
        "word_frequency": asdict(frequency_figures(corpus.tokens, ids, labels, vocabulary)),
        "next_sentence": next_sentence_figures(model, corpus, 64 if limit is None else 8),
    }
    if untrained is not None:
        few = slice(0, None, max(1, len(ids) // 200))  # far from any threshold: a sample will do
        figures["before_training"] = asdict(masked_figures(untrained, ids[few], labels[few]))
    return figures
