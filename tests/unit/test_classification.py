"""Classifiers of every family: what is shown equals what transformers computes."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    PreTrainedTokenizerFast,
    TextClassificationPipeline,
    XLMConfig,
    XLMForSequenceClassification,
)

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.exports.tables import task_table
from attn_widget.model.classification import activation_of, class_probabilities
from tests.close import assert_close
from tests.unit import tiny_models

TEXT = "The cat didn't sit on the naïve mat."
PAIR = "The dog looked at 1998 birds."


def labeled(count: int) -> dict[int, str]:
    return {i: f"label <b>{i}</b>" for i in range(count)}


def sequence(family: str = "bert", count: int = 3, **changes: Any) -> tuple[Any, Any]:
    return tiny_models.build(
        family, "ForSequenceClassification", num_labels=count, id2label=labeled(count), **changes
    )


def analysis_of(model: tuple[Any, Any], *texts: str, **options: Any) -> Analysis:
    return aw.analyze(*(texts or (TEXT,)), model=model, tagger=None, progress=False, **options)


def plain(model: tuple[Any, Any], *texts: str) -> Any:
    """What the model itself says, with its own tokenizer and default attention."""
    network, tokenizer = model
    inputs = tokenizer(*(texts or (TEXT,)), return_tensors="pt")
    if "token_type_ids" not in signature(network.forward).parameters:
        inputs.pop("token_type_ids", None)
    with torch.no_grad():
        return network(**inputs)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
@pytest.mark.parametrize("texts", [(TEXT,), (TEXT, PAIR)], ids=["one text", "a pair"])
def test_classes_of_a_text_equal_those_of_transformers(family: str, texts: tuple[str, ...]) -> None:
    for count in (2, 3, 5, 40):
        model = sequence(family, count)
        found = analysis_of(model, *texts).model.classification
        logits = plain(model, *texts).logits[0]
        assert found is not None and found.task == "sequence" and found.activation == "softmax"
        assert found.labels == tuple(labeled(count).values())
        assert found.logits.dtype == np.float32 and found.logits.shape == (count,)
        assert_close(found.logits, logits, **tiny_models.SUMS)
        assert_close(found.probabilities, logits.softmax(-1), **tiny_models.SUMS, size=logits)
        np.testing.assert_allclose(found.exponentials / found.sum, found.probabilities, rtol=1e-12)
        np.testing.assert_allclose(found.exponentials.sum(), found.sum, rtol=1e-12)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_classes_of_tokens_equal_those_of_transformers(family: str) -> None:
    model = tiny_models.build(family, "ForTokenClassification", num_labels=5, id2label=labeled(5))
    analysis = analysis_of(model)
    found = analysis.model.classification
    logits = plain(model).logits[0]
    assert found is not None and (found.task, found.axis) == ("token", -1)
    assert found.logits.shape == (analysis.trace.n_tokens, 5) and found.sum.shape == (
        analysis.trace.n_tokens,
    )
    assert_close(found.logits, logits, **tiny_models.SUMS)
    assert_close(found.probabilities, logits.softmax(-1), **tiny_models.SUMS, size=logits)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_answers_equal_those_of_transformers(family: str) -> None:
    model = tiny_models.build(family, "ForQuestionAnswering")
    found = analysis_of(model, "Who looked?", PAIR).model.classification
    expected = plain(model, "Who looked?", PAIR)
    assert found is not None and (found.task, found.axis) == ("question_answering", 0)
    assert found.labels == ("start", "end") and found.sum.shape == (2,)
    for side, logits in enumerate((expected.start_logits[0], expected.end_logits[0])):
        assert_close(found.logits[:, side], logits, **tiny_models.SUMS)
        assert_close(
            found.probabilities[:, side], logits.softmax(-1), **tiny_models.SUMS, size=logits
        )


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "albert", "electra"])
@pytest.mark.parametrize(
    ("problem_type", "count", "activation"),
    [
        ("regression", 1, "identity"),
        ("regression", 3, "identity"),
        ("multi_label_classification", 4, "sigmoid"),
        ("multi_label_classification", 1, "sigmoid"),
        ("single_label_classification", 2, "softmax"),
        (None, 1, "sigmoid"),
        (None, 4, "softmax"),
    ],
)
def test_outputs_are_read_as_the_pipeline_of_transformers_reads_them(
    family: str, problem_type: str | None, count: int, activation: str
) -> None:
    model, tokenizer = sequence(family, count, problem_type=problem_type)
    found = analysis_of((model, tokenizer)).model.classification
    assert found is not None and found.activation == activation
    pipeline = TextClassificationPipeline(model=model, tokenizer=tokenizer)
    said = {one["label"]: one["score"] for one in pipeline(TEXT, top_k=None)}
    values = found.logits if activation == "identity" else found.probabilities
    for label, value in zip(found.labels, values, strict=True):
        assert_close(value, said[label], **tiny_models.SUMS, size=found.logits)
    assert np.isnan(found.probabilities).all() == (activation == "identity")


@pytest.mark.parametrize("family", ["bert", "electra", "mobilebert"])
def test_a_pair_has_segments_only_where_the_tokenizer_gives_them(family: str) -> None:
    model, given = sequence(family)
    backend = given.backend_tokenizer
    bare = PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        pad_token="[PAD]", mask_token="[MASK]", model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
    logits = []
    for tokenizer in (given, bare):
        a = analysis_of((model, tokenizer), TEXT, PAIR)
        pipeline: Any = TextClassificationPipeline(model=model, tokenizer=tokenizer)
        pair = {"text": TEXT, "text_pair": PAIR}
        said = {
            one["label"]: one["score"]
            for one in pipeline(pair, top_k=None, function_to_apply="none")
        }
        assert a.model.classification is not None
        assert {*a.run.encoding.inputs} == {*tokenizer(TEXT, PAIR)}  # pyright: ignore[reportOptionalMemberAccess]
        with torch.no_grad():
            plain_logits = model(**tokenizer(TEXT, PAIR, return_tensors="pt")).logits[0].numpy()
        np.testing.assert_array_equal(a.model.classification.logits, plain_logits)
        assert [said[label] for label in a.model.classification.labels] == plain_logits.tolist()
        assert {token.segment for token in a.tokens} == {0, 1}  # shown in both
        logits.append(plain_logits)
    assert np.abs(logits[0] - logits[1]).max() > 0.01


@pytest.mark.parametrize(
    "names", [["input_ids", "token_type_ids", "attention_mask"], ["input_ids", "attention_mask"]]
)
def test_xlm_reads_segments_as_words_only_where_the_tokenizer_gives_them(names: list[str]) -> None:
    """XLM adds the embedding of the word whose id is the segment."""
    torch.manual_seed(0)
    config = XLMConfig(vocab_size=512, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=128, init_std=0.3, embed_init_std=0.3)  # fmt: skip
    config.num_labels = 3
    model = XLMForSequenceClassification(config).eval()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tiny_models.tokenizer("wordpiece").backend_tokenizer, unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]", model_input_names=names,
    )  # fmt: skip
    found = analysis_of((model, tokenizer), TEXT, PAIR).model.classification
    with torch.no_grad():
        logits = model(**tokenizer(TEXT, PAIR, return_tensors="pt")).logits[0]
    assert found is not None
    np.testing.assert_array_equal(found.logits, logits)


def test_a_single_output_that_may_be_a_value_is_said_to_be_open() -> None:
    assert "problem_type" in activation_of(None, 1)[1]
    assert activation_of("regression", 1)[1] == activation_of(None, 2)[1] == ""


def test_extreme_logits_stay_numbers() -> None:
    extreme = np.array([-1e4, 0, 1e4], dtype=np.float32)
    for activation, expected in (("softmax", [0, 0, 1]), ("sigmoid", [0, 0.5, 1])):
        found = class_probabilities(("a", "b", "c"), extreme, activation=activation)  # pyright: ignore[reportArgumentType]
        np.testing.assert_allclose(found.probabilities, expected)


def test_a_value_without_probabilities_is_written_as_none() -> None:
    found = analysis_of(sequence("bert", 1, problem_type="regression")).model.classification
    assert found is not None
    written = found.to_dict()
    assert written["probabilities"] is None and written["logits"] == found.logits.tolist()
    assert "label <b>0</b>" in repr(found)


def test_the_table_of_outputs_gives_each_label_its_own_sum_and_values_none() -> None:
    multi = analysis_of(sequence("bert", 3, problem_type="multi_label_classification"))
    found = multi.model.classification
    assert found is not None
    for c, (row, label, logit, exp, total, share) in enumerate(task_table(multi, None).rows):
        assert (row, label) == (0, found.labels[c])
        parts = (found.logits[c], found.exponentials[c], found.sum[c], found.probabilities[c])
        shown = np.array([logit, exp, total, share], dtype=np.float64)
        assert_close(shown, parts, terms=1)
    value = analysis_of(sequence("bert", 1, problem_type="regression"))
    ((*_, exp, total, share),) = task_table(value, None).rows
    assert np.isnan(np.array([exp, total, share], dtype=np.float64)).all()


# The first token


@pytest.mark.parametrize(("family", "layers"), [("bert", 8), ("distilbert", 2), ("mpnet", 3)])
@pytest.mark.parametrize("head", ["mean", 1])
def test_the_first_token_looks_at_words_in_the_last_six_layers(
    family: str, layers: int, head: Any
) -> None:
    name = "n_layers" if family == "distilbert" else "num_hidden_layers"
    analysis = analysis_of(sequence(family, **{name: layers}), TEXT, PAIR)
    found = analysis.model.first_token(head)
    assert found.layers == tuple(range(max(0, layers - 6), layers))
    assert list(found.positions) == [word.text for word in analysis.words]
    for row, layer in enumerate(found.layers):
        whole = analysis.attention(layer, head)[0]
        for word, (first, end) in enumerate(found.tokens):
            assert_close(
                found.weights[row, word],
                whole[first:end].sum(),
                terms=analysis.trace.n_tokens,
                size=1,
            )
        rest = whole[[token.special for token in analysis.tokens]].sum()
        assert_close(found.special[row], rest, terms=analysis.trace.n_tokens, size=1)
        assert_close(
            found.weights[row].sum() + found.special[row], 1, terms=analysis.trace.n_tokens
        )


def test_the_first_token_over_tokens_is_the_row_itself() -> None:
    analysis = analysis_of(sequence(num_hidden_layers=8))
    found = analysis.model.first_token(2, words=False)
    assert repr(found) == f"FirstToken(L2 to L7, head 2, {analysis.trace.n_tokens} positions)"
    assert found.positions == tuple(token.text for token in analysis.tokens)
    expected = [analysis.attention(layer, 2)[0] for layer in found.layers]
    np.testing.assert_array_equal(found.weights, expected)


# Texts beside


def test_texts_of_other_classes_stand_beside_with_their_own_figures() -> None:
    model = sequence("bert", 5)
    analysis = analysis_of(model, compare_with=[PAIR, (TEXT, PAIR)])
    assert [(one.text, one.text_pair) for one in analysis.model.compare_with] == [
        (PAIR, None),
        (TEXT, PAIR),
    ]
    for one in analysis.model.compare_with:
        alone = analysis_of(model, *(text for text in (one.text, one.text_pair) if text))
        assert alone.model.classification is not None
        np.testing.assert_array_equal(one.classification.logits, alone.model.classification.logits)
        np.testing.assert_array_equal(one.first_token.weights, alone.model.first_token().weights)
        written = "".join(map(str.__add__, one.before, one.first_token.positions))
        assert written == one.text + (one.text_pair or "")


def test_a_text_that_was_run_stays_beside_the_next_one_once() -> None:
    widget = aw.show(TEXT, model=sequence(), tagger=None, progress=False)
    for text in (PAIR, "A cat.", TEXT):
        widget.run(text)
    assert [one.text for one in widget.analysis.model.compare_with] == [PAIR, "A cat."]
    widget.masked = [2]
    assert [one.text for one in widget.analysis.model.compare_with] == [PAIR, "A cat."]
    widget.close()


def test_the_oldest_of_too_many_texts_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attn_widget.analysis.comparison_texts.MAX_COMPARISON_TEXTS", 2)
    widget = aw.show("A cat.", model=sequence(), tagger=None, progress=False)
    for text in ("A dog.", "A bird.", "A mouse."):
        widget.run(text)
    assert [one.text for one in widget.analysis.model.compare_with] == ["A dog.", "A bird."]
    widget.close()


def test_texts_beside_are_checked_before_anything_runs() -> None:
    model = sequence()
    with pytest.raises(InputTypeError, match=r"expected several texts.*compare_with=\[text\]"):
        analysis_of(model, compare_with=TEXT)
    with pytest.raises(InputTypeError, match="compare_with holds 3"):
        analysis_of(model, compare_with=[TEXT, 3])
    with pytest.raises(InputError, match="at most 50"):
        analysis_of(model, compare_with=[TEXT] * 51)
    with pytest.raises(InputError, match="does not classify texts"):
        analysis_of(tiny_models.build("bert"), compare_with=[TEXT])


def test_the_table_of_an_answer_has_the_sum_of_each_column_and_that_of_tokens_of_each_row() -> None:
    answer = analysis_of(tiny_models.build("bert", "ForQuestionAnswering"), "Who looked?", PAIR)
    tokens = analysis_of(tiny_models.build("bert", "ForTokenClassification", num_labels=3))
    for analysis, by_column in ((answer, True), (tokens, False)):
        found = analysis.model.classification
        assert found is not None
        columns = {label: c for c, label in enumerate(found.labels)}
        for row, label, _, exp, total, share in task_table(analysis, None).rows:
            assert_close(
                total,
                found.sum[columns[label] if by_column else row],
                terms=analysis.trace.n_tokens,
            )
            assert_close(share, exp / total, terms=analysis.trace.n_tokens)
