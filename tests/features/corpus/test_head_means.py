"""Heads replaced by their mean over many texts: equal to plain runs with that mean in the output's bias."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotFiniteError
from attn_widget.features import tasks
from attn_widget.model.encoder import HeadMeans
from tests.close import assert_adds_up, assert_close
from tests.features.why.test_head_effects import analysis, unshared
from tests.unit import tiny_models

TEXTS = ["The cat sat on the mat.", "Dogs ran.", "Dr. Smith's naïve dog sat, and the cat ran."]
HEADS = [(0, 1), (1, 3)]


@pytest.fixture(scope="module", params=tuple(tiny_models.FAMILIES))
def run(request: pytest.FixtureRequest) -> Any:
    return analysis(request.param)


def means_of(a: Any) -> HeadMeans:
    encoder = a.run.encoder
    return aw.corpus.head_means(TEXTS, model=(encoder.model, encoder.tokenizer), progress=False)


def test_means_are_those_of_every_position_of_every_text(run: Any) -> None:
    if not run.trace.has_qkv:
        pytest.skip("the outputs of its heads are not kept in a trace")
    encoder = run.run.encoder
    traces = [
        aw.analyze(
            text, model=(encoder.model, encoder.tokenizer), tagger=None, progress=False
        ).trace
        for text in TEXTS
    ]
    means = means_of(run)
    for layer, head in [*HEADS, (1, 0)]:
        every = np.concatenate([trace.head_output(layer, head) for trace in traces])
        assert_close(
            means.values[layer, head], every.mean(axis=0), terms=len(every), steps=4, size=every
        )
    assert (means.texts, means.tokens) == (3, sum(trace.n_tokens for trace in traces))


def test_a_mean_in_place_of_a_head_is_a_bias_of_its_layer(run: Any) -> None:
    means = means_of(run)
    off = run.ablate(HEADS, means)
    encoder, dim = run.run.encoder, run.trace.head_dim
    model, layers = unshared(encoder)
    with torch.no_grad():
        for layer, head in HEADS:
            output = layers[layer].get_submodule(encoder.family.block.attention_output)
            columns = output.weight[:, head * dim : (head + 1) * dim]
            added = columns @ means.tensor[layer, head]
            if output.bias is None:
                output.bias = torch.nn.Parameter(added.clone())
            else:
                output.bias += added
            columns.zero_()
        inputs = {name: tensor.clone() for name, tensor in run.run.encoding.inputs.items()}
        expected = model(**inputs).logits[0].numpy()
    assert_close(off.trace.logits, expected, **tiny_models.RUN)
    assert off.ablate(HEADS, means) is off and off.ablate(HEADS) is not off
    assert off.ablate([]) is run
    target = aw.target(position=3, token=17, masked=True)
    assert_adds_up(off.contributions(target), **tiny_models.BOTH_WAYS)
    if run.trace.has_qkv:
        parts = off.model.layer(1)
        y = parts.attention_sum if encoder.family.block.pre_norm else parts.attention_norm
        whole = off.mixing.decompose_output(1, 4)
        assert_close(whole.output, y[4], **tiny_models.SUMS)
        total = whole.vectors.sum(axis=0) + whole.bias + whole.shift
        assert_close(total, y[4], **tiny_models.RUN, size=np.abs(whole.vectors).sum(axis=0))
    effects = run.why.head_effects(target, means)
    again = run.ablate([(1, 3)], means).contributions(target).value
    assert_close(
        effects.effects[1, 3], effects.value - again, **tiny_models.RUN, size=off.trace.logits
    )


def test_the_mean_over_texts_is_neither_zero_nor_the_mean_of_this_text() -> None:
    a = analysis("bert")
    means = means_of(a)
    target = aw.target(position=3, token=17, masked=True)
    found = [a.why.head_effects(target, how).effects for how in ("zero", "mean", means)]
    assert np.abs(found[2] - found[0]).max() > 1e-5 < np.abs(found[2] - found[1]).max()
    assert a.why.head_effects(target, means).ablation is means


def test_what_means_cannot_be_taken_of_is_said() -> None:
    a = analysis("bert")
    with pytest.raises(InputError, match="texts is empty"):
        aw.corpus.head_means([])
    with pytest.raises(InputTypeError, match="text 1"):
        aw.corpus.head_means(["cats", 3], progress=False)  # pyright: ignore[reportArgumentType]
    other = aw.corpus.head_means(["The cat sat."], progress=False)
    with pytest.raises(InputError, match=r"\[6, 12, 32\], and .* has \[3, 4, "):
        a.ablate(HEADS, other)
    with pytest.raises(InputError, match="of this model gives them"):
        a.why.head_effects(aw.target(position=3, token=17), other)


def test_means_of_another_model_of_this_shape_are_refused() -> None:
    a: Any
    a, b = (
        aw.analyze(
            TEXTS[0], model=tiny_models.build("bert", seed=seed), tagger=None, progress=False
        )
        for seed in (0, 1)
    )
    target = aw.target(position=3, token=17, masked=True)
    for call in (
        lambda: a.ablate(HEADS, means_of(b)),
        lambda: a.why.head_effects(target, means_of(b)),
        lambda: a.run.encoder.without(HEADS, means_of(b)),
    ):
        with pytest.raises(
            InputError, match=r"means of BertForMaskedLM, and .* another model or has other weights"
        ):
            call()
    own = HeadMeans(means_of(b).values, 1, 1)  # the caller's own values
    assert a.ablate(HEADS, own).model.heads_off == tuple(HEADS)


def test_means_of_a_model_that_was_trained_since_are_refused() -> None:
    model, tokenizer = tiny_models.build("bert", seed=2)
    a = aw.analyze(TEXTS[0], model=(model, tokenizer), tagger=None, progress=False)
    means = means_of(a)
    assert a.ablate(HEADS, means).model.heads_off == tuple(HEADS)
    with torch.no_grad():
        model.bert.encoder.layer[0].output.dense.weight[5] *= 2
    with pytest.raises(InputError, match="other weights now"):
        a.ablate([(0, 2)], means)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_means_that_are_no_numbers_are_refused(bad: float) -> None:
    a = analysis("bert")
    means = means_of(a)
    values = means.values.copy()
    values[2, 3, 1] = bad
    with pytest.raises(InputError, match="not finite"):
        a.ablate(HEADS, HeadMeans(values, 1, 1))
    model, tokenizer = tiny_models.build("bert", seed=3)
    with torch.no_grad():
        model.bert.encoder.layer[1].attention.self.value.bias[9] = bad
    with pytest.raises(NotFiniteError, match=r"layer\.1\.attention\.self\.value\.bias"):
        aw.corpus.head_means(TEXTS, model=(model, tokenizer), progress=False)


@pytest.mark.parametrize(
    "broken",
    ["1.attention.self.query.weight", "1.attention.self.key.bias", "1.output.dense.weight"],
)
@pytest.mark.parametrize("work", ["head_means", "index", "probabilities"])
def test_a_model_with_nan_in_any_layer_is_refused(broken: str, work: str, tmp_path: Any) -> None:
    head = "ForSequenceClassification" if work == "probabilities" else "ForMaskedLM"
    model, tokenizer = tiny_models.build("bert", head)
    with torch.no_grad():
        (weight,) = (held for name, held in model.named_parameters() if name.endswith(broken))
        weight.view(-1)[0] = torch.nan
    if work == "index":
        pytest.importorskip("lancedb")
    options: dict[str, Any] = {"model": (model, tokenizer), "progress": False}
    works: dict[str, Any] = {
        "head_means": lambda: aw.corpus.head_means(TEXTS, **options),
        # Layer 0 is sound, and the query and the key hide NaN from a fused attention.
        "index": lambda: aw.corpus.index(TEXTS, tmp_path / "i", layer=0, tagger=None, **options),
        "probabilities": lambda: tasks.FittedClassifier(model, tokenizer).probabilities(TEXTS),
    }
    if work == "probabilities" and "output" not in broken:
        with torch.no_grad():
            model.classifier.weight[0, 0] = torch.nan
    with pytest.raises(NotFiniteError, match=r"weight|finite"):
        works[work]()
