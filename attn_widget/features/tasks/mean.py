"""A linear head on the mean of an encoder's hidden states, as a model of `transformers`.

Importing this module registers it, as `attn_widget.features.tasks.cnn` does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification

from attn_widget.features.tasks.over_encoder import (
    OverEncoderConfig,
    OverEncoderModel,
    bare_encoder,
)

DROPOUT = 0.1  # before the linear map, as in Devlin et al. (2019)
SPREAD = 0.02  # standard deviation of its weights, as in Devlin et al. (2019)


class MeanPoolingConfig(OverEncoderConfig):
    """Configuration of `MeanPoolingForSequenceClassification`.

    ``encoder``: the configuration of the encoder below, as ``config.to_dict()`` gives it. ``dropout``: share of the
    pooled vector that training drops.
    """

    model_type = "attn_widget_mean_pooling"

    def __init__(
        self, encoder: dict[str, Any] | None = None, dropout: float = DROPOUT, **options: Any
    ) -> None:
        self.dropout = dropout
        super().__init__(encoder, **options)


class MeanPoolingForSequenceClassification(OverEncoderModel):
    """``softmax(W LayerNorm(mean of h) + b)`` over the last hidden states h of all tokens.

    Special tokens count, padding does not. LayerNorm brings the means of all encoders to one
    scale, whatever the norms of their states.

    References
    ----------
    Reimers & Gurevych (2019), Sentence-BERT, EMNLP: the mean of all tokens makes better sentence vectors
    than the first token. Ba, Kiros & Hinton (2016), Layer Normalization.
    """

    config_class = MeanPoolingConfig

    def __init__(self, config: MeanPoolingConfig) -> None:
        super().__init__(config)
        self.backbone = bare_encoder(config.encoder_config)
        width = int(self.backbone.config.hidden_size)
        n_classes: Any = config.num_labels
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(width, n_classes)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=SPREAD)
            nn.init.zeros_(module.bias)

    def features(self, hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """The normalized mean over the tokens of each text, [batch, d]."""
        real = attention_mask.bool()[..., None]
        return self.norm(hidden.masked_fill(~real, 0).sum(1) / real.sum(1))


AutoConfig.register(MeanPoolingConfig.model_type, MeanPoolingConfig, exist_ok=True)
AutoModelForSequenceClassification.register(
    MeanPoolingConfig, MeanPoolingForSequenceClassification, exist_ok=True
)
