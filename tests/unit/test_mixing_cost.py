"""What mixing takes: the arrays of the trace, no second pass, no hook, and no vector for each pair of tokens."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.figures import mixing as figures
from attn_widget.model.families import layer_modules
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat sat, and naïve Dr. Smith's dog ran."
HOOKS = ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook")


@pytest.mark.parametrize("family", tuple(tiny_models.FAMILIES))
def test_norms_mixing_and_alti_need_no_hook_and_no_second_pass(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = aw.analyze(TEXT, model=tiny_models.build(family), tagger=None, progress=False)
    assert a.run is not None
    encoder = a.run.encoder

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        raise AssertionError(f"{type(self).__name__} was hooked or ran again")

    for hook in HOOKS:
        monkeypatch.setattr(torch.nn.Module, hook, refuse)
    layers = layer_modules(encoder.family, encoder.network) or []
    for module in {encoder.network, encoder.network.base_model, *layers}:
        monkeypatch.setattr(module, "forward", refuse.__get__(module))
    for layer in range(a.trace.n_layers):
        for kind in ("norms", "mixing", "alti"):
            assert np.isfinite(a.mixing.matrix(kind, layer)).all()
        assert np.isfinite(a.mixing.matrix("norms", layer, 1)).all()
        assert np.isfinite(a.mixing.ratio(layer)).all()
        parts = a.mixing.decompose_output(layer, 2)
        total = parts.vectors.sum(axis=0) + parts.bias + parts.shift
        size = np.abs(parts.vectors).sum(axis=0) + np.abs(parts.bias) + np.abs(parts.shift)
        assert_close(total, parts.output, terms=32, steps=4, size=size)


def block(n: int, d: int, heads: int = 4) -> figures.AttentionBlock:
    """A layer of random numbers."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32)

    weights = np.exp(draw(heads, n, n))
    weights /= weights.sum(axis=-1, keepdims=True)
    return figures.AttentionBlock(
        weights=weights,
        values=draw(heads, n, 16),
        projection=draw(heads, 16, d),
        bias=draw(d),
        residual=draw(n, d),
        gain=np.ones(d, np.float32),
        shift=np.zeros(d, np.float32),
        epsilon=1e-12,
    )


@pytest.mark.parametrize(
    "compute",
    [
        lambda b: figures.layer_norms(b.weights, b.values, b.projection),
        figures.mixing,
        figures.alti,
        figures.mixing_ratio,
        lambda b: figures.decompose(b, 3),
    ],
    ids=["norms", "mixing", "alti", "ratio", "decompose"],
)
def test_a_vector_for_each_pair_of_tokens_is_never_in_memory(
    compute: Callable[[figures.AttentionBlock], Any],
) -> None:
    n, d = 384, 512
    given = block(n, d)
    tracemalloc.start()
    try:
        compute(given)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    pairs = 4 * n * n * d  # 300 MB
    assert most < pairs / 4


def test_a_family_whose_layers_are_not_known_says_so() -> None:
    config = tf.RoFormerConfig(**tiny_models.SMALL)
    model = tf.RoFormerForMaskedLM(config).eval()
    a = aw.analyze(TEXT, model=(model, tiny_models.tokenizer("wordpiece")), tagger=None, progress=False)  # fmt: skip
    target = aw.target(position=3, token=17)
    asked: list[Callable[[], Any]] = [
        *(
            lambda k=kind: a.mixing.matrix(k, 0)
            for kind in ("norms", "mixing", "alti", "value_zeroing")
        ),
        lambda: a.mixing.ratio(0),
        lambda: a.mixing.decompose_output(0, 1),
        lambda: a.why.contributions(target),
        lambda: a.why.contributions(target, "alti"),
        lambda: a.why.head_effects(target),
        lambda: a.ablate([(0, 0)]),
    ]
    for ask in asked:
        with pytest.raises(NotAvailableError, match="roformer"):
            ask()
    assert a.why.contributions(target, "weights").values.shape == (a.trace.n_tokens,)
    assert a.why.contributions(target, "occlusion").values.shape == (a.trace.n_tokens,)
    assert "alti" not in a.why.agreement(target, ["weights", "occlusion"]).methods
