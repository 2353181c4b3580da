"""Targets and contributions: what closes closes, and each method is what its formula says."""

from __future__ import annotations

import copy
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, NotFiniteError
from attn_widget.features.why.contributions import Contributions
from attn_widget.features.why.methods import METHODS, SIGNED
from tests.close import assert_adds_up, assert_close
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and naïve Dr. Smith's dog ran."
UNSIGNED = tuple(method for method in METHODS if method not in SIGNED)


def analysis(
    family: str, head: str = "ForMaskedLM", pair: str | None = None, **changes: Any
) -> Any:
    model = tiny_models.build(family, head, **changes)
    return aw.analyze(TEXT, pair, model=model, tagger=None, progress=False)


@pytest.fixture(scope="module", params=tuple(tiny_models.FAMILIES))
def run(request: pytest.FixtureRequest) -> Any:
    return analysis(request.param)


def logit(a: Any, position: int, token: int, masked: list[int]) -> float:
    """A logit of a plain run of `transformers`, some tokens masked."""
    inputs = {name: tensor.clone() for name, tensor in a.run.encoding.inputs.items()}
    inputs["input_ids"][0, masked] = a.run.encoder.mask_token_id
    with torch.no_grad():
        found = a.run.encoder.model(**inputs)
    return float(found.logits[0, position, token])


# Decomposition


@pytest.mark.parametrize("masked", [False, True])
def test_a_decomposition_closes(run: Any, masked: bool) -> None:
    s = logit(run, 3, 17, [3] if masked else [])
    c = run.why.contributions(aw.target(position=3, token=17, masked=masked))
    assert_close(c.value, s, **tiny_models.SUMS, size=run.trace.logits)
    assert_adds_up(c, **tiny_models.BOTH_WAYS)
    assert c.signed and c.values.dtype == np.float32


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "albert", "electra", "modernbert", "deberta", "mpnet"])  # fmt: skip
def test_a_decomposition_of_a_class_closes(family: str) -> None:
    a = analysis(family, "ForSequenceClassification", num_labels=3)
    c = a.why.contributions(aw.target(label=2, against="LABEL_0"))
    logits = a.model.classification.logits
    assert_close(c.value, logits[2] - logits[0], **tiny_models.SUMS, size=logits)
    assert_adds_up(c, **tiny_models.BOTH_WAYS)


def test_a_decomposition_of_a_tokens_class_closes() -> None:
    a = analysis("bert", "ForTokenClassification", num_labels=3)
    c = a.why.contributions(aw.target(label=1, position=4))
    assert_close(
        c.value,
        a.model.classification.logits[4, 1],
        **tiny_models.SUMS,
        size=a.model.classification.logits,
    )
    assert_adds_up(c, **tiny_models.BOTH_WAYS)


def test_a_decomposition_of_the_next_sentence_closes() -> None:
    a = analysis("bert", "ForPreTraining", pair="It rained.")
    c = a.why.contributions(aw.target(next_sentence=True))
    assert_close(
        c.value,
        a.model.next_sentence.logits[0],
        **tiny_models.SUMS,
        size=a.model.next_sentence.logits,
    )
    assert_adds_up(c, **tiny_models.BOTH_WAYS)


def test_the_decomposition_of_the_embedded_model_closes() -> None:
    for text in ("Cats purr.", "the cat sat on the mat " * 19):
        a = aw.analyze(text, tagger=None, progress=False)
        c = a.why.contributions(aw.target(position=1, token="dogs", masked=True))
        assert_adds_up(c, **tiny_models.EMBEDDED_BOTH_WAYS)


class DecompX:
    """Vectors [sources + 1, n, d] propagated forward; the last source is the bias."""

    def __init__(self, vectors: Any) -> None:
        n, d = vectors.shape
        self.parts = torch.zeros(n + 1, n, d, dtype=torch.float64)
        self.parts[range(n), range(n)] = vectors

    @property
    def total(self) -> Any:
        return self.parts.sum(dim=0)

    def linear(self, module: Any, rows: slice = slice(None)) -> DecompX:
        made = copy.copy(self)
        made.parts = self.parts @ module.weight[rows].double().T
        if module.bias is not None:
            made.parts[-1] += module.bias[rows].double()
        return made

    def norm(self, module: Any) -> DecompX:
        if isinstance(module, torch.nn.Identity):
            return self
        s = (self.total.var(dim=-1, unbiased=False, keepdim=True) + module.eps).sqrt()
        made = copy.copy(self)
        made.parts = (
            (self.parts - self.parts.mean(dim=-1, keepdim=True)) / s * module.weight.double()
        )
        if module.bias is not None:
            made.parts[-1] += module.bias.double()
        return made

    def scaled(self, ratio: Any) -> DecompX:
        made = copy.copy(self)
        made.parts = self.parts * ratio
        return made

    def activated(self, act: Any) -> DecompX:
        return self.scaled(act(self.total) / self.total)

    def attended(self, weights: Any) -> DecompX:
        """``weights`` [H, n, n] over values [.., n, H * head_dim]."""
        heads = weights.shape[0]
        values = self.parts.view(*self.parts.shape[:2], heads, -1)
        made = copy.copy(self)
        made.parts = torch.einsum("hij,sjhd->sihd", weights, values).flatten(2)
        return made

    def plus(self, other: DecompX) -> DecompX:
        made = copy.copy(self)
        made.parts = self.parts + other.parts
        return made


