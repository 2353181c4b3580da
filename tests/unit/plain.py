"""What a model of `transformers` gives by itself, and how close a trace has to come."""

from __future__ import annotations

from typing import Any

import torch

TEXT = "The cat sat, and naïve Dr. Smith's dog 😀 ran."
PAIR = "It didn't rain."
CLOSE = 1e-5  # docs/definitions.md, section 1


def plain(model: Any, inputs: dict[str, torch.Tensor], attention: str) -> Any:
    """What the model says without us."""
    before = model.config._attn_implementation
    model.set_attn_implementation(attention)
    with torch.no_grad():
        found = model(**inputs, output_hidden_states=True, output_attentions=attention == "eager")
    model.set_attn_implementation(before)
    return found
