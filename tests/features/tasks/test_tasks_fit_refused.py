"""What fine-tuning refuses, and what it prints."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from attn_widget.errors import (
    InputError,
    InputTypeError,
    NotAvailableError,
    TooLongError,
)
from attn_widget.features.tasks.fit import fit_classifier
from attn_widget.host import installed
from tests.features.tasks.toy_task import QUICK, texts_and_labels, tiny


def test_without_accelerate_training_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    with pytest.raises(NotAvailableError, match=r"needs accelerate.*attn-widget\[tasks\]"):
        fit_classifier(tiny(), *texts_and_labels(9), **QUICK)


TEXTS, LABELS = texts_and_labels(6)


HELD = texts_and_labels(3, 30)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"texts": []}, InputError, "texts is empty"),
        ({"texts": "one text"}, InputTypeError, "expected a list of str"),
        ({"texts": [*TEXTS[:5], None]}, InputTypeError, r"texts\[5\] is a NoneType"),
        ({"texts": [*TEXTS[:5], "  "]}, InputError, r"texts\[5\] holds only white space"),
        ({"texts": [*TEXTS[:5], "\ud800"]}, InputError, r"texts\[5\] has a lone surrogate"),
        ({"texts": [*TEXTS[:5], "cat " * 300]}, TooLongError, r"texts\[5\] has \d+ tokens; at most 128"),
        ({"labels": LABELS[:5]}, InputError, "6 texts and 5 labels"),
        ({"labels": [0, 1, 3, 0, 1, 3]}, InputError, r"0, 1, 3, expected .* \(2 is missing\)"),
        ({"labels": [1, 2, 1, 2, 1, 2]}, InputError, r"\(0 is missing\)"),
        ({"labels": [-1, 0, 1, -1, 0, 1]}, InputError, "expected 0 to c - 1 without a gap"),
        ({"labels": [10**12, 0, 1, 0, 0, 1]}, InputError, r"\(2 is missing\)"),
        ({"labels": [0] * 6}, InputError, "nothing to tell apart"),
        ({"labels": ["a", "b"] * 3}, InputTypeError, "expected int"),
        ({"labels": [0.0, 1.0] * 3}, InputTypeError, "expected int"),
        ({"labels": [[0, 1]] * 6}, InputTypeError, "expected one class for each text"),
        ({"validation": ([], [])}, InputError, "validation texts is empty"),
        ({"validation": HELD[0]}, InputTypeError, r"expected \(texts, labels\)"),
        ({"validation": (HELD[0], [0, 1])}, InputError, "3 validation texts and 2 validation labels"),
        ({"validation": (HELD[0], [0, 1, 3])}, InputError, "has the class 3, which the training"),
        ({"classes": ("a", "b")}, InputError, "2 names of classes, and the labels have 3"),
        ({"classes": ("a", "b", "a")}, InputError, "same name"),
        ({"classes": "abc"}, InputTypeError, "several names"),
        ({"classes": 5}, InputTypeError, "classes is 5, expected several names"),
        ({"classes": ("a", "b", 5)}, InputTypeError, "several names"),
        ({"labels": [0, 1, [2], 0, 1, 2]}, InputTypeError, "labels cannot be read as an array"),
        ({"seed": -1}, InputError, "seed is -1, expected 0 to 4,294,967,295"),
        ({"truncation": "no"}, InputTypeError, "truncation is 'no', expected True or False"),
        ({"resume": "no"}, InputTypeError, "resume is 'no', expected True or False"),
        ({"checkpoint": 5}, InputTypeError, "checkpoint is a int, expected a str or a path"),
        ({"checkpoint": "a" * 300}, InputError, "300 characters, more than the disk takes"),
        ({"checkpoint": "a\0b"}, InputError, "NUL character"),
        ({"head": "lstm"}, InputError, "expected one of 'linear', 'cnn'"),
        ({"epochs": 0}, InputError, "epochs is 0, expected 1 to"),
        ({"batch_size": 2.5}, InputTypeError, "batch_size is a float"),
        ({"warmup": 1.0}, InputError, "warmup is 1.0, expected 0 to 0.9"),
        ({"warmup": None}, InputTypeError, "warmup is a NoneType, expected a number"),
        ({"dropout": 0.95}, InputError, "dropout is 0.95, expected 0 to 0.9"),
        ({"dropout": "own"}, InputTypeError, "dropout is a str, expected a number"),
        ({"pooling": "max"}, InputError, "pooling is 'max', expected one of 'mean', 'first'"),
        ({"lr_head": -1.0}, InputError, "lr_head is -1.0, expected 0 to 1"),
        ({"lr_encoder": float("nan")}, InputError, "lr_encoder is nan"),
        ({"max_length": 500}, InputError, "max_length is 500, expected 3 to 128"),
        ({"checkpoint": __file__}, InputError, "is a file"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_in_words(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    given: dict[str, Any] = {"texts": TEXTS, "labels": LABELS, "progress": False, **change}
    with pytest.raises(error, match=message):
        fit_classifier(tiny(), **given)


def test_an_encoder_that_cannot_carry_a_head_is_refused() -> None:
    model, tokenizer = tiny()
    bare = copy.deepcopy(tokenizer)
    bare.pad_token = None
    with pytest.raises(InputError, match="no padding token"):
        fit_classifier((model, bare), TEXTS, LABELS, progress=False)


def test_a_loss_that_is_no_number_ends_the_training_in_words() -> None:
    model, tokenizer = tiny()
    broken = copy.deepcopy(model)
    with torch.no_grad():
        broken.embeddings.LayerNorm.weight[0] = torch.inf
    with pytest.raises(
        InputError, match="The loss is nan in epoch 1, batch 1: training has diverged"
    ):
        fit_classifier((broken, tokenizer), TEXTS, LABELS, progress=False)


def test_progress_shows_the_loss(capsys: pytest.CaptureFixture[str]) -> None:
    fit_classifier(tiny(), TEXTS, LABELS, validation=HELD, epochs=2)
    printed, shown = capsys.readouterr()
    assert "loss=" in shown and "validation loss=" in shown and "2/2" in shown
    assert printed.startswith("heads that moved most: L") and printed.count("\n") == 1
    fit_classifier(tiny(), TEXTS, LABELS, epochs=1, progress=False)
    assert capsys.readouterr() == ("", "")
