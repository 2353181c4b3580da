"""Slices that run the model again: predictions, classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis import Analysis
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


@pytest.mark.parametrize("kind", ["predictions", "next_sentence"])
def test_what_needs_the_model_is_refused_for_tensors_with_what_to_do(kind: str) -> None:
    reply, _ = reply_to(made("tensors"), kind=kind)
    assert reply["ok"] is False
    assert reply["hint"] == "Use analyze(text, model=...)."


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
