"""Base of our classifier heads: a configuration that contains the encoder's, and the encoder built from it."""

from __future__ import annotations

import inspect
from typing import Any

from transformers import AutoConfig, AutoModel, PreTrainedConfig


class OverEncoderConfig(PreTrainedConfig):
    """Configuration of a head over any encoder.

    Parameters
    ----------
    encoder : dict
        The configuration of the encoder below, as ``config.to_dict()`` gives it.
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


def bare_encoder(config: Any) -> Any:
    """Without the pooler where the family can do without: these heads do not read it."""
    cls = AutoModel._model_mapping[type(config)]  # pyright: ignore[reportPrivateUsage]
    has_pooler = "add_pooling_layer" in inspect.signature(cls.__init__).parameters
    return AutoModel.from_config(config, **({"add_pooling_layer": False} if has_pooler else {}))
