"""Models that are BERT by other names: their settings and weights under BERT's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# DistilBERT's names, and BERT's. What is not listed keeps its name.
SETTINGS = {
    "hidden_size": "dim",
    "intermediate_size": "hidden_dim",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "hidden_act": "activation",
}
LAYERS = {
    "attention.q_lin": "attention.self.query",
    "attention.k_lin": "attention.self.key",
    "attention.v_lin": "attention.self.value",
    "attention.out_lin": "attention.output.dense",
    "sa_layer_norm": "attention.output.LayerNorm",
    "ffn.lin1": "intermediate.dense",
    "ffn.lin2": "output.dense",
    "output_layer_norm": "output.LayerNorm",
}
HEADS = {
    "vocab_transform.weight": "cls.predictions.transform.dense.weight",
    "vocab_transform.bias": "cls.predictions.transform.dense.bias",
    "vocab_layer_norm.weight": "cls.predictions.transform.LayerNorm.weight",
    "vocab_layer_norm.bias": "cls.predictions.transform.LayerNorm.bias",
    "vocab_projector.bias": "cls.predictions.bias",
}
EPSILON = 1e-12  # of every LayerNorm of DistilBERT; its settings do not say


def settings_as_bert(settings: Mapping[str, Any]) -> dict[str, Any]:
    """``config.json`` of a DistilBERT as BERT's; that of another model as it is.

    >>> found = settings_as_bert({"model_type": "distilbert", "dim": 768, "activation": "gelu"})
    >>> found["hidden_size"], found["type_vocab_size"], found["layer_norm_eps"]
    (768, 1, 1e-12)
    """
    if settings["model_type"] != "distilbert":
        return dict(settings)
    own = {name: settings[other] for name, other in SETTINGS.items() if other in settings}
    return {**settings, **own, "type_vocab_size": 1, "layer_norm_eps": EPSILON}


def weights_as_bert(settings: Mapping[str, Any], weights: Mapping[str, Array]) -> dict[str, Array]:
    """Weights of a DistilBERT by BERT's names, with zeros for the one segment; others as they are.

    ``settings``: ``config.json``. ``weights``: those of the encoder begin with ``bert.`` or ``distilbert.``.
    """
    if settings["model_type"] != "distilbert":
        return dict(weights)
    renamed: dict[str, Array] = {}
    for name, array in weights.items():
        inner = name.removeprefix("distilbert.").removeprefix("bert.")
        match = re.fullmatch(r"transformer\.layer\.(\d+)\.(.*)\.(weight|bias)", inner)
        if match is not None:
            layer, part, kind = match.groups()
            renamed[f"bert.encoder.layer.{layer}.{LAYERS[part]}.{kind}"] = array
        elif inner.startswith("embeddings."):
            renamed[f"bert.{inner}"] = array
        else:
            renamed[HEADS.get(inner, inner)] = array
    width = renamed["bert.embeddings.word_embeddings.weight"].shape[1]
    segment = np.zeros((1, width), np.float32)
    return {**renamed, "bert.embeddings.token_type_embeddings.weight": segment}
