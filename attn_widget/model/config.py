"""Checks the sizes that a model folder's configuration claims, before anything is allocated."""

from __future__ import annotations

import warnings
from typing import Any

from attn_widget.checks import shown
from attn_widget.errors import ModelLoadError
from attn_widget.model.places import ENCODERS_HINT

# Largest sizes that a configuration may claim: a hundred times those of the largest encoders.
LARGEST = {
    "num_hidden_layers": 1000,
    "num_attention_heads": 1000,
    "hidden_size": 100_000,
    "intermediate_size": 1_000_000,
    "vocab_size": 50_000_000,
    "max_position_embeddings": 10_000_000,
    "type_vocab_size": 100_000,
}


MAY_BE_NONE = (
    "max_position_embeddings",
    "type_vocab_size",
)  # DeBERTa has neither segments nor places


LEAST_KNOWN = (
    0.1  # entries of a tokenizer, as a share of the embeddings; padding to a round number is less
)


MOST_NUMBERS = 2e11  # weights, by a rough count of embeddings and layers


def check_config(config: Any, name: str) -> None:
    """Refuse what is no text encoder, before its weights are fetched.

    Raises
    ------
    ModelLoadError
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    )
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
    )

    kind = str(getattr(config, "model_type", "") or type(config).__name__)
    if getattr(config, "is_encoder_decoder", False):
        raise ModelLoadError(f"{name!r} ({kind}) is an encoder-decoder model.", ENCODERS_HINT)
    if kind in CAUSAL and kind not in MASKED:
        raise ModelLoadError(f"{name!r} ({kind}) is a decoder-only model.", ENCODERS_HINT)
    if not isinstance(getattr(config, "vocab_size", None), int):
        raise ModelLoadError(f"{name!r} ({kind}) does not read text.", ENCODERS_HINT)
    if not isinstance(getattr(config, "num_attention_heads", None), int):
        raise ModelLoadError(f"{name!r} ({kind}) has no attention heads.", ENCODERS_HINT)
    check_sizes(config, f"{name!r} ({kind})")


def check_sizes(config: Any, name: str) -> None:
    """Refuse sizes that no encoder has, before memory is asked for them.

    Raises
    ------
    ModelLoadError
    """
    sizes = {key: getattr(config, key, None) for key in LARGEST}
    for key, value in sizes.items():
        if value is None:
            continue
        least = 0 if key in MAY_BE_NONE else 1
        sane = isinstance(value, int) and not isinstance(value, bool)
        if not sane or not least <= value <= LARGEST[key]:
            raise ModelLoadError(
                f"The configuration of {name} says {key} {shown(value)}, expected {least} to "
                f"{LARGEST[key]:,}.",
                "Fix its config.json, or get the checkpoint again.",
            )
    width = sizes["hidden_size"] or 1
    numbers = width * (sizes["vocab_size"] or 1) + 12 * width**2 * (sizes["num_hidden_layers"] or 1)
    if numbers > MOST_NUMBERS:
        raise ModelLoadError(
            f"The configuration of {name} claims some {numbers:.1e} weights, at most "
            f"{MOST_NUMBERS:.0e} are loaded.",
            "Fix its config.json, or get the checkpoint again.",
        )


def check_vocabulary(tokenizer: Any, n_embeddings: int, name: str) -> None:
    """Refuse a tokenizer that knows special tokens alone; warn of one far smaller than the model's embeddings.

    The former is what `transformers` makes of a folder whose configuration belongs to another family than its
    vocabulary: every word of every text would be unknown.

    Raises
    ------
    ModelLoadError
    """
    known = len(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids))
    hint = "Use the tokenizer that the model was trained with: load(name, tokenizer=...)."
    if known == 0:
        raise ModelLoadError(
            f"The tokenizer of {name!r} knows {len(tokenizer)} special tokens and no word, the model has "
            f"{n_embeddings:,} embeddings.",
            hint,
        )
    if len(tokenizer) < n_embeddings * LEAST_KNOWN:
        warnings.warn(
            f"The tokenizer of {name!r} has {len(tokenizer):,} entries, the model {n_embeddings:,} embeddings. "
            + hint,
            UserWarning,
            stacklevel=2,
        )
