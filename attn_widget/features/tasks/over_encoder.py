"""Base of our classifier heads: a configuration that contains the encoder's, and a model over the encoder."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.nn import functional
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class OverEncoderConfig(PreTrainedConfig):
    """Configuration of a head over any encoder.

    ``encoder``: the configuration of the encoder below, as ``config.to_dict()`` gives it.
    """

    has_no_defaults_at_init = True  # transformers then never builds one without an encoder

    def __init__(self, encoder: dict[str, Any] | None = None, **options: Any) -> None:
        self.encoder = encoder
        super().__init__(**options)

    @property
    def encoder_config(self) -> Any:
        """The encoder's configuration as its own class."""
        return AutoConfig.for_model(**(self.encoder or {}))

    # The field that identifies a text encoder is one level down.

    @property
    def vocab_size(self) -> int:
        return self.encoder_config.vocab_size

    @property
    def num_attention_heads(self) -> int:
        return self.encoder_config.num_attention_heads


class OverEncoderModel(PreTrainedModel):
    """``W dropout(features) + b`` over an encoder's last hidden states.

    A subclass makes ``backbone``, ``dropout`` and ``classifier``, and says what `features` are.
    """

    base_model_prefix = "backbone"
    _supports_sdpa = True
    backbone: Any
    dropout: torch.nn.Module
    classifier: torch.nn.Module

    def features(self, hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Float [batch, features] from hidden states [batch, n, d] and mask [batch, n]; 0 marks padding, wherever it stands."""
        raise NotImplementedError

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
        **options: Any,
    ) -> SequenceClassifierOutput:
        """Logits [batch, classes], and the loss when there are ``labels`` (int64 [batch])."""
        if token_type_ids is not None:
            options["token_type_ids"] = token_type_ids
        options["return_dict"] = True
        outputs = self.backbone(input_ids=input_ids, attention_mask=attention_mask, **options)
        hidden: torch.Tensor = outputs[0]
        mask = attention_mask
        if mask is None:
            mask = torch.ones(hidden.shape[:2], dtype=torch.long, device=hidden.device)
        logits = self.classifier(self.dropout(self.features(hidden, mask)))
        loss = None if labels is None else functional.cross_entropy(logits.float(), labels)
        return SequenceClassifierOutput(
            loss=loss,
            logits=logits,
            hidden_states=outputs.get("hidden_states"),
            attentions=outputs.get("attentions"),
        )


def bare_encoder(config: Any) -> Any:
    """Without the pooler where the family can do without: these heads do not read it."""
    cls = AutoModel._model_mapping[type(config)]  # pyright: ignore[reportPrivateUsage]
    has_pooler = "add_pooling_layer" in inspect.signature(cls.__init__).parameters
    return AutoModel.from_config(config, **({"add_pooling_layer": False} if has_pooler else {}))
