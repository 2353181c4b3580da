"""Texts and models that leave nothing to explain: an error or N/A in words, and the last good picture stays."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
import traitlets

import attn_widget as aw
from attn_widget.errors import InputError, NotFiniteError
from tests.unit import tiny_models

INVISIBLE = "\u200b\u200d"  # the tokenizer leaves nothing of it but its own special tokens


def test_a_text_of_the_tokenizers_special_tokens_only_is_refused_and_the_picture_stays() -> None:
    widget = aw.show("The cat sat.", view="why", tagger=None, progress=False)
    before = widget.first_paint
    with pytest.raises(InputError, match="keeps nothing of text"):
        widget.run(INVISIBLE)
    assert widget.first_paint == before
    widget.close()


@pytest.mark.parametrize("text", ["[SEP]", "[CLS] [SEP]"])
def test_special_tokens_that_are_typed_are_tokens_of_the_text(text: str) -> None:
    a = aw.analyze(text, tagger=None, progress=False)
    target = aw.target(position=1, token="the")
    typed = len(text.split())
    c = a.why.contributions(target, "occlusion")
    assert np.isfinite(c.values).tolist() == [False, *[True] * typed, False]
    assert a.why.agreement(target, ["decomposition", "occlusion"]).words == typed
    assert a.why.faithfulness(target, ["decomposition"]).probability > 0


def breaking() -> tuple[Any, Any]:
    """A model that overflows to NaN once head 1 of layer 0 gives nothing."""
    model, tokenizer = tiny_models.build("bert")
    model = copy.deepcopy(model)

    output = model.bert.encoder.layer[0].attention.output.dense
    whole = output.forward

    def divide(given: Any) -> Any:
        head = given.view(*given.shape[:-1], 4, -1)[:, :, 1]
        sums = [one.sum(dim=(1, 2), keepdim=True) for one in (head, head.abs())]
        return whole(given) + 0 * sums[0] / sums[1]

    output.forward = divide
    return model, tokenizer


def test_nan_after_a_head_is_switched_off_is_an_error_and_the_picture_stays() -> None:
    widget = aw.show("The cat sat on the mat.", model=breaking(), tagger=None, progress=False)
    before, analysis = widget.first_paint, widget.analysis
    with pytest.raises(traitlets.TraitError, match="gave NaN"):
        widget.heads_off = [[0, 1]]
    assert widget.first_paint == before and widget.heads_off == []
    assert widget.analysis is analysis
    with pytest.raises(NotFiniteError):
        analysis.ablate([(0, 1)])
    with pytest.raises(NotFiniteError, match="nan"):
        analysis.why.head_effects(aw.target(position=2, token=17))
    widget.heads_off = [[1, 1]]  # another one is switched off as before
    assert widget.heads_off == [[1, 1]] and torch.isfinite(torch.tensor(widget.analysis.trace.logits)).all()  # fmt: skip
    widget.close()
