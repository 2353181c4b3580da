"""From the last hidden states to the embedding of a picture: of CLIP, SigLIP and towers without a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from attn_widget.features.images.towers import tower_of
from attn_widget.model.embedding_head import Dense, EmbeddingHead

SCALED = (
    "The model's logit is {:.4g} times this cosine (logit_scale), and so is each part of the sum."
)


@dataclass(frozen=True, eq=False)
class ImageHead(EmbeddingHead):
    """The embedding of a picture. Its layers are those of the model, whose biases are counted with the network's."""

    attention: nn.Module | None = None  # SigLIP: pools by attention

    def pool(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return super().pool(hidden, mask) if self.attention is None else self.attention(hidden)

    def weights(self, mask: torch.Tensor | None) -> Any:
        return None if self.attention is not None else super().weights(mask)

    def biases(self) -> list[nn.Parameter]:
        return []


class PooledByAttention(nn.Module):
    """SigLIP's pooling, written out so that its weights can be held: one query, which is learned, over all patches."""

    def __init__(self, head: Any) -> None:
        super().__init__()
        self.head = head

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """``hidden`` [B, n, d] -> [B, d]."""
        head, inner = self.head, self.head.attention
        weights = inner.in_proj_weight.chunk(3)
        biases = inner.in_proj_bias.chunk(3)
        given = (head.probe.expand(len(hidden), -1, -1), hidden, hidden)
        query, key, value = (
            nn.functional.linear(vectors, weight, bias)
            .unflatten(-1, (inner.num_heads, -1))
            .transpose(1, 2)
            for vectors, weight, bias in zip(given, weights, biases, strict=True)
        )
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        pooled = nn.functional.softmax(scores, dim=-1) @ value
        pooled = inner.out_proj(pooled.transpose(1, 2).flatten(2))
        return (pooled + head.mlp(head.layernorm(pooled)))[:, 0]


def head_of(model: Any) -> EmbeddingHead | None:
    """The head that makes one vector of a picture; the first token's where nothing follows its layers.

    None of a classifier: its vectors were not trained to be compared.
    """
    if "ForImageClassification" in type(model).__name__:
        return None
    tower = tower_of(model)
    pooled = getattr(tower, "head", None)
    if hasattr(pooled, "probe"):
        return ImageHead(("attention",), attention=PooledByAttention(pooled), similarity="cosine")
    layers: list[nn.Module] = []
    if str(tower.config.model_type).startswith("clip"):
        layers.append(tower.post_layernorm)
    projection = getattr(model, "visual_projection", None)
    if projection is not None:
        layers.append(Dense(projection, nn.Identity()))
    return ImageHead(("cls",), layers=tuple(layers), similarity="cosine")
