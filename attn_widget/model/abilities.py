"""Heads with trained weights, sizes and limits of a model and its tokenizer."""

from __future__ import annotations

import inspect
from typing import Any, Literal

from attn_widget.model.checkpoint import DISCRIMINATORS, NEXT_TOKEN_HEADS, TWO_TEXT_HEADS
from attn_widget.model.families import Predicts, stack_config

Classifier = Literal["sequence", "token", "question_answering"]
LARGEST_SANE_LENGTH = 1_000_000  # tokenizers say 1e30 for "no limit"
LENGTH_WITHOUT_LIMIT = 8192  # tokens, for a model with relative positions that states no limit


def heads_of(model: Any, untrained: frozenset[str]) -> set[str]:
    """Which heads have trained weights: ``lm``, ``nsp``, ``sequence``, ``token``, ``question_answering``."""
    names = [cls.__name__ for cls in type(model).__mro__]

    def is_a(*endings: str) -> bool:
        return any(name.endswith(endings) for name in names)

    heads: set[str] = set()
    relation = [key for key in untrained if "seq_relationship" in key or "pooler" in key]
    others = [key for key in untrained if key not in relation]
    predicts = is_a("ForMaskedLM", "ForPreTraining", *NEXT_TOKEN_HEADS, *TWO_TEXT_HEADS)
    if predicts and not is_a(*DISCRIMINATORS) and not others:
        heads.add("lm")
    head = getattr(model, "cls", None)
    if hasattr(head, "seq_relationship") and not relation:
        heads.add("nsp")
    if not untrained:
        endings = {
            "ForSequenceClassification": "sequence",
            "ForTokenClassification": "token",
            "ForQuestionAnswering": "question_answering",
        }
        heads.update(kind for ending, kind in endings.items() if is_a(ending))
    return heads


def classifier_of(heads: set[str]) -> Classifier | None:
    kinds: tuple[Classifier, ...] = ("sequence", "token", "question_answering")
    return next((kind for kind in kinds if kind in heads), None)


def layers_and_heads(config: Any, stack: str) -> tuple[int, int]:
    """Layers of a stack, ``"encoder"`` or ``"decoder"``, and heads in each; also where only a decoder was taken (BART)."""
    layers = getattr(config, f"{stack}_layers", None)
    if layers is None and stack == "decoder":  # T5 names those of its decoder alone
        layers = getattr(config, "num_decoder_layers", None)
    heads = getattr(config, f"{stack}_attention_heads", None)
    layers = config.num_hidden_layers if layers is None else layers
    return int(layers), int(config.num_attention_heads if heads is None else heads)


def n_embeddings(model: Any) -> int:
    return int(model.get_input_embeddings().weight.shape[0])


def max_length(model: Any, tokenizer: Any) -> int:
    """The model's own limit; RoBERTa's first positions are reserved for padding."""
    tables = [
        module
        for name, module in model.named_modules()
        if name.endswith("embeddings.position_embeddings") and hasattr(module, "num_embeddings")
    ]
    if tables:
        reserved = (0 if table.padding_idx is None else table.padding_idx + 1 for table in tables)
        return min(int(t.num_embeddings) - r for t, r in zip(tables, reserved, strict=True))
    config = stack_config(model.base_model.config, "decoder")
    limits = (
        getattr(config, "max_position_embeddings", None),
        getattr(config, "max_seq_len", None),  # MPT
        tokenizer.model_max_length,
    )
    sane = (int(x) for x in limits if x is not None and 0 < x <= LARGEST_SANE_LENGTH)
    return next(sane, LENGTH_WITHOUT_LIMIT)


def takes_segments(model: Any, tokenizer: Any, predicts: Predicts) -> bool:
    """True if the model has several segments and its tokenizer gives them (else it was trained without).

    GPT-2 takes ``token_type_ids`` too, and reads them with its word embeddings: what counts in a decoder is an
    embedding of segments. XLM does the same, but was trained with what its tokenizer gives.
    """
    base = model.base_model
    parameters = inspect.signature(base.forward).parameters
    several = "token_type_ids" in parameters and getattr(base.config, "type_vocab_size", 2) > 1
    if predicts == "next":
        several = several and any(
            "token_type" in name or "seg_embed" in name for name, _ in base.named_parameters()
        )
    return several and "token_type_ids" in tokenizer.model_input_names
