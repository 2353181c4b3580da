"""Heads switched off: equal to plain runs of `transformers` with the head's columns of W_O zeroed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError, NotFiniteError
from attn_widget.model.families import layer_modules
from tests.close import assert_adds_up, assert_close
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and naïve Dr. Smith's dog ran."
HEADS = [(0, 1), (1, 3), (1, 0)]


def analysis(family: str, head: str = "ForMaskedLM", **changes: Any) -> Any:
    model = tiny_models.build(family, head, **changes)
    return aw.analyze(TEXT, model=model, tagger=None, progress=False)


@pytest.fixture(scope="module", params=tuple(tiny_models.FAMILIES))
def run(request: pytest.FixtureRequest) -> Any:
    return analysis(request.param)


def unshared(encoder: Any) -> tuple[Any, list[Any]]:
    """A copy of the model whose layers are modules of their own, and the layers."""
    model = copy.deepcopy(encoder.model)
    if encoder.family.name == "albert":
        groups = model.base_model.encoder.albert_layer_groups
        model.config.num_hidden_groups = model.base_model.config.num_hidden_groups = 3
        for _ in range(2):
            groups.append(copy.deepcopy(groups[0]))
    return model, layer_modules(encoder.family, model) or []


def plain(a: Any, heads: list[tuple[int, int]], masked: list[int] | None = None) -> Any:
    """Outputs of `transformers` with the heads' columns of W_O zeroed."""
    encoder = a.run.encoder
    model, layers = unshared(encoder)
    dim = a.trace.head_dim
    with torch.no_grad():
        for layer, head in heads:
            output = layers[layer].get_submodule(encoder.family.block.attention_output)
            output.weight[:, head * dim : (head + 1) * dim] = 0
        inputs = {name: tensor.clone() for name, tensor in a.run.encoding.inputs.items()}
        inputs["input_ids"][0, masked or []] = encoder.mask_token_id
        return model(**inputs, output_hidden_states=True)


def test_heads_that_are_off_give_nothing(run: Any) -> None:
    expected = plain(run, HEADS)
    off = run.ablate(HEADS)
    assert_close(off.trace.logits, expected.logits[0].numpy(), **tiny_models.RUN)
    assert off.model.heads_off == tuple(sorted(HEADS)) and run.model.heads_off == ()
    assert_close(off.attention(0, 0), run.attention(0, 0), **tiny_models.SUMS)
    assert np.abs(off.attention(1, 0) - run.attention(1, 0)).max() > 1e-4
    assert_close(run.trace.logits, plain(run, []).logits[0].numpy(), **tiny_models.RUN)


def test_everything_that_a_changed_run_is_asked_is_of_the_changed_model(run: Any) -> None:
    off = run.ablate(HEADS)
    expected = plain(run, HEADS, masked=[3])
    best = torch.softmax(expected.logits[0, 3].double(), dim=-1).max()
    masked = off.predictions(1, "masked", rows=slice(3, 4))
    assert_close(masked.probabilities[0, 0], float(best), **tiny_models.RUN, size=expected.logits)
    assert_close(off.mask([3]).trace.logits, expected.logits[0].numpy(), **tiny_models.RUN)
    assert off.mask([3]).mask([]) is off
    c = off.why.contributions(aw.target(position=3, token=17, masked=True))
    assert_close(
        c.value, float(expected.logits[0, 3, 17]), **tiny_models.SUMS, size=expected.logits
    )
    assert_adds_up(c, **tiny_models.BOTH_WAYS)
    pre_norm = run.run.encoder.family.block.pre_norm
    for layer in range(2):
        parts = off.model.layer(layer)
        y = parts.attention_sum if pre_norm else parts.attention_norm
        assert_close(off.mixing.decompose_output(layer, 4).output, y[4], **tiny_models.SUMS)


def test_a_mean_head_gives_every_position_the_same() -> None:
    a = analysis("bert")
    off = a.ablate([(1, 2)], "mean")
    output = a.run.encoder.model.bert.encoder.layer[1].attention.output
    context = np.stack([a.trace.head_output(1, h) for h in range(a.trace.n_heads)])
    context[2] = context[2].mean(axis=0)
    flat = torch.from_numpy(context.transpose(1, 0, 2).reshape(a.trace.n_tokens, -1))
    with torch.no_grad():
        expected = output(flat[None], torch.from_numpy(a.model.hidden_states[1].copy())[None])[
            0
        ].numpy()
    assert_close(off.model.layer(1).attention_norm, expected, **tiny_models.SUMS)
    assert_close(off.mixing.decompose_output(1, 3).output, expected[3], **tiny_models.SUMS)


