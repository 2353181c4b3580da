"""The text CNN: its maxima, one window at a time, and padding that never enters them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attn_widget.features.tasks.batches import by_length, shuffled, tokenize
from attn_widget.features.tasks.heads import build
from attn_widget.model.loading import load
from tests.close import assert_close
from tests.features.tasks.toy_task import texts_and_labels, tiny
from tests.unit import tiny_models


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    found, _ = build(load(tiny()), "cnn", ("a", "b", "c"))
    return found.eval()


def naive(model: Any, hidden: torch.Tensor) -> list[float]:
    """Window by window, for one text [n, d]."""
    found: list[float] = []
    for width, convolution in zip(model.config.widths, model.convolutions, strict=True):
        rows = list(hidden) + [torch.zeros(hidden.shape[1])] * max(0, width - len(hidden))
        for kernel, bias in zip(convolution.weight, convolution.bias, strict=True):
            values = [
                float(sum(kernel[:, j] @ rows[start + j] for j in range(width)) + bias)
                for start in range(len(rows) - width + 1)
            ]
            found.append(max(0.0, *values))
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 11])
def test_maxima_are_those_of_every_window_of_the_text(model: Any, n: int) -> None:
    hidden = torch.randn(n, 32, generator=torch.Generator().manual_seed(n))
    with torch.no_grad():
        found = model.features(hidden[None], torch.ones(1, n, dtype=torch.long))
        widest = [one.weight.abs().sum(dim=(1, 2)).max() for one in model.convolutions]
        size = float(max(widest) * hidden.abs().max())
        assert_close(found[0], naive(model, hidden), terms=5 * hidden.shape[1], size=size)


@pytest.mark.parametrize("n", [1, 4, 9])
@pytest.mark.parametrize("before", [0, 3])
def test_padding_changes_nothing_wherever_it_stands(model: Any, n: int, before: int) -> None:
    hidden = torch.randn(n, 32, generator=torch.Generator().manual_seed(n))
    padded = torch.full((1, n + 10, 32), 1e4)
    padded[0, before : before + n] = hidden
    mask = torch.zeros(1, n + 10, dtype=torch.long)
    mask[0, before : before + n] = 1
    with torch.no_grad():
        alone = model.features(hidden[None], torch.ones(1, n, dtype=torch.long))
        assert_close(model.features(padded, mask), alone, **tiny_models.SUMS)


def test_a_text_alone_and_in_a_batch_has_the_same_logits(model: Any) -> None:
    encoder = load(tiny())
    texts = ["cat", *texts_and_labels(12)[0]]
    examples = tokenize(encoder, texts, max_length=128, truncation=False, name="texts")
    with torch.no_grad():
        together = model(**examples.batch(range(13), torch.device("cpu"))).logits
        alone = [model(**encoder.tokenizer(text, return_tensors="pt")).logits[0] for text in texts]
    assert_close(together, torch.stack(alone), **tiny_models.SUMS)


def test_the_loss_is_the_cross_entropy_of_the_logits(model: Any) -> None:
    inputs = load(tiny()).tokenizer(["cat", "the dog"], padding=True, return_tensors="pt")
    with torch.no_grad():
        found = model(**inputs, labels=torch.tensor([2, 0]))
    logs = found.logits.log_softmax(1)
    assert_close(float(found.loss), float(-(logs[0, 2] + logs[1, 0]) / 2), terms=3)


def test_batches_hold_every_text_once_and_texts_of_like_lengths() -> None:
    lengths = np.random.default_rng(0).integers(3, 100, 1000).tolist()
    batches = shuffled(lengths, 16, (0, 0))
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
    assert padded < 1.1 * sum(lengths)
    assert batches == shuffled(lengths, 16, (0, 0)) != shuffled(lengths, 16, (0, 1))
    order = [i for batch in by_length(lengths, 16) for i in batch]
    assert [lengths[i] for i in order] == sorted(lengths, reverse=True)
