"""On a GPU: every figure of a text is the CPU's, up to the order of sums."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.checks.rounding import UNIT, rounding
from attn_widget.features.why.targets import Target
from tests.unit import tiny_models

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

TEXT = "The quick brown fox jumps over the lazy dog, and the dog looked at the bird."
FAMILIES = ["embedded", "bert", "modernbert", "gpt2", "llama", "bart"]
HALF_UNIT = 2.0**-9  # bfloat16: half the distance between 1 and the next number


@cache
def models(family: str, dtype: torch.dtype) -> dict[str, Any]:
    """The same model on both devices, by device."""
    devices = ("cpu", "cuda")
    if family == "embedded":
        return {where: aw.load(device=where, dtype=dtype, progress=False) for where in devices}
    model, tokenizer = tiny_models.build(family)
    return {where: (copy.deepcopy(model).to(where, dtype), tokenizer) for where in devices}


@cache
def analysis(family: str, where: str, dtype: torch.dtype = torch.float32) -> Analysis:
    options: dict[str, Any] = {"output": "A quick brown fox."} if family == "bart" else {}
    model = models(family, dtype)[where]
    found = aw.analyze(TEXT, model=model, tagger=None, progress=False, **options)
    assert found.run is not None and found.run.encoder.device.type == where
    return found


def both(family: str, dtype: torch.dtype = torch.float32) -> tuple[Analysis, Analysis]:
    return analysis(family, "cuda", dtype), analysis(family, "cpu", dtype)


def sums(family: str, runs: int = 1) -> dict[str, int]:
    known = tiny_models.EMBEDDED if family == "embedded" else tiny_models.RUN
    stacks = 2 if family == "bart" else 1
    return {"terms": known["terms"], "steps": runs * stacks * known["steps"]}


def assert_same(
    name: str, family: str, there: Any, here: Any, *, size: Any = 1, runs: int = 1
) -> None:
    """As `tests.close.assert_close`; the difference is printed."""
    there, here = np.asarray(there, np.float64), np.asarray(here, np.float64)
    known = np.abs(np.asarray(size, np.float64))
    allowed = rounding(np.max(known, initial=0, where=np.isfinite(known)), **sums(family, runs))
    gap = np.nanmax(np.abs(there - here), initial=0)
    print(f"{family}: {name} differ by {gap:.1e}, allowed {allowed:.1e}")
    assert (np.isnan(there) == np.isnan(here)).all() and gap <= allowed


def target_of(a: Analysis) -> Target:
    """The logit of a token of its own at the last place but one."""
    return aw.target(position=a.trace.n_tokens - 2, token=a.tokens[1].id)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_states_and_predictions(family: str) -> None:
    there, here = both(family)
    for part in here.model.parts or (None,):
        one, other = (a if part is None else a.of(part) for a in (there, here))
        for layer in range(other.trace.n_layers):
            weights = [a.trace.layer_weights(layer) for a in (one, other)]
            assert_same(f"{part or 'attention'} {layer}", family, *weights)
    assert_same("logits", family, there.trace.logits, here.trace.logits, size=here.trace.logits)
    one, other = there.predictions(), here.predictions()
    size = here.trace.logits
    assert_same("probabilities", family, one.probabilities, other.probabilities, size=size)


METHODS = ["decomposition", "gradient_x_input", "mixing"]


@pytest.mark.parametrize(
    ("family", "method"),
    # the only method of encoder-decoders is the first
    [(f, m) for f in FAMILIES for m in (METHODS[:1] if f == "bart" else METHODS)],
)
def test_contributions(family: str, method: str) -> None:
    there, here = both(family)
    one, other = (a.why.contributions(target_of(here), method) for a in (there, here))
    largest = np.abs(np.asarray(here.trace.logits)).max()
    size = max(float(np.abs(other.values).sum()), float(largest))
    assert_same(method, family, one.values, other.values, size=size, runs=2)
    assert_same("value", family, one.value, other.value, size=size)


@pytest.mark.parametrize("family", FAMILIES)
def test_effects_of_heads(family: str) -> None:
    there, here = both(family)
    one, other = (a.why.head_effects(target_of(here)) for a in (there, here))
    size = here.trace.logits
    assert_same("effects", family, one.effects, other.effects, size=size, runs=2)
    assert_same("divergence", family, one.divergence, other.divergence, size=size, runs=2)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_in_bfloat16(family: str) -> None:
    there, here = both(family, torch.bfloat16)
    allowed = rounding(1.0, **sums(family)) * HALF_UNIT / UNIT
    for layer in range(here.trace.n_layers):
        one, other = (a.trace.layer_weights(layer) for a in (there, here))
        print(f"{family}: bfloat16, layer {layer}: differ by {np.abs(one - other).max():.1e}")
        assert np.isfinite(one).all() and np.abs(one - other).max() <= allowed
        assert np.abs(one.sum(-1) - 1).max() <= allowed
