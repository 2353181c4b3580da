"""A text CNN on an encoder's hidden states, as a model of `transformers` (Kim 2014).

Importing this module registers it, so that `AutoModelForSequenceClassification.from_pretrained`
and `transformers.pipeline` know it without code from a repository.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSequenceClassification

from attn_widget.features.tasks.over_encoder import (
    OverEncoderConfig,
    OverEncoderModel,
    bare_encoder,
)

WIDTHS = (3, 4, 5)  # tokens, as in Kim (2014)
FILTERS = 100  # of each width, as in Kim (2014)
DROPOUT = 0.5  # before the linear map, as in Kim (2014)


class TextCNNConfig(OverEncoderConfig):
    """Configuration of `TextCNNForSequenceClassification`.

    ``encoder``: the configuration of the encoder below, as ``config.to_dict()`` gives it. ``widths``: tokens that a
    window spans. ``filters``: feature maps of each width. ``dropout``: share of the maxima that training drops.
    """

    model_type = "attn_widget_text_cnn"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,
        widths: Sequence[int] = WIDTHS,
        filters: int = FILTERS,
        dropout: float = DROPOUT,
        **options: Any,
    ) -> None:
        self.widths = list(widths)
        self.filters = filters
        self.dropout = dropout
        super().__init__(encoder, **options)


class TextCNNForSequenceClassification(OverEncoderModel):
    """``softmax(W m + b)``, where m holds each filter's maximum over the text.

    A filter of width w sees the last hidden states of w tokens in a row and passes through a ReLU;
    its maximum over all windows of the text enters m. Windows that reach into the padding of a batch
    do not count. A text shorter than w is lengthened to w by zeros, as in Kim (2014).

    References
    ----------
    Kim (2014), Convolutional Neural Networks for Sentence Classification, EMNLP.
    """

    config_class = TextCNNConfig

    def __init__(self, config: TextCNNConfig) -> None:
        super().__init__(config)
        self.backbone = bare_encoder(config.encoder_config)
        width = int(self.backbone.config.hidden_size)
        n_classes: Any = config.num_labels
        self.convolutions = nn.ModuleList(
            nn.Conv1d(width, config.filters, kernel_size=w) for w in config.widths
        )
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.filters * len(config.widths), n_classes)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Conv1d and Linear keep the uniform draw of torch, which suits the ReLU."""

    def features(self, hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Each filter's maximum over the windows of the text, [batch, filters of all widths]."""
        real = attention_mask.bool()
        order = real.int().argsort(dim=1, descending=True, stable=True)  # the text first
        hidden = hidden.masked_fill(~real[..., None], 0)
        hidden = hidden.gather(1, order[..., None].expand_as(hidden))
        missing = max(self.config.widths) - hidden.shape[1]
        if missing > 0:
            hidden = functional.pad(hidden, (0, 0, 0, missing))
        lengths = real.sum(1)[:, None, None]
        signal = hidden.transpose(1, 2)
        pooled: list[torch.Tensor] = []
        for width, convolution in zip(self.config.widths, self.convolutions, strict=True):
            features = functional.relu(convolution(signal))
            start = torch.arange(features.shape[2], device=features.device)
            inside = start <= (lengths - width).clamp(min=0)
            pooled.append(features.masked_fill(~inside, 0).amax(2))  # a ReLU is never below 0
        return torch.cat(pooled, dim=1)


AutoConfig.register(TextCNNConfig.model_type, TextCNNConfig, exist_ok=True)
AutoModelForSequenceClassification.register(
    TextCNNConfig, TextCNNForSequenceClassification, exist_ok=True
)
