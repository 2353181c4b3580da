"""The small RoBERTa that `training.roberta` makes: once, by the first test of any process that needs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock

from training import roberta


def roberta_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model; other processes of the same session wait for it."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a folder of its own in the session's
        base = base.parent
    folder = base / "small-roberta"
    with FileLock(base / "small-roberta.lock"):
        if not (folder / "trained").exists():
            roberta.train(folder)
            (folder / "trained").touch()
    return folder
