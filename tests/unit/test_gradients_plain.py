"""Gradients of a target against autograd over a plain run of `transformers`, on every family."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.model.families import layer_modules
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat sat, and naïve Dr. Smith's dog ran."
TARGET = aw.target(position=3, token=17, against=40)


@pytest.fixture(scope="module", params=tuple(tiny_models.FAMILIES))
def run(request: pytest.FixtureRequest) -> Any:
    return aw.analyze(TEXT, model=tiny_models.build(request.param), tagger=None, progress=False)


def plain(a: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """The target's value, the vectors that enter the first layer, and the weights of every layer."""
    encoder = a.run.encoder
    model = copy.deepcopy(encoder.model)
    model.set_attn_implementation("eager")
    entered: list[Any] = []

    def lead(_module: Any, args: Any, kwargs: Any) -> Any:
        if entered:  # ALBERT: the module serves as a later layer
            return None
        given = args[0] if args else kwargs["hidden_states"]
        entered.append(given.detach().requires_grad_())
        if args:
            return (entered[0], *args[1:]), kwargs
        return args, {**kwargs, "hidden_states": entered[0]}

    first = (layer_modules(encoder.family, model) or [])[0]
    first.register_forward_pre_hook(lead, with_kwargs=True)
    found = model(**a.run.encoding.inputs, output_attentions=True)
    row = found.logits[0, TARGET.position]
    return row[TARGET.token] - row[TARGET.against], entered[0], found.attentions


def test_gradient_x_input_is_that_of_autograd(run: Any) -> None:
    value, vectors, _ = plain(run)
    (slope,) = torch.autograd.grad(value, [vectors])
    products = (slope * vectors)[0].detach().numpy()
    expected = products.sum(axis=-1)
    found = run.why.contributions(TARGET, "gradient_x_input").values
    assert_close(found, expected, **tiny_models.BOTH_WAYS, size=np.abs(products).sum(axis=-1))


def test_attention_gradient_is_that_of_autograd(run: Any) -> None:
    value, _, weights = plain(run)
    assert len(weights) == run.trace.n_layers
    slopes = torch.autograd.grad(value, weights)
    rolled = np.eye(run.trace.n_tokens)
    for w, g in zip(weights, slopes, strict=True):
        step = (w * g).clamp_min(0)[0].mean(dim=0).detach().double().numpy()
        rolled = rolled + step @ rolled
    expected = rolled[TARGET.position] - np.eye(run.trace.n_tokens)[TARGET.position]
    found = run.why.contributions(TARGET, "attention_gradient").values
    assert_close(found, expected, **tiny_models.BOTH_WAYS)


def test_the_proxy_is_the_slope_by_the_heads_weights(run: Any) -> None:
    value, _, weights = plain(run)
    slopes = torch.autograd.grad(value, weights)
    products = [(w * g)[0].detach().numpy() for w, g in zip(weights, slopes, strict=True)]
    expected = [np.abs(product.sum(axis=(1, 2))) for product in products]
    summed = [np.abs(product).sum(axis=(1, 2)) for product in products]
    found = run.why.head_effects(TARGET).proxy
    assert_close(found, expected, **tiny_models.BOTH_WAYS, size=summed)
