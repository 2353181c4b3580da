"""Penalty for a head that rests on [CLS] and [SEP].

A head that has nothing to do gives its weight to a special token (Clark et al. 2019, doi 10.18653/v1/W19-4828), and a
picture of it shows a stripe. A small penalty lets the heads of the inner layers look among the words instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from training.data import CLS, PAD, SEP

if TYPE_CHECKING:
    from transformers import BertForPreTraining

FREE = 0.4  # share of its weight that a head may rest at no cost


class Resting:
    """Reads the attention weights of the inner layers (all but the first and the last) of every forward pass."""

    def __init__(self, model: BertForPreTraining) -> None:
        self._weights: list[Tensor] = []
        layers: list[Any] = list(model.bert.encoder.layer)
        for layer in layers[1:-1]:
            layer.attention.self.register_forward_hook(self._keep)

    def _keep(self, module: Any, _: Any, output: Any) -> None:
        if module.training and torch.is_grad_enabled():
            self._weights.append(output[1])

    def penalty(self, input_ids: Tensor) -> Tensor:
        """Mean over the heads of what they rest beyond `FREE`, of the last pass; then forgets it.

        Parameters
        ----------
        input_ids : int64 tensor [batch, n]
            What the pass read; a head's share is a mean over the words.
        """
        weights, self._weights = self._weights, []
        special = (input_ids == CLS) | (input_ids == SEP)
        words = ~special & (input_ids != PAD)
        excess = [(rested(own, special, words) - FREE).clamp(min=0) for own in weights]
        return torch.cat(excess).mean()


def rested(weights: Tensor, special: Tensor, words: Tensor) -> Tensor:
    """The share of each head's weight that the words give to special tokens, float32 [heads].

    Parameters
    ----------
    weights : float tensor [batch, heads, n, n]
    special, words : bool tensors [batch, n]
    """
    keys = special[:, None, :, None].to(weights.dtype)
    shares = (weights @ keys)[..., 0].float()  # [batch, heads, n]
    mask = words[:, None].float()
    return (shares * mask).sum((0, 2)) / mask.sum()
