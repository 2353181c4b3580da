"""Masks: the same text run again with tokens read as the mask token."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.needs import needs_spacy

TEXT = "The cat sat on the mat. It slept."
CAT, SAT = 2, 3


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return aw.analyze(TEXT, progress=False)


@pytest.fixture(scope="module")
def masked(analysis: Analysis) -> Analysis:
    return analysis.mask([CAT])


def test_masking_a_token_is_running_the_text_with_the_mask_token_typed_in_its_place(
    masked: Analysis,
) -> None:
    typed = aw.analyze(TEXT.replace("cat", "[MASK]"), progress=False)
    assert [t.id for t in masked.tokens] == [t.id for t in typed.tokens]
    for layer in range(masked.trace.n_layers):
        np.testing.assert_array_equal(
            masked.trace.layer_weights(layer), typed.trace.layer_weights(layer)
        )
    np.testing.assert_array_equal(masked.predictions().ids, typed.predictions().ids)


def test_it_changes_what_the_model_does_elsewhere(analysis: Analysis, masked: Analysis) -> None:
    assert np.abs(analysis.attention(2, 3) - masked.attention(2, 3)).max() > 1e-3


def test_the_token_is_the_mask_token_and_its_place_that_of_the_text(
    analysis: Analysis, masked: Analysis
) -> None:
    before, after = analysis.trace.tokens[CAT], masked.trace.tokens[CAT]
    assert (after.text, after.id) == ("[MASK]", masked.run.encoder.mask_token_id)  # type: ignore[union-attr]
    assert (after.start, after.end, after.surface) == (before.start, before.end, "cat")
    [hidden] = masked.model.masked
    assert (hidden.token, hidden.text, hidden.id) == (CAT, "cat", before.id)
    assert analysis.model.masked == ()


@needs_spacy
def test_words_sentences_and_tags_are_those_of_the_text(
    analysis: Analysis, masked: Analysis
) -> None:
    assert masked.words == analysis.words
    assert masked.language.sentences == analysis.language.sentences
    for before, after in zip(analysis.language.tokens, masked.language.tokens, strict=True):
        assert (after.word, after.sentence, after.pos) == (before.word, before.sentence, before.pos)
    assert masked.language.tokens[CAT].text == "[MASK]"
    assert masked.language.tokens[CAT].pos is not None
    np.testing.assert_equal(
        masked.heads.specialization.chance, analysis.heads.specialization.chance
    )


def test_rank_and_probability_are_of_the_token_in_the_text(
    analysis: Analysis, masked: Analysis
) -> None:
    predictions = masked.predictions()
    cat = analysis.trace.tokens[CAT].id
    logits = masked.trace.logits[CAT].astype(float)  # type: ignore[index]
    odds = np.exp(logits - logits.max())
    p = odds[cat] / odds.sum()
    assert_close(predictions.original_probability[CAT], p, **tiny_models.EMBEDDED, size=logits * p)
    assert predictions.original_rank[CAT] == 1 + (logits > logits[cat]).sum()
    alone = analysis.predictions(mode="masked", rows=slice(CAT, CAT + 1))
    found, wanted = alone.original_probability[0], predictions.original_probability[CAT]
    assert_close(found, wanted, **tiny_models.EMBEDDED, size=logits * p)
    # Each position masked in turn, with the mask that is there left in its place.
    both = masked.predictions(mode="masked", rows=slice(SAT, SAT + 1))
    pair = analysis.mask([CAT, SAT]).predictions()
    assert_close(both.logits[0], pair.logits[SAT], **tiny_models.EMBEDDED)


def test_masks_are_of_the_text_whatever_is_masked_already(
    analysis: Analysis, masked: Analysis
) -> None:
    other = masked.mask([SAT])
    assert [hidden.token for hidden in other.model.masked] == [SAT]
    assert [t.text for t in other.trace.tokens[CAT : SAT + 1]] == ["cat", "[MASK]"]
    both = other.mask([SAT, CAT, CAT])
    assert [(hidden.token, hidden.text) for hidden in both.model.masked] == [
        (CAT, "cat"),
        (SAT, "sat"),
    ]
    assert both.mask([]) is analysis
    assert masked.mask([CAT]) is masked
    assert analysis.mask([]) is analysis


def test_analyze_takes_masks_at_once(masked: Analysis) -> None:
    found = aw.analyze(TEXT, masked=np.array([CAT]), progress=False)
    assert found.model.masked == masked.model.masked
    np.testing.assert_array_equal(found.attention(1, 1), masked.attention(1, 1))


def test_a_mask_that_the_user_typed_is_a_token_as_any_other() -> None:
    typed = aw.analyze("the [MASK] sat on the mat", progress=False)
    assert typed.tokens[2].text == "[MASK]" and not typed.tokens[2].special
    assert typed.model.masked == ()
    both = typed.mask([3])
    assert [t.text for t in both.tokens[2:4]] == ["[MASK]", "[MASK]"]
    assert [hidden.token for hidden in both.model.masked] == [3]


def test_a_masked_run_in_words_is_there(masked: Analysis) -> None:
    view = masked.view(words=True)
    assert [token.text for token in view.tokens][1:4] == ["The", "cat", "sat"]
    with pytest.raises(NotAvailableError, match=r"Masks are for the model's own tokens, and"):
        view.mask([1])


def test_the_first_paint_says_what_is_masked(masked: Analysis) -> None:
    meta, arrays = unpack(first_paint(masked, 0, 0))
    [hidden] = masked.model.masked
    assert meta["masked"] == [{"token": CAT, "text": "cat", "id": hidden.id}]
    assert meta["tokens"]["text"][CAT] == "[MASK]"
    assert meta["tokens"]["surface"][CAT] == "cat"
    assert meta["text"] == TEXT
    np.testing.assert_array_equal(arrays["original_rank"], masked.predictions().original_rank)


@pytest.mark.parametrize(
    ("tokens", "error", "said"),
    [
        ([0], InputError, r"Token 0 is \[CLS\], which the tokenizer added"),
        ([99], InputError, "no token 99 to mask, expected 0 to"),
        ([-1], InputError, "no token -1"),
        ([1.5], InputTypeError, r"expected a list of positions. \[2, 3\] masks"),
        ([True], InputTypeError, "expected a list of positions"),
        (2, InputTypeError, "The tokens to mask are 2, expected a list"),
        ("cat", InputTypeError, "expected a list of positions"),
        (None, InputTypeError, "expected a list of positions"),
    ],
)
def test_what_cannot_be_masked_is_refused_in_words(
    analysis: Analysis, tokens: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        analysis.mask(tokens)


def test_tensors_from_outside_cannot_be_run_again() -> None:
    given = aw.from_attentions(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"], tagger=None)
    assert given.model.masked == ()
    with pytest.raises(NotAvailableError, match="no model to ask for another run"):
        given.mask([1])


def test_a_tokenizer_without_a_mask_token_is_said() -> None:
    model, tokenizer = tiny_models.build("bert")
    wrapped = type(tokenizer)(
        tokenizer_object=tokenizer.backend_tokenizer, unk_token="[UNK]", pad_token="[PAD]",
        cls_token="[CLS]", sep_token="[SEP]",
    )  # fmt: skip
    found = aw.analyze("the cat", model=(model, wrapped), progress=False)
    with pytest.raises(NotAvailableError, match="has no mask token"):
        found.mask([1])
    assert found.mask([]) is found


@pytest.mark.parametrize("family", ["albert", "modernbert", "distilbert", "deberta-v2"])
def test_every_kind_of_model_can_be_masked(family: str) -> None:
    model, tokenizer = tiny_models.build(family)
    found = aw.analyze("The cat sat on the mat.", model=(model, tokenizer), progress=False)
    place = 1
    masked = found.mask([place])
    assert masked.tokens[place].text == tokenizer.mask_token
    assert masked.tokens[place].id == tokenizer.mask_token_id
    assert np.abs(masked.attention(1, 1) - found.attention(1, 1)).max() > 0
