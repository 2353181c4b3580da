"""Slices of the view Task: the first token, and the change of a logit when it looks longer somewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.protocol.answer import answer
from tests.close import assert_close
from tests.unit import tiny_models
from tests.unit.slice_replies import MODELS, ask, equal, made
from tests.unit.test_classification import PAIR, TEXT, analysis_of, sequence


class Nudge(torch.overrides.TorchFunctionMode):
    """Adds to one score of one layer, on its way into the softmax."""

    def __init__(self, layer: int, head: int, token: int, by: float) -> None:
        super().__init__()
        self.layer, self.head, self.token, self.by, self.passed = layer, head, token, by, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func in (torch.nn.functional.softmax, torch.softmax, torch.Tensor.softmax):
            scores = args[0] if args else given.pop("input")
            if scores.dim() == 4 and scores.shape[-1] == scores.shape[-2]:
                if self.passed == self.layer:
                    scores = scores.clone()
                    scores[0, self.head, 0, self.token] += self.by
                self.passed += 1
            args = (scores, *args[1:])
        return func(*args, **given)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_a_class_gradient_is_the_change_of_the_logit_when_a_score_is_nudged(family: str) -> None:
    network, tokenizer = sequence(family)
    network = network.double()
    network.config._attn_implementation = "eager"
    encoder = aw.load((network, tokenizer))
    analysis = aw.analyze("A cat sat.", model=encoder, tagger=None, progress=False)
    inputs = analysis.run.encoding.inputs  # pyright: ignore[reportOptionalMemberAccess]

    def logits(**nudge: Any) -> Any:
        with torch.no_grad(), Nudge(**nudge):
            return network(**inputs).logits[0].numpy()

    # Those two compute parts of a layer in float32, whatever their weights are.
    step, error = (1e-2, 1e-4) if family in ("modernbert", "deberta") else (1e-4, 1e-6)
    gradients = np.stack([analysis.model.class_gradient(label) for label in range(3)])
    assert gradients.shape == (
        3,
        analysis.trace.n_layers,
        analysis.trace.n_heads,
        analysis.trace.n_tokens,
    )
    assert np.abs(gradients).max() > 10 * error  # something to compare
    for layer in range(analysis.trace.n_layers):
        for head, token in ((0, 1), (3, 0)):
            place = {"layer": layer, "head": head, "token": token}
            slope = (logits(**place, by=step) - logits(**place, by=-step)) / (2 * step)
            np.testing.assert_allclose(
                gradients[:, layer, head, token], slope, atol=error, rtol=1e-3
            )


def test_raising_all_scores_alike_changes_no_class() -> None:
    gradient = analysis_of(sequence("roberta")).model.class_gradient(1)
    assert_close(gradient.sum(axis=-1), 0, terms=gradient.shape[-1], size=gradient)


def test_gradients_over_words_add_up_their_tokens() -> None:
    analysis = analysis_of(sequence("roberta"), TEXT, PAIR)
    tokens, words = (
        analysis.model.class_gradient("label <b>2</b>", words=w) for w in (False, True)
    )
    for word, (first, end) in enumerate(analysis.model.first_token().tokens):
        assert_close(
            words[:, :, word],
            tokens[:, :, first:end].sum(axis=-1),
            terms=analysis.trace.n_tokens,
            size=tokens,
        )


def test_the_page_gets_the_gradient_of_one_head_or_the_sum_of_all_in_the_last_six_layers() -> None:
    analysis = analysis_of(sequence(num_hidden_layers=8))
    whole = analysis.model.class_gradient(1)[2:]
    for head, expected in (("mean", whole.sum(axis=1)), (0, whole[:, 0]), (1, whole[:, 1])):
        request = {"kind": "class_gradient", "label": 1, "head": head}
        reply, buffers = answer(analysis, request)
        assert reply["ok"] and reply["data"] == {"layers": [2, 3, 4, 5, 6, 7]}
        sent = np.frombuffer(buffers[0], np.float32).reshape(reply["arrays"][0]["shape"])
        np.testing.assert_array_equal(sent, expected)


def test_gradients_leave_the_model_as_it_was_and_need_none_of_its_weights() -> None:
    model, tokenizer = sequence("electra")
    trained = analysis_of((model, tokenizer)).model.class_gradient(0)
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    frozen = sequence("electra")
    frozen[0].requires_grad_(False)
    frozen[0].train()
    assert_close(analysis_of(frozen).model.class_gradient(0), trained, **tiny_models.SUMS)
    assert frozen[0].training and not any(p.requires_grad for p in frozen[0].parameters())


def test_a_class_that_is_not_there_is_refused_by_name() -> None:
    analysis = analysis_of(sequence())
    with pytest.raises(InputError, match=r"'great' is no class.*label <b>0</b>"):
        analysis.model.class_gradient("great")
    with pytest.raises(InputError, match="label is 3"):
        analysis.model.class_gradient(3)


def test_only_a_text_classifier_has_class_gradients() -> None:
    for head in ("ForTokenClassification", "ForMaskedLM"):
        with pytest.raises(NotAvailableError, match="does not classify texts"):
            analysis_of(tiny_models.build("bert", head)).model.class_gradient(0)


@pytest.mark.parametrize("name", [*MODELS, "tensors"])
def test_the_first_token_of_the_last_six_layers(name: str) -> None:
    analysis = made(name)
    for head in (0, "mean"):
        data, arrays = ask(analysis, kind="first_token", head=head)
        layers = list(range(analysis.trace.n_layers))[-6:]
        assert data["layers"] == layers
        equal(arrays["weights"], [analysis.attention(layer, head)[0] for layer in layers])
