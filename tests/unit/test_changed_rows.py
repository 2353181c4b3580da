"""Copies of a text are computed where they differ from the first, and give what whole copies give."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

import attn_widget as aw
from attn_widget.trace.changed_rows import ChangedRows
from tests.unit import tiny_models

TEXT = "the cat sat on the mat"


class Counting(TorchFunctionMode):
    """Rows that linear maps read."""

    rows = 0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is functional.linear:
            self.rows += args[0][..., 0].numel()
        return func(*args, **(kwargs or {}))


def test_rows_that_are_not_changed_are_those_of_the_first_copy() -> None:
    generator = torch.Generator().manual_seed(0)
    text = torch.randn(7, 5, generator=generator)
    changed = torch.rand(4, 7, generator=generator) < 0.5
    changed[0] = True
    copies = torch.where(changed[..., None], torch.randn(4, 7, 5, generator=generator), text)
    copies[0] = text
    layer = torch.nn.Linear(5, 3)
    with torch.no_grad():
        whole = layer(copies)
        with Counting() as counting, ChangedRows(changed):
            found = layer(copies)
            layer(copies[0])  # of another shape: read whole
    np.testing.assert_allclose(found.numpy(), whole.numpy(), atol=1e-6)
    assert counting.rows == int(changed.sum()) + 7


def test_a_causal_model_reads_half_of_the_rows_of_its_copies() -> None:
    rows: dict[str, dict[str, int]] = {}
    for family in ("llama", "bert"):
        a = aw.analyze(TEXT, model=tiny_models.build(family), tagger=None, progress=False)
        n = a.trace.n_tokens
        target = aw.target(position=n - 1 if family == "llama" else 2, token=7)
        rows[family] = {}
        for method in ("occlusion", "value_zeroing"):
            with Counting() as counting:
                a.why.contributions(target, method)
            rows[family][method] = counting.rows
        assert n > 6
    assert rows["llama"]["occlusion"] < 0.7 * rows["bert"]["occlusion"]
    assert rows["llama"]["value_zeroing"] < 0.8 * rows["bert"]["value_zeroing"]
