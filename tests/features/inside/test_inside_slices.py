"""Slices of the inside of layers: the model's own tensors, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import transformers as tf

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.features.inside.hidden import residual_bars, sinusoidal_positions
from attn_widget.features.inside.slices import EMBEDDINGS, HEAD, LAYER, TENSORS
from tests.unit import tiny_models
from tests.unit.slice_replies import MODELS, TEXT, ask, equal, made, reply_to


@pytest.fixture(params=MODELS)
def of_model(request: pytest.FixtureRequest) -> Analysis:
    return made(request.param)


Passes = Callable[[Analysis], list[int]]


@pytest.fixture
def passes_of() -> Iterator[Passes]:
    """Counts forward passes from now on: a list that gets the batch size of each."""
    with ExitStack() as stack:

        def count(analysis: Analysis) -> list[int]:
            assert analysis.run is not None
            passes: list[int] = []

            def note(_module: Any, args: Any, kwargs: Any) -> None:
                passes.append(len(args[0] if args else kwargs["input_ids"]))

            base = analysis.run.encoder.model.base_model
            stack.callback(base.register_forward_pre_hook(note, with_kwargs=True).remove)
            return passes

        yield count


def test_every_tensor_is_the_one_of_the_analysis_or_is_refused_with_the_reason_that_architecture_gives(
    of_model: Analysis,
) -> None:
    data, _ = ask(of_model, kind="architecture")
    assert data["tensors"].keys() == set(TENSORS)
    for name in TENSORS:
        reply, arrays = reply_to(of_model, kind="tensor", name=name, layer=1, head=2)
        why = data["tensors"][name]
        assert reply["ok"] is (why is None)
        if why is not None:
            assert reply["error"] == why
            continue
        expected = tensor_of(of_model, name)
        equal(arrays["tensor"], expected)
        assert reply["data"]["shape"] == list(expected.shape)
        part, cut = ask(
            of_model, kind="tensor", name=name, layer=1, head=2, rows=[1, 3], cols=[0, 2]
        )
        equal(cut["tensor"], expected[1:3, 0:2])
        assert part["shape"] == list(expected.shape)


def tensor_of(analysis: Analysis, name: str) -> Any:
    if name in EMBEDDINGS:
        return getattr(analysis.model.embeddings, name)
    if name in LAYER:
        return getattr(analysis.model.layer(1), name)
    if name in HEAD:
        ask_for = {
            "query": analysis.model.queries,
            "key": analysis.model.keys,
            "value": analysis.model.values,
        }
        return {**ask_for, "head_output": analysis.trace.head_output}[name](1, 2)
    if name == "hidden":
        return analysis.model.hidden_states[1]
    table = analysis.model.positions
    return table if name == "position_table" else sinusoidal_positions(*table.shape)


def test_paths_and_residuals_are_those_of_the_analysis(of_model: Analysis) -> None:
    _, arrays = ask(of_model, kind="hidden_path")
    for name in ("norms", "cosines", "points", "explained"):
        equal(arrays[name], getattr(of_model.model.hidden_path, name))
    _, arrays = ask(of_model, kind="residuals")
    equal(arrays["attention"], of_model.model.residuals.attention)
    equal(arrays["ffn"], of_model.model.residuals.ffn)


def test_the_sizes_of_the_model_are_its_own(of_model: Analysis) -> None:
    data, _ = ask(of_model, kind="architecture")
    encoder = of_model.run.encoder
    total = sum(parameter.numel() for parameter in encoder.model.parameters())
    assert data["parameters"]["total"] == total
    part, _ = ask(of_model, kind="tensor", name="ffn_activation", layer=0, rows=[0, 1])
    assert data["sizes"] == {
        "hidden": of_model.model.hidden_states.shape[-1],
        "intermediate": part["shape"][1],
        "head_dim": of_model.model.queries(0, 0).shape[1],
        "vocabulary": of_model.model.vocab_size,
        "max_length": encoder.max_length,
    }
    assert data["pre_norm"] is (encoder.family.name == "modernbert")
    assert data["activation"].startswith("gelu")


def test_architecture_does_not_run_the_model(passes_of: Passes) -> None:
    analysis = aw.analyze(TEXT, model=tiny_models.build("bert"), tagger=None, progress=False)
    passes = passes_of(analysis)
    ask(analysis, kind="architecture")
    assert passes == []


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_residuals_take_one_pass_and_are_those_of_every_layer(
    family: str, passes_of: Passes
) -> None:
    analysis = aw.analyze(TEXT, model=tiny_models.build(family), tagger=None, progress=False)
    passes = passes_of(analysis)
    found = analysis.model.residuals
    assert passes == [1]
    for layer in range(analysis.trace.n_layers):
        attention, ffn = residual_bars(analysis.model.layer(layer))
        equal(found.attention[layer], attention)
        equal(found.ffn[layer], ffn)


def test_the_parts_of_a_few_layers_are_kept() -> None:
    analysis = aw.analyze("the cat sat", tagger=None, progress=False)
    first = analysis.model.layer(0)
    assert analysis.model.layer(0) is first
    for layer in range(analysis.trace.n_layers):
        analysis.model.layer(layer)
    assert len(analysis._cache["layers"]) < analysis.trace.n_layers
    np.testing.assert_array_equal(analysis.model.layer(0).ffn_norm, first.ffn_norm)


def test_an_unknown_family_says_why_its_inside_is_not_shown() -> None:
    model = tf.RoFormerModel(tf.RoFormerConfig(**tiny_models.SMALL)).eval()
    pair = (model, tiny_models.tokenizer("wordpiece"))
    analysis = aw.analyze("the cat sat", model=pair, tagger=None, progress=False)
    for request in ({"kind": "architecture"}, {"kind": "residuals"},
                    {"kind": "tensor", "name": "token"},
                    {"kind": "tensor", "name": "ffn_norm", "layer": 0}):  # fmt: skip
        reply, _ = reply_to(analysis, **request)
        assert "roformer keeps its layers is not known" in reply["error"]
    equal(ask(analysis, kind="hidden_path")[1]["norms"], analysis.model.hidden_path.norms)


@pytest.mark.parametrize("kind", ["hidden_path", "residuals", "architecture"])
def test_tensors_from_outside_have_none_of_it_and_say_what_to_do(kind: str) -> None:
    reply, _ = reply_to(made("tensors"), kind=kind)
    assert reply["ok"] is False
    assert reply["hint"] == "Use analyze(text, model=...)."


def test_the_hidden_states_begin_with_the_embeddings_and_end_with_the_last_layer() -> None:
    analysis = made("embedded")
    for layer in (0, analysis.trace.n_layers):
        ask(analysis, kind="tensor", name="hidden", layer=layer)
    for layer in (-1, analysis.trace.n_layers + 1):
        reply, _ = reply_to(analysis, kind="tensor", name="hidden", layer=layer)
        assert "out of range" in reply["error"], layer
