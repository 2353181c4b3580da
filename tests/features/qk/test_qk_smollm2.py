"""Induction in SmolLM2-135M: one call names the heads that wrote the token before into the place that is looked at."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.trace.hooks import hooked
from tests.unit.needs import needs_smollm2

TEXT = "The cat sat near a big red barn. Later on, the cat sat near"
LAYER, HEAD, QUERY, KEY = 18, 6, 15, 4  # near -> a, the token after the first near
WRITERS = ((16, 0), (17, 8))


@cache
def analysis() -> Any:
    return aw.analyze(TEXT, model="smollm2", tagger=None, progress=False)


@needs_smollm2
def test_the_heads_of_induction_are_named_first() -> None:
    a = analysis()
    assert a.tokens[QUERY].surface.strip() == a.tokens[KEY - 1].surface.strip() == "near"
    for against in ("others", "rivals"):
        found = a.qk_attribution(LAYER, HEAD, QUERY, KEY, against=against)
        assert found.by == "parts"
        size = float(np.abs(found.matrix).sum())
        assert abs(found.gap) <= max(1e-5 * max(1, abs(found.contrast)), 1e-6 * size)
        order = np.argsort(-found.key_sums)[:2]
        parts = [found.key_parts[i] for i in order]
        assert tuple((part.layer, part.head) for part in parts) == WRITERS
        assert [part.source for part in parts] == [KEY - 1, KEY - 1]
        assert found.key_sums[order[0]] > 9 and found.key_sums[order[1]] > 4


@needs_smollm2
def test_the_trace_goes_to_them() -> None:
    tree = analysis().qk_attribution(LAYER, HEAD, QUERY, KEY).trace()
    followed = [edge for edge in tree.children if edge.side == "key"]
    assert tuple((edge.node.layer, edge.node.head) for edge in followed) == WRITERS
    for edge in followed:
        assert (edge.node.query, edge.node.key) == (KEY, KEY - 1)


@needs_smollm2
def test_without_both_of_them_the_head_looks_elsewhere() -> None:
    """By hooks on the model itself: `A v` of both is 0 at the key alone."""
    a = analysis()
    encoder, width = a.run.encoder, a.run.encoder.head_dim
    network = encoder.network
    layers = network.model.layers
    heads = dict(WRITERS)

    def off(module: Any, args: Any, kwargs: Any) -> Any:
        layer = next(at for at in heads if layers[at].self_attn.o_proj is module)
        given = args[0].clone()
        given[0, KEY, heads[layer] * width : (heads[layer] + 1) * width] = 0
        return (given, *args[1:]), kwargs

    modules = [layers[layer].self_attn.o_proj for layer in heads]
    network.set_attn_implementation("eager")
    with torch.no_grad(), hooked(modules, before=off):
        weights = network(**a.run.encoding.inputs, output_attentions=True).attentions[LAYER]
    before = a.trace.weights(LAYER, HEAD)[QUERY, KEY]
    assert before > 0.6 and float(weights[0, HEAD, QUERY, KEY]) < before / 3


@needs_smollm2
def test_by_tokens_it_closes_too() -> None:
    found = analysis().qk_attribution(LAYER, HEAD, QUERY, KEY, by="tokens")
    assert found.matrix.shape == (16, 16)
    assert found.gap == pytest.approx(0, abs=1e-5 * max(1, abs(found.contrast)))
