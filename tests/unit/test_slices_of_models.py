"""Slices that run the model again: the inside of layers, predictions, classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import transformers as tf

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.figures.hidden import residual_bars, sinusoidal_positions
from attn_widget.protocol.slices.inside import EMBEDDINGS, HEAD, LAYER, TENSORS
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.slice_replies import MODELS, TEXT, ask, equal, made, reply_to


@pytest.fixture(params=[*MODELS, "tensors"])
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return made(request.param)


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
        ask_for = {"query": analysis.queries, "key": analysis.keys, "value": analysis.values}
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


@pytest.mark.parametrize(
    "kind", ["hidden_path", "residuals", "architecture", "predictions", "next_sentence"]
)
def test_what_needs_the_model_is_refused_for_tensors_with_what_to_do(kind: str) -> None:
    reply, _ = reply_to(made("tensors"), kind=kind)
    assert reply["ok"] is False
    assert reply["hint"] == "Use analyze(text, model=...)."


def test_the_sizes_of_the_model_are_its_own(of_model: Analysis) -> None:
    data, _ = ask(of_model, kind="architecture")
    encoder = of_model.run.encoder
    total = sum(parameter.numel() for parameter in encoder.model.parameters())
    assert data["parameters"]["total"] == total
    part, _ = ask(of_model, kind="tensor", name="ffn_activation", layer=0, rows=[0, 1])
    assert data["sizes"] == {
        "hidden": of_model.model.hidden_states.shape[-1],
        "intermediate": part["shape"][1],
        "head_dim": of_model.queries(0, 0).shape[1],
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
    assert len(analysis._layers) < analysis.trace.n_layers
    np.testing.assert_array_equal(analysis.model.layer(0).ffn_norm, first.ffn_norm)


def test_masked_predictions_by_rows_are_those_of_all_at_once_and_are_not_computed_again(
    monkeypatch: pytest.MonkeyPatch, passes_of: Passes
) -> None:
    monkeypatch.setattr("attn_widget.trace.run.MASKED_TOKENS_AT_ONCE", 60)
    whole = aw.analyze(TEXT, progress=False).predictions(top_k=5, mode="masked")
    analysis = aw.analyze(TEXT, progress=False)
    n = analysis.trace.n_tokens
    passes = passes_of(analysis)
    parts: dict[str, list[np.ndarray]] = {}
    for start in range(0, n, 5):
        rows = [start, min(start + 5, n)]
        data, arrays = ask(analysis, kind="predictions", mode="masked", rows=rows)
        assert len(arrays["prediction_ids"]) == rows[1] - rows[0]
        assert {str(i) for i in arrays["prediction_ids"].ravel()} == data["vocabulary"].keys()
        for name, array in arrays.items():
            parts.setdefault(name, []).append(array)
    assert sum(passes) == n
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    _, arrays = ask(analysis, kind="predictions", mode="masked")
    assert sum(passes) == n
    for name, array in arrays.items():
        equal(joined[name], array)
    equal(arrays["prediction_ids"], whole.ids)
    for found, wanted in (("prediction_logits", whole.logits), ("log_sum_exp", whole.log_sum_exp)):
        assert_close(arrays[found], wanted, **tiny_models.EMBEDDED, size=whole.logits)
    equal(arrays["original_rank"], whole.original_rank)
    _, fewer = ask(analysis, kind="predictions", mode="masked", top_k=2)
    _, more = ask(analysis, kind="predictions", mode="masked", top_k=20)
    assert sum(passes) == n
    equal(fewer["prediction_ids"], more["prediction_ids"][:, :2])


def test_masked_predictions_can_be_canceled_and_go_on_where_they_were(
    monkeypatch: pytest.MonkeyPatch, passes_of: Passes
) -> None:
    monkeypatch.setattr("attn_widget.trace.run.MASKED_TOKENS_AT_ONCE", 60)
    analysis = aw.analyze(TEXT, progress=False)
    passes = passes_of(analysis)

    def stop(done: int, n: int) -> None:
        assert n == analysis.trace.n_tokens
        if done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        analysis.predictions(mode="masked", progress=stop)
    assert 0 < sum(passes) < analysis.trace.n_tokens
    analysis.predictions(mode="masked")
    assert sum(passes) == analysis.trace.n_tokens


def test_predictions_as_is_come_by_rows_too(of_model: Analysis) -> None:
    _, arrays = ask(of_model, kind="predictions", rows=[2, 4], top_k=3)
    whole = of_model.predictions(top_k=3)
    equal(arrays["prediction_ids"], whole.ids[2:4])
    assert_close(
        arrays["original_probability"], whole.original_probability[2:4], terms=32
    )  # a batch of another size


@pytest.mark.parametrize(
    ("head", "task", "columns"),
    [
        ("ForSequenceClassification", "sequence", 3),
        ("ForTokenClassification", "token", 3),
        ("ForQuestionAnswering", "question_answering", 2),
    ],
)
def test_classes_come_with_their_softmax_opened_up(head: str, task: str, columns: int) -> None:
    model, tokenizer = tiny_models.build("distilbert", head, num_labels=columns)
    analysis = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    data, arrays = ask(analysis, kind="classification")
    assert data["task"] == task
    assert len(data["labels"]) == columns
    axis = 0 if task == "question_answering" else 1
    rows = 1 if task == "sequence" else analysis.trace.n_tokens
    assert arrays["logits"].shape == arrays["exp"].shape == (rows, columns)
    equal(arrays["logits"], np.asarray(analysis.trace.classifier_logits).reshape(rows, columns))
    assert_close(arrays["exp"].sum(axis=axis), arrays["sum"], terms=arrays["exp"].shape[axis])
    assert_close(
        arrays["exp"] / np.expand_dims(arrays["sum"], axis),
        arrays["probabilities"],
        terms=arrays["exp"].shape[axis],
    )
    reply, _ = reply_to(analysis, kind="predictions")
    assert "no language-model head" in reply["error"]


def test_a_model_without_a_classifier_or_next_sentence_head_says_so(analysis: Analysis) -> None:
    for kind in ("classification", "next_sentence"):
        reply, _ = reply_to(analysis, kind=kind)
        assert reply["ok"] is False and reply["error"]


def test_the_next_sentence_is_opened_up() -> None:
    model = tiny_models.build("bert", "ForPreTraining")
    analysis = aw.analyze("It rains.", "Take a coat.", model=model, tagger=None, progress=False)
    data, arrays = ask(analysis, kind="next_sentence")
    assert data["labels"] == ["is next", "is not next"]
    assert_close(arrays["probabilities"].sum(), 1, terms=2)
    equal(arrays["logits"][0], analysis.trace.nsp_logits)


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