def weights_of(a: Any, layer: int) -> Any:
    return torch.from_numpy(
        np.stack([a.attention(layer, h) for h in range(a.trace.n_heads)])
    ).double()


def bert_states(a: Any) -> DecompX:
    x = DecompX(torch.from_numpy(a.model.hidden_states[0].copy()).double())
    for i, layer in enumerate(a.run.encoder.model.base_model.encoder.layer):
        attended = x.linear(layer.attention.self.value).attended(weights_of(a, i))
        output = layer.attention.output
        x = attended.linear(output.dense).plus(x).norm(output.LayerNorm)
        inner = x.linear(layer.intermediate.dense).activated(functional.gelu)
        x = inner.linear(layer.output.dense).plus(x).norm(layer.output.LayerNorm)
    return x


def modernbert_states(a: Any) -> DecompX:
    base = a.run.encoder.model.base_model
    x = DecompX(torch.from_numpy(a.model.hidden_states[0].copy()).double())
    width = x.parts.shape[-1]
    for i, layer in enumerate(base.layers):
        values = x.norm(layer.attn_norm).linear(layer.attn.Wqkv, slice(2 * width, None))
        x = values.attended(weights_of(a, i)).linear(layer.attn.Wo).plus(x)
        wide = x.norm(layer.mlp_norm)
        half = layer.mlp.Wi.weight.shape[0] // 2
        gate = functional.gelu(wide.linear(layer.mlp.Wi, slice(None, half)).total)
        x = wide.linear(layer.mlp.Wi, slice(half, None)).scaled(gate).linear(layer.mlp.Wo).plus(x)
    return x.norm(base.final_norm)


def same_as(c: Any, parts: Any) -> None:
    """Contributions and bias against vectors [sources + 1] of the target."""
    parts = parts.detach().numpy()
    assert_close([*c.values, c.bias], parts, **tiny_models.BOTH_WAYS)


def test_the_decomposition_is_decompx_on_bert() -> None:
    a = analysis("bert")
    head = a.run.encoder.model.cls.predictions
    x = bert_states(a).linear(head.transform.dense).activated(functional.gelu)
    logits = x.norm(head.transform.LayerNorm).linear(head.decoder)
    same_as(a.why.contributions(aw.target(position=3, token=17)), logits.parts[:, 3, 17])
    difference = logits.parts[:, 3, 17] - logits.parts[:, 3, 40]
    same_as(a.why.contributions(aw.target(position=3, token=17, against=40)), difference)


def test_the_decomposition_is_decompx_on_a_bert_classifier() -> None:
    a = analysis("bert", "ForSequenceClassification", num_labels=2)
    model = a.run.encoder.model
    pooled = bert_states(a).linear(model.bert.pooler.dense).activated(torch.tanh)
    same_as(a.why.contributions(aw.target(label=1)), pooled.linear(model.classifier).parts[:, 0, 1])


def test_the_decomposition_is_decompx_on_modernbert() -> None:
    a = analysis("modernbert")
    model = a.run.encoder.model
    x = modernbert_states(a).linear(model.head.dense).activated(functional.gelu)
    logits = x.norm(model.head.norm).linear(model.decoder)
    same_as(a.why.contributions(aw.target(position=3, token=17)), logits.parts[:, 3, 17])


# The other methods


