"""Targets: what they mean, and which are refused."""

from __future__ import annotations

from typing import Any

import pytest

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, and naïve Dr. Smith's dog ran."


def analysis(
    family: str, head: str = "ForMaskedLM", pair: str | None = None, **changes: Any
) -> Any:
    model = tiny_models.build(family, head, **changes)
    return aw.analyze(TEXT, pair, model=model, tagger=None, progress=False)


def test_a_word_is_meant_with_its_space() -> None:
    from attn_widget.features.why.bound_target import token_id

    for family in ("bert", "roberta", "xlm-roberta"):
        encoder = analysis(family).run.encoder
        text = encoder.token_texts([token_id(encoder, "the", "token")])[0]
        assert text == {"bert": "the", "roberta": "Ġthe", "xlm-roberta": "▁the"}[family]


def test_targets_are_values() -> None:
    one = aw.target(position=3, token="are", against="is")
    assert one == aw.target(position=3, token="are", against="is") and len({one, one}) == 1
    assert str(one) == "logit of 'are' - logit of 'is' at position 3"
    assert isinstance(one, aw.Target)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "no number of the model is named"),
        ({"token": "a"}, "position is missing"),
        ({"token": "a", "label": 1, "position": 2}, "several are given"),
        ({"token": "a", "against": "a", "position": 2}, "always 0"),
        ({"next_sentence": True, "position": 2}, "takes no position"),
        ({"label": "a", "masked": True}, "masked=True is for a token"),
        ({"token": "", "position": 2}, "expected 1 to"),
        ({"token": "a", "position": -1}, "position is -1"),
    ],
)
def test_a_target_that_means_nothing_is_refused(given: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        aw.target(**given)


@pytest.mark.parametrize("given", [{"token": 1.5, "position": 1}, {"token": True, "position": 1}, {"token": "a", "position": "3"}, {"next_sentence": 1}])  # fmt: skip
def test_a_target_of_another_type_is_refused(given: Any) -> None:
    with pytest.raises(InputTypeError):
        aw.target(**given)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"token": "cat", "position": 999}, "position is 999, expected 0 to"),
        ({"token": "cat", "position": 0}, r"\[CLS\], which the tokenizer added"),
        ({"token": "electroencephalogram", "position": 3}, "splits into 'electro"),
        ({"token": "🙂", "position": 3}, "not in the vocabulary"),
        ({"token": 30_522, "position": 3}, "token is 30522"),
        ({"token": "cat", "against": "CAT", "position": 3}, "the same entry"),
    ],
)
def test_a_target_that_the_text_or_model_lacks_is_refused(given: Any, match: str) -> None:
    a = aw.analyze(TEXT, tagger=None, progress=False)
    with pytest.raises(InputError, match=match):
        a.why.contributions(aw.target(**given))


def test_a_model_without_the_head_says_so() -> None:
    token, label = aw.target(position=3, token="cat"), aw.target(label="positive")
    with pytest.raises(NotAvailableError, match="no language-model head"):
        analysis("bert", "ForSequenceClassification").contributions(token)
    with pytest.raises(NotAvailableError, match="no classifier"):
        analysis("bert").contributions(label)
    with pytest.raises(NotAvailableError, match="no classifier"):
        analysis("bert", "ForQuestionAnswering").contributions(label)
    with pytest.raises(NotAvailableError, match="next-sentence"):
        analysis("roberta").contributions(aw.target(next_sentence=True))
    with pytest.raises(NotAvailableError, match="There is one text"):
        analysis("bert", "ForPreTraining").contributions(aw.target(next_sentence=True))
    with pytest.raises(InputError, match="'positive' is no class"):
        analysis("bert", "ForSequenceClassification").contributions(label)
    with pytest.raises(InputError, match="classifies whole texts"):
        analysis("bert", "ForSequenceClassification").contributions(aw.target(label=0, position=3))
    with pytest.raises(InputError, match="position is missing"):
        analysis("bert", "ForTokenClassification").contributions(aw.target(label=0))
