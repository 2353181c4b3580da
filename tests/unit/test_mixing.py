"""Mixing quantities against plain float64 loops written from the definitions, on every family."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.checks.rounding import rounding
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.figures import mixing as figures
from attn_widget.model.families import layer_modules
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat sat, and naïve Dr. Smith's dog ran."
VALUES = {
    "distilbert": "attention.v_lin",
    "albert": "attention.value",
    "modernbert": "attn.Wqkv",
    "deberta": "attention.self.in_proj",
    "deberta-v2": "attention.self.value_proj",
    "mpnet": "attention.attn.v",
}  # the others: attention.self.value
EVERY = tuple(tiny_models.FAMILIES)


def analysis(family: str) -> Any:
    return aw.analyze(TEXT, model=tiny_models.build(family), tagger=None, progress=False)


@pytest.fixture(scope="module", params=EVERY)
def run(request: pytest.FixtureRequest) -> Any:
    return analysis(request.param)


class Definition:
    """A layer's vectors ``f[h, i, j]``, ``z[i, j]`` and ``g(z[i, j])`` in float64 loops."""

    def __init__(self, a: Any, layer: int) -> None:
        encoder = a.run.encoder
        block = encoder.family.block
        module = layer_modules(encoder.family, encoder.model)[layer]
        parts = a.model.layer(layer)
        n, heads = a.trace.n_tokens, a.trace.n_heads
        output = module.get_submodule(block.attention_output)
        matrix = output.weight.detach().double().numpy().T
        self.b = np.zeros(matrix.shape[1]) if output.bias is None else output.bias.detach().double().numpy()  # fmt: skip
        dim = matrix.shape[0] // heads
        x = parts.attention_sum.astype(np.float64) - parts.attention_output
        self.f = np.zeros((heads, n, n, matrix.shape[1]))
        for h in range(heads):
            weights, values = a.attention(layer, h), a.model.values(layer, h)
            for i in range(n):
                for j in range(n):
                    block_of_head = matrix[h * dim : (h + 1) * dim]
                    self.f[h, i, j] = np.float64(weights[i, j]) * (values[j].astype(np.float64) @ block_of_head)  # fmt: skip
        self.z = self.f.sum(axis=0)
        for i in range(n):
            self.z[i, i] += x[i]
        self.g = np.zeros_like(self.z)
        self.beta = np.zeros_like(self.b)
        norm = None if parts.pre_norm else module.get_submodule(block.attention_norm)
        sums = parts.attention_sum.astype(np.float64)
        for i in range(n):
            for j in range(n):
                self.g[i, j] = self.normed(norm, self.z[i, j], sums[i])
        self.g_b = np.array([self.normed(norm, self.b, sums[i]) for i in range(n)])
        if norm is not None:
            self.beta = norm.bias.detach().double().numpy()
        self.y = (sums if norm is None else parts.attention_norm).astype(np.float64)

    def normed(self, norm: Any, vector: Any, total: Any) -> Any:
        if norm is None:
            return vector
        gamma = norm.weight.detach().double().numpy()
        if type(norm).__name__ == "NoNorm":
            return gamma * vector
        epsilon = getattr(norm, "eps", None) or norm.variance_epsilon
        s = np.sqrt(((total - total.mean()) ** 2).mean() + epsilon)
        return gamma * (vector - vector.mean()) / s


def test_every_quantity_is_what_the_definition_gives(run: Any) -> None:
    for layer in range(run.trace.n_layers):
        d = Definition(run, layer)
        n = run.trace.n_tokens
        for h in range(run.trace.n_heads):
            norms = np.linalg.norm(d.f[h], axis=-1)
            assert_close(run.mixing.matrix("norms", layer, h), norms, terms=32, steps=4)
        norms = np.linalg.norm(d.f.sum(axis=0), axis=-1)
        assert_close(run.mixing.matrix("norms", layer), norms, terms=32, steps=4)
        mixing = np.linalg.norm(d.g, axis=-1)
        assert_close(run.mixing.matrix("mixing", layer), mixing, terms=32, steps=4)
        ratio = np.zeros(n)
        c = np.zeros((n, n))
        for i in range(n):
            context = np.linalg.norm(sum(d.g[i, j] for j in range(n) if j != i))
            ratio[i] = context / (context + np.linalg.norm(d.g[i, i]))
            for j in range(n):
                c[i, j] = max(0, np.abs(d.y[i]).sum() - np.abs(d.y[i] - d.g[i, j]).sum())
        assert_close(run.mixing.ratio(layer), ratio, terms=32, steps=4, size=1)
        total = c.sum(axis=1, keepdims=True)
        # c is the difference of two such sums
        summed = np.abs(d.y).sum(axis=1, keepdims=True) / total
        assert_close(run.mixing.matrix("alti", layer), c / total, terms=32, steps=4, size=summed)


