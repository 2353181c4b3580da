"""Models inside other objects: of `torch.compile`, `DataParallel`, PEFT, sentence-transformers, `Trainer`."""

from __future__ import annotations

import os
from typing import Any

from attn_widget.errors import InputError

MAX_WRAPPERS = 8  # one in another


def unwrapped(model: Any) -> Any:
    """The model of transformers in ``model``; anything else as it is.

    The layers of what PEFT's `get_base_model` gives include the adapter, so its attention is the adapted one.
    """
    from torch.nn import Module
    from transformers import PreTrainedModel

    for _ in range(MAX_WRAPPERS):
        if not isinstance(model, Module) or isinstance(model, PreTrainedModel):
            break
        if isinstance(getattr(model, "_orig_mod", None), Module):  # torch.compile
            model = model._orig_mod
        elif callable(get_base_model := getattr(model, "get_base_model", None)):  # PEFT
            if getattr(getattr(model, "active_peft_config", None), "is_prompt_learning", False):
                raise InputError(
                    "The adapter of this PEFT model adds virtual tokens, which have no place in the text.",
                    "Pass the model without it: (model.get_base_model(), tokenizer).",
                )
            model = get_base_model()
        elif isinstance(
            getattr(model, "module", None), Module
        ):  # DataParallel, in threads or processes
            model = model.module
        elif isinstance(getattr(model, "auto_model", None), Module):  # of sentence-transformers
            model = model.auto_model
        else:
            break
    return model


def model_and_tokenizer(given: Any) -> Any:
    """``given`` as ``(model, tokenizer)``, where it has both; anything else as it is."""
    if given is None or isinstance(given, (str, os.PathLike, tuple, list, type)):
        return given
    tokenizer = getattr(given, "processing_class", None) or getattr(given, "tokenizer", None)
    if tokenizer is None:
        return given
    if hasattr(given, "model"):  # a classifier of ours, a pipeline, a Trainer
        return given.model, tokenizer
    modules = getattr(given, "_modules", None)  # a SentenceTransformer begins with its encoder
    first = next(iter(modules.values()), None) if isinstance(modules, dict) else None
    return given if not hasattr(first, "auto_model") else (first, tokenizer)