def test_gradient_x_input_is_the_slope_of_scaling_a_vector(run: Any) -> None:
    target = aw.target(position=3, token=17)
    c = run.why.contributions(target, "gradient_x_input")
    first = run.model.hidden_states[0]
    step = 1e-2
    values = []
    from attn_widget.features.why.bound_target import bind
    from attn_widget.features.why.passes import entering
    from attn_widget.trace.forward import inference_mode

    for scale in (1 + step, 1 - step):
        vectors = first.copy()
        vectors[2] *= scale
        with inference_mode(run.run.encoder), entering(run.run, torch.from_numpy(vectors[None])):
            bound = bind(run.run, target)
            values.append(float(bound.value(run.run.encoder, run.run.encoding.inputs)[0]))
    slope = (values[0] - values[1]) / (2 * step)
    assert c.values[2] == pytest.approx(slope, rel=0.05, abs=0.01)


def test_occlusion_is_plain_runs_with_a_word_masked(run: Any) -> None:
    c = run.why.contributions(aw.target(position=3, token=17, against=40), "occlusion")
    words: dict[Any, list[int]] = {}
    for i, token in enumerate(run.language.tokens):
        if token.special:
            assert np.isnan(c.values[i])
        else:
            words.setdefault(("token", i) if token.word is None else token.word, []).append(i)
    assert any(len(positions) > 1 for positions in words.values())
    whole = logit(run, 3, 17, []) - logit(run, 3, 40, [])
    for positions in words.values():
        without = logit(run, 3, 17, positions) - logit(run, 3, 40, positions)
        assert_close(
            float(c.values[positions].sum()),
            whole - without,
            **tiny_models.SUMS,
            size=run.trace.logits,
        )


def test_attention_gradient_is_the_rolled_product(run: Any) -> None:
    from attn_widget.features.why.bound_target import bind
    from attn_widget.features.why.gradients import weights_and_slopes

    target = aw.target(position=3, token=17)
    rolled = np.eye(run.trace.n_tokens)
    pairs = weights_and_slopes(run.run, bind(run.run, target))
    for layer, (weights, slopes) in enumerate(pairs):
        scores = np.stack([run.scores(layer, head) for head in range(run.trace.n_heads)])
        half = scores / 2  # of a score's error a weight takes at most half
        assert_close(weights, run.trace.layer_weights(layer), **tiny_models.SUMS, size=half)
        step = np.mean([np.maximum(w * g, 0) for w, g in zip(weights, slopes, strict=True)], axis=0)
        rolled = rolled + step @ rolled
    c = run.why.contributions(target, "attention_gradient")
    assert_close(c.values, rolled[3] - np.eye(run.trace.n_tokens)[3], **tiny_models.SUMS)
    assert not c.signed and (c.values >= 0).all()


def test_rows_of_rollouts_are_of_the_masked_run(run: Any) -> None:
    target = aw.target(position=3, token=17, masked=True)
    masked = run.mask([3])
    for method in ("weights", "norms", "mixing", "alti", "value_zeroing"):
        rolled = masked.rollout() if method == "weights" else masked.mixing.rollout(method)
        c = run.why.contributions(target, method)
        assert_close(c.values, rolled[3], **tiny_models.SUMS)
        assert c.total is None and not c.signed
        assert c.tokens[3].text == run.run.encoder.tokenizer.mask_token


def test_integrated_gradients_add_up_to_the_difference(run: Any) -> None:
    c = run.why.contributions(aw.target(position=3, token=17, masked=True), "integrated_gradients")
    words = [i for i, token in enumerate(run.tokens) if not token.special]
    assert_close(c.baseline, logit(run, 3, 17, words), **tiny_models.SUMS, size=run.trace.logits)
    assert abs(float(c.values.sum()) - (c.value - c.baseline)) <= 0.011 * abs(c.value - c.baseline)
    if run.run.encoder.family.name != "mobilebert":  # whose vectors hold their neighbors' as well
        specials = [i for i, token in enumerate(run.tokens) if token.special]
        assert np.abs(c.values[specials]).max() <= 1e-6  # the same vectors at both ends


def test_integrated_gradients_are_an_integral() -> None:
    from attn_widget.features.why.bound_target import bind
    from attn_widget.features.why.passes import differentiable, entering

    a = analysis("bert")
    target = aw.target(position=3, token=17)
    words = [i for i, token in enumerate(a.tokens) if not token.special]
    first = torch.from_numpy(a.model.hidden_states[0].copy())
    last = torch.from_numpy(a.mask(words).model.hidden_states[0].copy())
    bound, run = bind(a.run, target), a.run
    total = torch.zeros_like(first)
    for k in range(400):
        point = last + (k + 0.5) / 400 * (first - last)
        vectors = point[None].requires_grad_()
        with differentiable(run.encoder, "sdpa"), entering(run, vectors):
            value = bound.value(run.encoder, run.encoding.inputs)[0]
            total += torch.autograd.grad(value, [vectors])[0][0] / 400
    own = (total * (first - last)).sum(dim=-1).numpy()
    c = a.why.contributions(target, "integrated_gradients")
    np.testing.assert_allclose(c.values, own, atol=0.01 * np.abs(own).max())