def test_the_decomposition_of_an_output_closes(run: Any) -> None:
    for layer in range(run.trace.n_layers):
        d = Definition(run, layer)
        for i in range(run.trace.n_tokens):
            parts = run.mixing.decompose_output(layer, i)
            # Scores, softmax, values, output projection, residual and norm.
            assert_close(parts.vectors, d.g[i], terms=32, steps=6)
            assert_close(parts.bias, d.g_b[i], terms=32, steps=4)
            total = parts.vectors.sum(axis=0) + parts.bias + parts.shift
            size = np.abs(parts.vectors).sum(axis=0) + np.abs(parts.bias) + np.abs(parts.shift)
            assert_close(total, d.y[i], terms=32, steps=4, size=size)
            assert_close(parts.output, d.y[i], terms=32, steps=4)
            assert parts.gap <= rounding(size.max() / np.linalg.norm(d.y[i]), 32, 4) * 32**0.5
            assert_close(parts.norms, run.mixing.matrix("mixing", layer)[i], terms=32, steps=4)


def without(model: Any, family: str, layer: int, key: int, inputs: Any, layers: list[Any]) -> Any:
    """The layer's output when the values of ``key`` are zero: a whole run, the value map's output changed."""
    calls: list[int] = []
    found: list[Any] = []

    def zero(_module: Any, _args: Any, output: Any) -> Any:
        calls.append(1)
        if len(calls) - 1 != layer:
            return None
        output = output.clone()
        if family == "modernbert":
            output[:, key, 2 * output.shape[-1] // 3 :] = 0
        elif family == "deberta":  # a share of queries, keys and values for each head, then v_bias
            heads = model.config.num_attention_heads
            holder = layers[layer].attention.self
            shares = output.view(*output.shape[:2], heads, 3, -1)
            shares[:, key, :, 2] = -holder.v_bias.view(heads, -1)
        else:
            output[:, key] = 0
        return output

    def keep(_module: Any, _args: Any, output: Any) -> None:
        found.append(output[0] if isinstance(output, tuple) else output)

    name = VALUES.get(family, "attention.self.value")
    handles = [m.get_submodule(name).register_forward_hook(zero) for m in dict.fromkeys(layers)]
    handles += [m.register_forward_hook(keep) for m in dict.fromkeys(layers)]
    with torch.no_grad():
        model.base_model(**inputs)
    for handle in handles:
        handle.remove()
    return found[layer][0].double().numpy()


def test_value_zeroing_is_a_run_without_the_values(run: Any) -> None:
    encoder = run.run.encoder
    family = encoder.family.name
    model = copy.deepcopy(encoder.model)
    model.set_attn_implementation("eager")
    if family not in ("deberta", "deberta-v2", "modernbert"):  # which compute parts in float32
        model = model.double()
    layers = list(layer_modules(encoder.family, model))
    n = run.trace.n_tokens
    for layer in range(run.trace.n_layers):
        distances = np.zeros((n, n))
        whole = plain(model, layers, layer, run.run.encoding.inputs)
        for j in range(n):
            h = without(model, family, layer, j, run.run.encoding.inputs, layers)
            for i in range(n):
                cosine = h[i] @ whole[i] / np.linalg.norm(h[i]) / np.linalg.norm(whole[i])
                distances[i, j] = 1 - cosine
        totals = distances.sum(axis=1, keepdims=True)
        # Of cosines, divided by what is shared out.
        found = run.mixing.matrix("value_zeroing", layer)
        assert_close(found, distances / totals, **tiny_models.RUN, size=1 / totals)


def plain(model: Any, layers: list[Any], layer: int, inputs: Any) -> Any:
    found: list[Any] = []
    handles = [
        m.register_forward_hook(
            lambda _m, _a, out: found.append(out[0] if isinstance(out, tuple) else out)
        )
        for m in dict.fromkeys(layers)
    ]
    with torch.no_grad():
        model.base_model(**inputs)
    for handle in handles:
        handle.remove()
    return found[layer][0].double().numpy()


def test_rollouts_are_products_of_row_normalized_matrices() -> None:
    a = analysis("bert")
    for kind in ("norms", "mixing", "alti", "value_zeroing"):
        rolled = np.eye(a.trace.n_tokens)
        for layer in range(a.trace.n_layers):
            step = a.mixing.matrix(kind, layer).astype(np.float64)
            step /= step.sum(axis=1, keepdims=True)
            if kind == "norms":
                step = 0.5 * step + 0.5 * np.eye(a.trace.n_tokens)
            rolled = step @ rolled
            assert_close(
                a.mixing.rollout(kind, layer),
                rolled,
                terms=a.trace.n_tokens,
                steps=a.trace.n_layers,
            )
        np.testing.assert_array_equal(
            a.mixing.rollout(kind), a.mixing.rollout(kind, a.trace.n_layers - 1)
        )


def test_the_stacked_forms_are_those_of_the_layers() -> None:
    a = analysis("distilbert")
    seen: list[tuple[int, int]] = []
    stacked = a.mixing.matrices("value_zeroing", progress=lambda done, n: seen.append((done, n)))
    assert seen[-1] == (a.trace.n_layers * a.trace.n_tokens,) * 2
    np.testing.assert_array_equal(stacked[1], a.mixing.matrix("value_zeroing", 1))
    heads = a.mixing.matrices("norms", per_head=True)
    assert heads.shape == (a.trace.n_layers, a.trace.n_heads, a.trace.n_tokens, a.trace.n_tokens)
    assert heads.dtype == np.float32
    np.testing.assert_array_equal(heads[1, 2], a.mixing.matrix("norms", 1, 2))


def test_blocks_of_keys_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = analysis("bert").mixing.matrix("mixing", 1)
    whole_alti = analysis("bert").mixing.matrix("alti", 1)
    monkeypatch.setattr(figures, "BLOCK_BYTES", 1)
    monkeypatch.setattr(figures, "CACHED_BYTES", 1)
    assert_close(analysis("bert").mixing.matrix("mixing", 1), whole, terms=32)
    assert_close(analysis("bert").mixing.matrix("alti", 1), whole_alti, terms=32)


def test_heads_that_cancel_leave_their_true_norm() -> None:
    rng = np.random.default_rng(0)
    weights = np.full((2, 3, 3), 1 / 3, dtype=np.float32)
    values = np.repeat(rng.normal(size=(1, 3, 4)), 2, axis=0).astype(np.float32)
    first = rng.normal(size=(4, 8)).astype(np.float32)
    projection = np.stack([first, -first * np.float32(1 + 1e-5)])
    parts = np.einsum("hij,hjk,hkd->hijd", *(x.astype(np.float64) for x in (weights, values, projection)))  # fmt: skip
    found = figures.layer_norms(weights, values, projection).astype(np.float64)
    # Products of heads are summed in float64, and the norm is float32.
    summed = (np.linalg.norm(parts, axis=-1) ** 2).sum(axis=0).max()
    exact = np.linalg.norm(parts.sum(axis=0), axis=-1)
    off = 2.0**-52 * np.sqrt(2 * 2 * 8) * summed
    np.testing.assert_allclose(found**2, exact**2, rtol=2.0**-23, atol=off)


def test_a_model_is_left_as_it_was() -> None:
    a = analysis("bert")
    model = a.run.encoder.model
    model.train()
    before = model.config._attn_implementation
    a.mixing.matrix("value_zeroing", 0)
    assert model.training and model.config._attn_implementation == before
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())
    model.eval()


