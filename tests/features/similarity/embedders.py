"""Folders as sentence-transformers writes them, made of the tiny models of every family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from attn_widget.features.why.bound_target import embedding_of
from tests.unit import tiny_models

WIDTH = 32  # of the tiny models
TEXT_SUMS = tiny_models.RUN
PAIR_SUMS = tiny_models.BOTH_WAYS
TYPES = "sentence_transformers.models."


def folder_of(
    folder: Path,
    family: str = "bert",
    pooling: dict[str, Any] | None = None,
    *,
    inputs: int = WIDTH,
    dense: int | None = None,
    activation: str = "torch.nn.modules.activation.Tanh",
    norm: bool = False,
    normalize: bool = False,
    max_length: int | None = None,
    settings: dict[str, Any] | None = None,
    inner: str = "",
    **changes: Any,
) -> Path:
    """An embedder's folder: a tiny encoder, pooling, and the layers asked for, with random weights.

    Parameters
    ----------
    pooling : dict, optional
        ``1_Pooling/config.json``; None: no pooling, an embedding for each token.
    inputs : int
        Numbers that the pooling gives.
    inner : str
        Folder of the encoder: old models have ``0_Transformer``.
    """
    model, tokenizer = tiny_models.build(family, "Model", **changes)
    (folder / inner).mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder / inner)
    tokenizer.save_pretrained(folder / inner)
    modules = [{"idx": 0, "name": "0", "path": inner, "type": TYPES + "Transformer"}]

    def add(kind: str, config: dict[str, Any], weights: dict[str, torch.Tensor]) -> None:
        path = folder / f"{len(modules)}_{kind}"
        path.mkdir()
        (path / "config.json").write_text(json.dumps(config))
        if weights:
            save_file(weights, path / "model.safetensors")
        modules.append(
            {
                "idx": len(modules),
                "name": str(len(modules)),
                "path": path.name,
                "type": TYPES + kind,
            }
        )

    made = torch.Generator().manual_seed(7)
    if pooling is not None:
        add("Pooling", pooling, {})
    if dense is not None:
        weights = {
            "linear.weight": torch.randn(dense, inputs, generator=made) * 0.3,
            "linear.bias": torch.randn(dense, generator=made) * 0.3,
        }
        config = {"in_features": inputs, "out_features": dense, "bias": True}
        add("Dense", {**config, "activation_function": activation}, weights)
    if norm:
        width = dense or inputs
        scale = {"norm.weight": 1 + torch.randn(width, generator=made) * 0.3}
        add(
            "LayerNorm",
            {"dimension": width},
            {**scale, "norm.bias": torch.randn(width, generator=made)},
        )
    if normalize:
        add("Normalize", {}, {})
    (folder / "modules.json").write_text(json.dumps(modules))
    if max_length is not None:
        length = {"max_seq_length": max_length, "do_lower_case": False}
        (folder / inner / "sentence_bert_config.json").write_text(json.dumps(length))
    if settings is not None:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return folder


MEAN = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True}


def size_of_score(s: Any) -> float:
    """What the rounding of hidden states moves a score by, in units of that rounding.

    A cosine moves by the error of an embedding over its length, a dot product by that times both lengths, and a sum of
    cosines by that of each. A reranker's classifier reads what tanh gives, at most 1.
    """
    if s.kind == "relevance":
        return float(s.a.run.encoder.model.classifier.weight.detach().abs().sum())
    moved, lengths = 0.0, []
    for run in (s.a, s.b):
        embedding = embedding_of(run.run).double().numpy()
        lengths.append(np.linalg.norm(embedding, axis=-1).min())
        moved += float(np.abs(run.trace.hidden_states[-1]).max() / lengths[-1])
    return moved * {"dot": float(np.prod(lengths)), "maxsim": s.a.trace.n_tokens}.get(s.kind, 1)


def size_of_sum(s: Any) -> float:
    """Sum of the absolute values of all entries of ``s.matrix("input")`` and of the biases."""
    return float(np.abs(s.matrix("input")).sum() + np.abs(s.biases).sum())
