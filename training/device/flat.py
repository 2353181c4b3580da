"""BERT on sequences that lie end to end, with the losses of `training.loss` and `training.resting`.

The parameters have the names of `transformers.BertForPreTraining`; `tests/unit/test_training_device.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.data import CLS, FIRST_WORD, IGNORED, LONGEST_SHORT, MASK, SEP
from training.device.packed import ASKED, COPYABLE, KEPT, MASKABLE, ROW, SECOND
from training.level import rescale
from training.loss import TOLERATED
from training.resting import FREE

WINDOW = LONGEST_SHORT + 3  # longest sequence whose words may be copied
RESTING_ROWS = 8  # of a step, on which heads that rest are measured
EPS = 1e-12  # BERT's


@dataclass
class Step:
    """Tensors of one step, on the device; int64 [tokens] unless stated.

    ``original`` and ``ids`` are the tokens before and after masking, ``labels`` the original token where one was chosen, else -100.
    ``sequence`` is the place at which the token's sequence begins, ``copyable`` bool, ``next_labels`` -100 but at the [CLS] of
    pairs, ``starts`` int32 as in `Packed`.
    """

    original: Tensor
    ids: Tensor
    labels: Tensor
    places: Tensor
    types: Tensor
    sequence: Tensor
    copyable: Tensor
    next_labels: Tensor
    starts: Tensor


def mask(arrays: list[Tensor], rate: float, vocabulary: int, random: Tensor) -> Step:
    """Choose and mask tokens: 80% [MASK], 10% another word, 10% as they are, as `training.data.mask_tokens` does.

    Parameters
    ----------
    arrays : list of tensors
        Those of `Packed`, on the device.
    random : float32 tensor [3, tokens]
        Uniform in [0, 1).
    """
    ids, places, flags, next_labels, starts = arrays
    original, places = ids.flatten().long(), places.flatten().long()
    flags = flags.flatten()
    chosen = ((flags & MASKABLE) != 0) & (random[0] < rate)
    words = FIRST_WORD + (random[2] * (vocabulary - FIRST_WORD)).long()
    changed = torch.where(chosen & (random[1] < 0.8), MASK, original)
    changed = torch.where(chosen & (random[1] >= 0.8) & (random[1] < 0.9), words, changed)
    asked, kept = (flags & ASKED) != 0, (flags & KEPT) != 0
    changed = torch.where(asked, MASK, torch.where(kept, original, changed))
    chosen = chosen | asked | kept
    following = next_labels.flatten().long()
    return Step(
        original,
        changed,
        torch.where(chosen, original, IGNORED),
        places,
        ((flags & SECOND) != 0).long(),
        torch.arange(len(places), device=places.device) - places,
        ((flags & COPYABLE) != 0) & ~chosen,
        torch.where(following < 0, IGNORED, following),
        starts,
    )


Attend = Callable[[Tensor, Tensor, Tensor, Step], Tensor]


def attend_rows(q: Tensor, k: Tensor, v: Tensor, step: Step) -> Tensor:
    """Attention within each sequence, by a mask over rows of 512; float [tokens, heads, head_dim]."""
    tokens, heads, width = q.shape
    q, k, v = (x.view(-1, ROW, heads, width).transpose(1, 2) for x in (q, k, v))
    own = step.sequence.view(-1, 1, ROW)
    seen = (own == own.transpose(1, 2))[:, None]
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    return out.transpose(1, 2).reshape(tokens, heads, width)


def attend_flat(q: Tensor, k: Tensor, v: Tensor, step: Step) -> Tensor:
    """The same by the flash kernel for sequences of any length, which needs CUDA and 16 bits."""
    from torch.nn.attention.varlen import varlen_attn

    out: Any = varlen_attn(q, k, v, step.starts, step.starts, ROW, ROW)
    return out


class Layer(nn.Module):
    """One layer of the encoder."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.dense = (nn.Linear(width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width, EPS)
        self.intermediate = nn.Linear(width, 4 * width)
        self.output = nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width, EPS)

    def attention(
        self, x: Tensor, step: Step, attend: Attend, resting: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The state after attention [tokens, width], and the share that each head rests if ``resting``."""
        weight = torch.cat([self.query.weight, self.key.weight, self.value.weight])
        bias = torch.cat([self.query.bias, self.key.bias, self.value.bias])
        q, k, v = functional.linear(x, weight, bias).view(len(x), 3, self.heads, -1).unbind(1)
        context = attend(q, k, v, step).reshape(len(x), -1)
        state = self.norm(x + self.dense(context))
        return state, rested(q, k, step) if resting else None

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.output_norm(x + self.output(functional.gelu(self.intermediate(x))))

    def forward(
        self, x: Tensor, step: Step, attend: Attend, resting: bool
    ) -> tuple[Tensor, Tensor | None]:
        x, share = self.attention(x, step, attend, resting)
        return self.feed_forward(x), share


def rested(q: Tensor, k: Tensor, step: Step) -> Tensor:
    """The share of each head's weight that words give to special tokens, over the first rows; float32 [heads].

    See `training.resting`: the penalty is the same, on a sample of the step.
    """
    size = min(RESTING_ROWS * ROW, len(q))
    q, k = (x[:size].view(-1, ROW, *x.shape[1:]).transpose(1, 2) for x in (q, k))
    own = step.sequence[:size].view(-1, 1, ROW)
    ids = step.ids[:size].view(-1, ROW)
    special = (ids == CLS) | (ids == SEP)
    words = (~special & (ids != 0)).float()[:, None]
    scores = (q @ k.transpose(2, 3)).float() / q.shape[-1] ** 0.5
    scores = scores.masked_fill((own != own.transpose(1, 2))[:, None], -torch.inf)
    share = (scores.softmax(-1) * special[:, None, None]).sum(-1)
    return (share * words).sum((0, 2)) / words.sum()


class Flat(nn.Module):
    """`BertForPreTraining` without padding; ``attend`` and ``compiled`` may be changed at any time."""

    def __init__(self, vocabulary: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(ROW, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, EPS)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.next = nn.Linear(width, 2)
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, EPS)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.attend: Attend = attend_rows

    def embed(self, step: Step) -> Tensor:
        return self.norm(
            self.words(step.ids) + self.positions(step.places) + self.types(step.types)
        )

    def hidden(self, step: Step, wanted: Tensor, resting: bool) -> tuple[Tensor, Tensor | None]:
        """Last hidden states [wanted, width], and the mean excess of heads that rest."""
        x = self.embed(step)
        shares: list[Tensor] = []
        *layers, last = self.layers
        for number, layer in enumerate(layers):
            # evaluation does without the compiled layer, which would be compiled again
            run = layer if torch.is_grad_enabled() else layer.forward
            x, share = run(x, step, self.attend, resting and number > 0)
            if share is not None:
                shares.append(share)
        assert isinstance(last, Layer)
        x, _ = last.attention(x, step, self.attend, False)
        excess = (torch.cat(shares) - FREE).clamp(min=0).mean() if shares else None
        return last.feed_forward(x[wanted]), excess

    @torch.no_grad()
    def set_scale(self, factor: float) -> None:
        """Multiply the last hidden state by ``factor``, at no change of what the heads say; see `training.level`."""
        rescale(self.layers[-1].output_norm, [self.transform, self.pooler], factor)

    def logits(self, hidden: Tensor) -> Tensor:
        state = self.transform_norm(functional.gelu(self.transform(hidden)))
        return functional.linear(state, self.words.weight, self.bias)

    def losses(self, hidden: Tensor, step: Step, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy and copying penalty of the ``chosen`` places, both summed."""
        logits = self.logits(hidden).float()
        loss = functional.cross_entropy(
            logits, step.labels[chosen], ignore_index=IGNORED, reduction="sum"
        )
        window = step.sequence[chosen][:, None] + torch.arange(WINDOW, device=chosen.device)
        window = window.clamp(max=len(step.ids) - 1)
        same = step.sequence[window] == step.sequence[chosen][:, None]
        counts = same & step.copyable[window] & (step.labels[chosen] != IGNORED)[:, None]
        seen = logits.gather(-1, step.ids[window]) - logits.logsumexp(-1, keepdim=True)
        share = (seen.exp() * counts).sum(-1)
        return loss, -torch.log1p(-(share - TOLERATED).clamp(min=0)).sum()

    def forward(
        self, step: Step, most_chosen: int, most_pairs: int, resting: bool
    ) -> dict[str, Tensor]:
        """The sums and means of which a step's loss is made, and ``n_chosen``.

        At most ``most_chosen`` masked tokens and ``most_pairs`` pairs count, so that shapes stay the same.
        """
        chosen = first(step.labels != IGNORED, most_chosen)
        pairs = first(step.next_labels != IGNORED, most_pairs)
        hidden, excess = self.hidden(step, torch.cat([chosen, pairs]), resting)
        loss, copied = self.losses(hidden[: len(chosen)], step, chosen)
        pooled = self.next(torch.tanh(self.pooler(hidden[len(chosen) :]))).float()
        follows = step.next_labels[pairs]
        summed = functional.cross_entropy(pooled, follows, ignore_index=IGNORED, reduction="sum")
        n_pairs = (follows != IGNORED).sum()
        zero = torch.zeros((), device=loss.device)
        return {
            "mlm_sum": loss,
            "n_chosen": (step.labels[chosen] != IGNORED).sum(),
            "copied_sum": copied,
            "next": summed / n_pairs.clamp(min=1),
            "resting": zero if excess is None else excess,
        }


def first(where: Tensor, most: int) -> Tensor:
    """The first ``most`` places at which ``where`` is true, then any others; int64 [most]."""
    return torch.sort(where.to(torch.uint8), descending=True, stable=True).indices[:most]


NAMES = {
    "words": "bert.embeddings.word_embeddings",
    "positions": "bert.embeddings.position_embeddings",
    "types": "bert.embeddings.token_type_embeddings",
    "norm": "bert.embeddings.LayerNorm",
    "pooler": "bert.pooler.dense",
    "next": "cls.seq_relationship",
    "transform": "cls.predictions.transform.dense",
    "transform_norm": "cls.predictions.transform.LayerNorm",
}
LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "dense": "attention.output.dense",
    "norm": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
}


def exported_name(name: str) -> str:
    """The name that `BertForPreTraining` gives to a parameter.

    >>> exported_name("layers.3.output_norm.weight")
    'bert.encoder.layer.3.output.LayerNorm.weight'
    """
    if name == "bias":
        return "cls.predictions.bias"
    *path, kind = name.split(".")
    if path[0] == "layers":
        return f"bert.encoder.layer.{path[1]}.{LAYER_NAMES[path[2]]}.{kind}"
    return f"{NAMES[path[0]]}.{kind}"