def test_integrated_gradients_are_those_of_captum() -> None:
    captum = pytest.importorskip("captum.attr")
    from attn_widget.features.why.gradients import along_path

    layer = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)).double()  # fmt: skip
    start, end = torch.randn(2, 1, 3, 4, dtype=torch.float64, generator=torch.manual_seed(0))
    theirs = captum.IntegratedGradients(lambda x: layer(x)[:, 0]).attribute(end, baselines=start, n_steps=20)  # fmt: skip
    ours = along_path(lambda x: layer(x)[:, 0], start, end, 20, 7)
    expected = theirs.sum(-1)[0].detach().numpy()
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_every_method_gives_one_number_for_each_token() -> None:
    a = analysis("distilbert", "ForSequenceClassification", num_labels=2)
    target = aw.target(label="LABEL_1")
    for method in METHODS:
        if method == "integrated_gradients":
            continue
        c = a.why.contributions(target, method)
        assert c.values.shape == (a.trace.n_tokens,) and c is a.why.contributions(target, method)
        assert len(c.to_dataframe()) == a.trace.n_tokens and method in repr(c)
        assert c.signed == (method in SIGNED)


def test_a_model_is_left_as_it_was() -> None:
    a = analysis("bert")
    model = a.run.encoder.model.train()
    frozen = next(model.parameters()).requires_grad_(False)
    for method in ("decomposition", "attention_gradient", "gradient_x_input"):
        a.why.contributions(aw.target(position=3, token=17), method)
    assert model.training and not frozen.requires_grad
    assert all(p.requires_grad for p in model.parameters() if p is not frozen)
    assert all(p.grad is None for p in model.parameters())
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())
    frozen.requires_grad_(True)
    model.eval()


# Targets


def test_decompositions_on_several_threads_do_not_disturb_each_other() -> None:
    """Each makes the network's biases differentiable for a while."""
    model, tokenizer = tiny_models.build("bert")
    frozen = copy.deepcopy(model).requires_grad_(False)
    a = aw.analyze(TEXT, model=(frozen, tokenizer), tagger=None, progress=False)
    targets = [aw.target(position=1 + i % 8, token=17 + i) for i in range(40)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(a.why.contributions, targets))
    finally:
        sys.setswitchinterval(before)
    for one in found:
        assert_adds_up(one, **tiny_models.BOTH_WAYS)


def test_what_is_no_target_or_method_is_refused() -> None:
    a = analysis("bert")
    with pytest.raises(InputTypeError, match="expected a Target"):
        a.why.contributions("positive")
    with pytest.raises(InputError, match="Did you mean 'occlusion'"):
        a.why.contributions(aw.target(position=3, token=17), "oclusion")
    with pytest.raises(NotAvailableError, match="this view changes them"):
        a.view(words=True).why.contributions(aw.target(position=3, token=17))


def test_numbers_that_are_not_finite_are_named() -> None:
    model, tokenizer = tiny_models.build("bert")
    model = copy.deepcopy(model)
    with torch.no_grad():
        model.cls.predictions.bias[17] = torch.nan
    a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    for masked in (False, True):
        with pytest.raises(NotFiniteError, match="gives nan"):
            a.why.contributions(aw.target(position=3, token=17, masked=masked))


def test_the_gap_of_a_value_near_0_is_in_units_of_what_is_summed() -> None:
    """Its own size would make rounding of large contributions look like an error."""
    tokens = aw.analyze("the cat", tagger=None, progress=False).tokens
    values = np.array([3, -2, 4, -5], np.float32)[: len(tokens)]
    near_0 = Contributions(
        "decomposition",
        aw.target(position=1, token="cat"),
        tokens,
        values,
        True,
        1e-6,
        bias=1e-6 + 2e-6,
    )
    assert near_0.total == pytest.approx(3e-6) and near_0.gap == pytest.approx(2e-6 / 14, rel=1e-3)
    wrong = Contributions(
        "decomposition", aw.target(position=1, token="cat"), tokens, values, True, 0.5, bias=0.0
    )
    assert wrong.gap == pytest.approx(0.5 / 14)
    nothing = Contributions(
        "decomposition", aw.target(position=1, token="cat"), tokens, 0 * values, True, 1.0, bias=0.0
    )
    assert nothing.gap == float("inf")
