"""A classifier on a copy of an encoder: a linear head on the mean or the first token, or the text CNN."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch

from attn_widget.errors import InputError
from attn_widget.model.encoder import Encoder

Head = Literal["linear", "cnn"]
HEADS: tuple[Head, ...] = get_args(Head)
Pooling = Literal["mean", "first"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def check_encoder(encoder: Encoder, head: Head, pooling: Pooling = "mean") -> None:
    """Refuse an encoder that cannot carry the head."""
    from transformers import AutoModel, AutoModelForSequenceClassification

    if encoder.parts:
        raise InputError(
            f"{encoder.name} ({encoder.family.name}) is an encoder-decoder, which reads one text and writes another; classifiers "
            "are fitted on encoders.",
            "Use an encoder, such as the embedded one: fit_classifier(None, ...).",
        )
    own = head == "linear" and pooling == "first"
    kind = AutoModelForSequenceClassification if own else AutoModel
    if type(encoder.config) not in kind._model_mapping:  # pyright: ignore[reportPrivateUsage]
        raise InputError(
            f"transformers has no {kind.__name__.removeprefix('AutoModel') or 'bare'} model of "
            f"{encoder.name} ({encoder.family.name}), so it cannot be fine-tuned with head={head!r}"
            + (f", pooling={pooling!r}." if own else "."),
            "Use another encoder, such as the embedded one: fit_classifier(None, ...).",
        )
    if encoder.tokenizer.pad_token_id is None:
        raise InputError(
            f"The tokenizer of {encoder.name} has no padding token, so texts of different lengths "
            "cannot share a batch.",
            "Give it one: tokenizer.pad_token = tokenizer.sep_token.",
        )


def build(
    encoder: Encoder,
    head: Head,
    classes: Sequence[str],
    pooling: Pooling = "mean",
    dropout: float | None = None,
) -> tuple[Any, frozenset[str]]:
    """A classifier whose encoder begins as a copy; the given model is left as it is.

    The new weights are drawn from torch's generator, so seed it first. The encoder keeps the
    dropout of its configuration.

    ``pooling``, {"mean", "first"}: of the linear head. ``dropout``: of what the last linear map reads; the head's
    own unless given. ``model``: float32, where the encoder is. ``fresh``: names of the parameters that were drawn
    and not copied.
    """
    from attn_widget.features.tasks.cnn import TextCNNConfig, TextCNNForSequenceClassification
    from attn_widget.features.tasks.mean import (
        DROPOUT,
        MeanPoolingConfig,
        MeanPoolingForSequenceClassification,
    )

    options: dict[str, Any] = {
        "id2label": dict(enumerate(classes)),
        "label2id": {name: i for i, name in enumerate(classes)},
        "problem_type": "single_label_classification",
    }
    config = copy.deepcopy(encoder.config)
    config.dtype = torch.float32
    if head == "linear" and pooling == "first":
        model = _own_class(config, options, DROPOUT if dropout is None else dropout)
    else:
        options["encoder"] = config.to_dict()
        if dropout is not None:
            options["dropout"] = dropout
        model = (
            TextCNNForSequenceClassification(TextCNNConfig(**options))
            if head == "cnn"
            else MeanPoolingForSequenceClassification(MeanPoolingConfig(**options))
        )
    fresh = _copy_encoder(encoder, model)
    model.name_or_path = f"{encoder.name}, fine-tuned"
    torch.nn.Module.to(model, encoder.device)  # `model.to` has no usable type
    return model, fresh


def _own_class(config: Any, options: dict[str, Any], dropout: float) -> Any:
    """The sequence classifier of `transformers` for the family, on the first token."""
    from transformers import AutoModelForSequenceClassification

    for name, value in options.items():
        setattr(config, name, value)
    if getattr(config, "classifier_pooling", "cls") != "cls":  # ModernBERT offers both
        config.classifier_pooling = "cls"
    model: Any = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    inside = set(model.base_model.modules())
    # Families call the dropout of their head by five names; it is a module in all of them.
    for module in set(model.modules()) - inside:
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    return model


def _copy_encoder(encoder: Encoder, model: Any) -> frozenset[str]:
    """Copy what both have below the head, the pooler only when it was trained."""
    untrained = tuple(f".{name}" for name in encoder.untrained)
    trained = {
        name: value
        for name, value in encoder.model.base_model.state_dict().items()
        if not any(full.endswith(f".{name}") for full in untrained)
    }
    own = model.base_model.state_dict()
    shared = {name: value for name, value in trained.items() if name in own}
    missing = model.base_model.load_state_dict(shared, strict=False).missing_keys
    lost = [name for name in missing if "pooler" not in name]
    assert not lost, lost  # both are built from one configuration
    copied = {id(p) for name, p in model.base_model.named_parameters() if name in shared}
    return frozenset(name for name, p in model.named_parameters() if id(p) not in copied)


def tokenizer_for(encoder: Encoder) -> Any:
    """A copy of the tokenizer that gives the classifier what it takes, and nothing else."""
    tokenizer = copy.deepcopy(encoder.tokenizer)
    takes = inspect.signature(encoder.model.base_model.forward).parameters
    tokenizer.model_input_names = [
        name for name in tokenizer.model_input_names if name in takes or name == "input_ids"
    ]
    tokenizer.model_max_length = encoder.max_length
    return tokenizer
