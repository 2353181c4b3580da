"""The small RoBERTa that `training.roberta` makes, once in a test session and only when it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from training import roberta


def roberta_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model, trained by the first test that needs it."""
    folder = tmp_path_factory.getbasetemp() / "small-roberta"
    if not (folder / "model.safetensors").exists():
        roberta.train(folder)
    return folder
