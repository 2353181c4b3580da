"""A classifier on a copy of an encoder: transformers' own class, or the text CNN."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch

from attn_widget.errors import InputError

if TYPE_CHECKING:
    from attn_widget.encoder import Encoder

Head = Literal["linear", "cnn"]
HEADS: tuple[Head, ...] = get_args(Head)
# What families call the dropout of hidden states and of attention weights.
DROPOUTS = (
    "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout",
    "embedding_dropout", "mlp_dropout",
)  # fmt: skip


def check_encoder(encoder: Encoder, head: Head) -> None:
    """Refuse an encoder that cannot carry the head.

    Raises
    ------
    InputError
        `transformers` has no sequence classifier of this family, or the tokenizer cannot pad.
    """
    from transformers import AutoModel, AutoModelForSequenceClassification

    kind = AutoModelForSequenceClassification if head == "linear" else AutoModel
    if type(encoder.config) not in kind._model_mapping:  # pyright: ignore[reportPrivateUsage]
        raise InputError(
            f"transformers has no {kind.__name__.removeprefix('AutoModel') or 'bare'} model of "
            f"{encoder.name} ({encoder.family.name}), so it cannot be fine-tuned with head={head!r}.",
            "Use another encoder, such as the embedded one: fit_classifier(None, ...).",
        )
    if encoder.tokenizer.pad_token_id is None:
        raise InputError(
            f"The tokenizer of {encoder.name} has no padding token, so texts of different lengths "
            "cannot share a batch.",
            "Give it one: tokenizer.pad_token = tokenizer.sep_token.",
        )


def build(
    encoder: Encoder, head: Head, classes: Sequence[str], dropout: float = 0.0
) -> tuple[Any, frozenset[str]]:
    """A classifier whose encoder begins as a copy; the given model is left as it is.

    The new weights are drawn from torch's generator, so seed it first.

    Parameters
    ----------
    dropout : float
        Of hidden states and attention weights in training.

    Returns
    -------
    model : transformers.PreTrainedModel
        float32, where the encoder is.
    fresh : frozenset of str
        Names of the parameters that were drawn and not copied.
    """
    from transformers import AutoModelForSequenceClassification

    names: dict[str, Any] = {
        "id2label": dict(enumerate(classes)),
        "label2id": {name: i for i, name in enumerate(classes)},
        "problem_type": "single_label_classification",
    }
    config = copy.deepcopy(encoder.config)
    config.dtype = torch.float32
    for name in DROPOUTS:
        if hasattr(config, name):
            setattr(config, name, dropout)
    if head == "cnn":
        from attn_widget.tasks.cnn import TextCNNConfig, TextCNNForSequenceClassification

        model: Any = TextCNNForSequenceClassification(
            TextCNNConfig(encoder=config.to_dict(), **names)
        )
    else:
        for name, value in names.items():
            setattr(config, name, value)
        model = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    fresh = _copy_encoder(encoder, model)
    model.name_or_path = f"{encoder.name}, fine-tuned"
    torch.nn.Module.to(model, encoder.device)  # `model.to` has no usable type
    return model, fresh


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