def test_what_cannot_be_asked_is_refused_in_words() -> None:
    a = analysis("bert")
    with pytest.raises(InputError, match="quantity of a layer"):
        a.mixing.matrix("alti", 0, 1)
    with pytest.raises(InputError, match="per_head"):
        a.mixing.matrices("mixing", per_head=True)
    with pytest.raises(InputError, match="Did you mean 'mixing'"):
        a.mixing.matrix("mixin", 0)
    with pytest.raises(InputTypeError, match="kind is 3"):
        a.mixing.matrix(3, 0)
    with pytest.raises(InputError, match="layer is 9"):
        a.mixing.matrix("norms", 9)
    with pytest.raises(InputError, match="query is 99"):
        a.mixing.decompose_output(0, 99)
    with pytest.raises(NotAvailableError, match="this view changes them"):
        a.view(words=True).mixing.ratio(0)
    outside = aw.from_attentions(np.full((1, 1, 2, 2), 0.5), ["a", "b"], tagger=None)
    with pytest.raises(NotAvailableError, match="no model to ask"):
        outside.mixing.matrix("norms", 0)


def test_a_view_merges_what_is_carried_as_it_merges_weights() -> None:
    a = aw.analyze("The unbelievably tatterdemalion cat sat.", tagger=None, progress=False)
    words = a.view(words=True)
    pieces = [list(range(*word.tokens)) for word in a.language.words]
    groups = [[0], *pieces, [a.trace.n_tokens - 1]]
    assert words.trace.n_tokens == len(groups) < a.trace.n_tokens
    for kind in ("norms", "mixing", "alti", "value_zeroing"):
        matrix = a.mixing.matrix(kind, 2)
        expected = [
            [np.mean([sum(matrix[i, j] for j in keys) for i in queries]) for keys in groups]
            for queries in groups
        ]
        assert_close(words.mixing.matrix(kind, 2), expected, terms=a.trace.n_tokens)
    alone = a.view(special=False, words=True)
    assert_close(alone.mixing.matrix("alti", 2).sum(axis=1), 1, terms=a.trace.n_tokens)
    whole = words.mixing.matrix("norms", 2, head=1)
    assert_close(alone.mixing.matrix("norms", 2, head=1), whole[1:-1, 1:-1], terms=1)
    assert_close(words.mixing.rollout("alti").sum(axis=1), 1, terms=a.trace.n_tokens)
    assert words.mixing.matrices("norms", per_head=True).shape == (6, 12, 8, 8)
