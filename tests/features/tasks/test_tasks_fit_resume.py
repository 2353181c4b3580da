"""Checkpoints: a training that was killed goes on and ends as if it had not been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attn_widget.errors import InputError, ModelLoadError
from attn_widget.features.tasks import checkpoint as checkpoints
from attn_widget.features.tasks import trainer
from attn_widget.features.tasks.fit import fit_classifier
from attn_widget.features.tasks.fitted import load_classifier
from tests.close import assert_close
from tests.features.tasks.toy_task import texts_and_labels, tiny
from tests.unit import tiny_models

ROOT = Path(__file__).resolve().parents[3]
TEXTS, LABELS = texts_and_labels(40)
OPTIONS: dict[str, Any] = {
    "validation": texts_and_labels(9, 60), "epochs": 4, "batch_size": 4, "patience": 4,
    "lr_encoder": 3e-3, "lr_head": 1e-2, "progress": False,
}  # fmt: skip
# Keeps a checkpoint at every batch.
CHILD = """
import sys
import torch
from attn_widget.features.tasks import trainer
from attn_widget.features.tasks.fit import fit_classifier
from tests.features.tasks.test_tasks_fit_resume import LABELS, OPTIONS, TEXTS

encoder, folder, head, threads = sys.argv[1:]
torch.set_num_threads(int(threads))
trainer.SAVE_EVERY = 0.0
fit_classifier(encoder, TEXTS, LABELS, head=head, checkpoint=folder, **OPTIONS)
"""


def places(folder: Path) -> list[tuple[int, int]]:
    found = (checkpoints.PLACE.fullmatch(path.name) for path in folder.glob("epoch-*"))
    return sorted((int(match[1]), int(match[2])) for match in found if match)


@pytest.mark.parametrize("head", ["linear", "cnn"])
def test_a_training_that_was_killed_inside_an_epoch_ends_with_the_same_numbers(
    head: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, folder = tmp_path / "encoder", tmp_path / "checkpoint"
    for part in tiny():
        part.save_pretrained(encoder)
    whole = fit_classifier(encoder, TEXTS, LABELS, head=head, **OPTIONS)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, encoder, folder, head, str(torch.get_num_threads())],
        cwd=ROOT, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    while child.poll() is None:
        found = places(folder) if folder.is_dir() else []
        if any(epoch >= 1 and batch >= 3 for epoch, batch in found):
            break
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    _, errors = child.communicate()
    assert child.returncode == -signal.SIGKILL, errors
    epoch, batch = places(folder)[-1]

    steps: list[int] = []
    step = trainer.ClassifierTrainer.compute_loss

    def counted(self: Any, *batch: Any, **options: Any) -> Any:
        steps.append(1)
        return step(self, *batch, **options)

    monkeypatch.setattr(trainer.ClassifierTrainer, "compute_loss", counted)
    again = fit_classifier(encoder, TEXTS, LABELS, head=head, checkpoint=folder, **OPTIONS)
    assert len(steps) == 40 - (10 * epoch + batch) < 30
    assert again.history == whole.history
    np.testing.assert_array_equal(again.probabilities(TEXTS), whole.probabilities(TEXTS))


def test_a_finished_training_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**OPTIONS, "epochs": 2, "checkpoint": tmp_path / "a"}
    first = fit_classifier(tiny(), TEXTS, LABELS, **options)
    monkeypatch.setattr(trainer.ClassifierTrainer, "compute_loss", None)  # calling it would fail
    second = fit_classifier(tiny(), TEXTS, LABELS, **options)
    assert second.history == first.history
    np.testing.assert_array_equal(second.probabilities(TEXTS), first.probabilities(TEXTS))
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {"checkpoint.json", "epoch-2-batch-0"}


def test_checkpoints_hold_tokenizer_and_weights_that_transformers_loads_and_no_pickle(
    tmp_path: Path,
) -> None:
    fit_classifier(tiny(), TEXTS, LABELS, **{**OPTIONS, "epochs": 1}, checkpoint=tmp_path / "a")
    folder = tmp_path / "a" / "epoch-1-batch-0"
    names = {path.name for path in folder.iterdir()}
    assert {"tokenizer.json", "model.safetensors", "config.json"} <= names
    assert {Path(name).suffix for name in names} <= {".json", ".safetensors", ".txt"}
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        found = model.eval()(**tokenizer(TEXTS[0], return_tensors="pt")).logits.softmax(1)
    fitted = fit_classifier(
        tiny(), TEXTS, LABELS, **{**OPTIONS, "epochs": 1}, checkpoint=tmp_path / "a"
    )
    assert_close(found, fitted.probabilities(TEXTS[:1]), **tiny_models.SUMS, size=1)


def stopped(folder: Path, monkeypatch: pytest.MonkeyPatch, **change: Any) -> None:
    """A training that an error ends in its second epoch."""
    step = trainer.ClassifierTrainer.compute_loss

    def failing(self: Any, *batch: Any, **options: Any) -> Any:
        if (self.progress.state.epoch, self.progress.state.step) == (1, 6):
            raise MemoryError
        return step(self, *batch, **options)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "SAVE_EVERY", 0.0)
        patch.setattr(trainer.ClassifierTrainer, "compute_loss", failing)
        with pytest.raises(MemoryError):
            fit_classifier(tiny(), TEXTS, LABELS, **{**OPTIONS, **change}, checkpoint=folder)
    assert places(folder) == [(1, 6)]


def test_the_best_epoch_before_a_kill_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, turned = OPTIONS["validation"]
    options: dict[str, Any] = {
        **OPTIONS,
        "validation": (held, (turned + 1) % 3),
        "head": "cnn",
    }
    # The better it learns, the worse it gets: but which seeds show it at once is the machine's matter.
    for options["seed"] in range(8):
        whole = fit_classifier(tiny(), TEXTS, LABELS, **options)
        if whole.best_epoch == 1:
            break
    assert whole.best_epoch == 1
    stopped(tmp_path, monkeypatch, **options)
    again = fit_classifier(tiny(), TEXTS, LABELS, **options, checkpoint=tmp_path)
    assert again.history == whole.history
    np.testing.assert_array_equal(again.probabilities(held), whole.probabilities(held))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"lr_head": 2e-2}, r"lr_head 0.01 \(now 0.02\)"),
        ({"epochs": 5}, r"epochs 4 \(now 5\)"),
        ({"head": "cnn"}, r"head 'linear' \(now 'cnn'\)"),
        ({"texts": TEXTS[::-1]}, "train '"),
        ({"validation": None}, "validation '"),
        ({"encoder": tiny("electra")}, "weights '"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused_and_kept(
    change: dict[str, Any], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path, monkeypatch)
    given = {"encoder": tiny(), "texts": TEXTS, "labels": LABELS, **OPTIONS, **change}
    with pytest.raises(InputError, match=f"of another training: .*{named}"):
        fit_classifier(**given, checkpoint=tmp_path)
    assert places(tmp_path) == [(1, 6)]


def test_without_resume_it_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped(tmp_path, monkeypatch)
    options = {**OPTIONS, "epochs": 1}
    fitted = fit_classifier(tiny(), TEXTS, LABELS, **options, checkpoint=tmp_path, resume=False)
    assert len(fitted.history) == 1 and places(tmp_path) == [(1, 0)]


def test_a_checkpoint_without_its_tokenizer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path, monkeypatch)
    (tmp_path / "epoch-1-batch-6" / "tokenizer.json").unlink()
    with pytest.raises(ModelLoadError, match=r"has no tokenizer.json"):
        fit_classifier(tiny(), TEXTS, LABELS, **OPTIONS, checkpoint=tmp_path)


def test_a_folder_of_other_things_takes_no_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    for resume in (True, False):
        with pytest.raises(InputError, match="holds no checkpoint of fit_classifier"):
            fit_classifier(tiny(), TEXTS, LABELS, **OPTIONS, checkpoint=tmp_path, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_write_that_fails_leaves_the_checkpoint_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path, monkeypatch)

    def full(*_args: Any, **_options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full)
    monkeypatch.setattr(trainer, "SAVE_EVERY", 0.0)
    with pytest.raises(InputError, match=r"No space left .* The previous one is intact"):
        fit_classifier(tiny(), TEXTS, LABELS, **OPTIONS, checkpoint=tmp_path)
    assert places(tmp_path) == [(1, 6)] and not list(tmp_path.glob(".*.part"))


def test_the_checkpoint_of_a_training_is_no_classifier_to_load(tmp_path: Path) -> None:
    fit_classifier(tiny(), TEXTS, LABELS, **{**OPTIONS, "epochs": 1}, checkpoint=tmp_path / "a")
    with pytest.raises(InputError, match="is the checkpoint of a training"):
        load_classifier(tmp_path / "a")
