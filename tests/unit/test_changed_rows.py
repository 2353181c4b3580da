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
    """Rows that a function, by default linear maps, reads."""

    def __init__(self, function: Any = functional.linear) -> None:
        super().__init__()
        self.function = function
        self.rows = 0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is self.function:
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


def test_knocked_out_copies_compute_activations_up_to_the_target_for_their_changed_rows() -> None:
    a = aw.analyze(TEXT, model=tiny_models.build("llama"), tagger=None, progress=False)
    n, layers = a.trace.n_tokens, a.trace.n_layers
    for position in (n - 1, 3):
        with Counting(functional.silu) as counting:
            found = a.why.contributions(aw.target(position=position, token=7), "occlusion")
        copies = [i for i in range(position) if not a.trace.tokens[i].special]  # each a word
        # The text itself, and of each copy the rows after the token that is out, up to the target.
        assert counting.rows == layers * (n + sum(position - i for i in copies))
        assert not found.values[position:].any() and found.values[:position].all()