def test_effects_are_the_differences_of_plain_runs(run: Any) -> None:
    target = aw.target(position=3, token=17, against=40, masked=True)
    effects = run.why.head_effects(target)
    whole = plain(run, [], masked=[3]).logits[0, 3].double()
    assert effects.effects.shape == (run.trace.n_layers, run.trace.n_heads)
    for layer in range(run.trace.n_layers):
        for head in range(run.trace.n_heads):
            off = plain(run, [(layer, head)], masked=[3]).logits[0, 3].double()
            expected = float((whole[17] - whole[40]) - (off[17] - off[40]))
            assert_close(effects.effects[layer, head], expected, **tiny_models.SUMS, size=whole)
            p, q = whole.log_softmax(0), off.log_softmax(0)
            divergence = float((p.exp() * (p - q)).sum())
            assert_close(
                effects.divergence[layer, head], divergence, **tiny_models.SUMS, size=whole
            )
    assert not any("forward" in vars(module) for module in run.run.encoder.model.modules())


def test_the_proxy_is_the_slope_of_scaling_a_head() -> None:
    from attn_widget.features.why.bound_target import bind
    from attn_widget.trace.forward import inference_mode
    from attn_widget.trace.heads_off import changing_heads

    a = analysis("bert")
    target = aw.target(position=3, token=17)
    encoder, bound = a.run.encoder, bind(a.run, target)
    values = []
    for scale in (1.01, 0.99):

        def change(layer: int, given: Any, scale: float = scale) -> None:
            if layer == 1:
                given[:, :, 2] *= scale

        with inference_mode(encoder), changing_heads(encoder, change):
            values.append(float(bound.value(encoder, a.run.encoding.inputs)[0]))
    slope = abs(values[0] - values[1]) / 0.02
    assert a.why.head_effects(target).proxy[1, 2] == pytest.approx(slope, rel=0.02, abs=1e-3)


def test_effects_of_a_class_and_their_table() -> None:
    a = analysis("distilbert", "ForSequenceClassification", num_labels=2)
    seen: list[tuple[int, int]] = []
    target = aw.target(label=1)
    effects = a.why.head_effects(target, "mean", progress=lambda done, n: seen.append((done, n)))
    assert seen[-1] == (8, 8) and len(effects.to_dataframe()) == 8
    assert -1 <= effects.correlation <= 1 and "HeadEffects" in repr(effects)
    off = a.ablate([(1, 2)], "mean").model.classification.logits
    expected = a.model.classification.logits[1] - off[1]
    assert_close(effects.effects[1, 2], expected, **tiny_models.SUMS, size=off)
    assert a.why.head_effects(target, "mean") is effects


def test_ablations_replace_one_another() -> None:
    a = analysis("bert")
    off = a.ablate([(0, 1)])
    assert off.ablate([(1, 1)]).model.heads_off == ((1, 1),)
    assert off.ablate([]) is a and off.ablate([(1, 1)]).ablate([]) is a
    assert off.ablate([(0, 1)]) is off and off.ablate([(0, 1)], "mean") is not off
    assert a.ablate([]) is a
    masked = a.mask([3])
    both = masked.ablate([(0, 1)])
    assert both.model.masked == masked.model.masked and both.ablate([]) is masked
    assert both.mask([]).model.heads_off == ((0, 1),) and both.mask([]).model.masked == ()
    assert both.words == a.words


@pytest.mark.parametrize(
    ("heads", "error", "match"),
    [
        ([(0, 1), (0, 1)], InputError, "occurs twice"),
        ([(9, 0)], InputError, "layer is 9"),
        ([(0, 9)], InputError, "head is 9"),
        ([3], InputTypeError, "expected a layer and a head"),
        (3, InputTypeError, "heads"),
        ([(layer, head) for layer in range(3) for head in range(4)], InputError, "all 12 heads"),
    ],
)
def test_heads_that_make_no_sense_are_refused(heads: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        analysis("bert").ablate(heads)


def test_what_cannot_be_changed_says_why() -> None:
    a = analysis("bert")
    with pytest.raises(InputError, match="ablation is 'one'"):
        a.ablate([(0, 1)], "one")
    with pytest.raises(NotAvailableError, match="Heads are switched off"):
        a.view(words=True).ablate([(0, 1)])
    with pytest.raises(NotAvailableError, match="share their modules"):
        analysis("albert").ablate([(0, 1)]).mixing.matrix("value_zeroing", 1)


def test_a_changed_run_that_breaks_is_an_error_and_the_old_one_stands() -> None:
    model, tokenizer = tiny_models.build("bert")
    model = copy.deepcopy(model)
    a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    before = a.attention(2, 0).copy()
    # Where `weights_state` does not look: otherwise the change of weights would be the error.
    model.bert.encoder.layer[1].output.dense.weight.data[0, 1] = torch.nan
    with pytest.raises(NotFiniteError):
        a.ablate([(0, 1)])
    np.testing.assert_array_equal(a.attention(2, 0), before)
