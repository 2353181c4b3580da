"""A result keeps to the weights that it was made with: after a step of training nothing new mixes old attention with new weights."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.host import fingerprint
from attn_widget.host.fingerprint import reading_weights_once, weights_state
from attn_widget.model import encoder
from attn_widget.protocol.answer import answer
from tests.unit import tiny_models

TEXT = "the cat sat on the mat"
CHANGED = "have changed, or were moved"


def own(family: str) -> Any:
    model, tokenizer = tiny_models.build(family)
    return copy.deepcopy(model), tokenizer


def step(model: Any) -> None:
    """A step of training."""
    optimizer = torch.optim.SGD(model.parameters(), lr=5.0)
    ids = torch.arange(5, 11)[None]
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()


def load_others(model: Any) -> None:
    model.load_state_dict({name: value * 1.5 for name, value in model.state_dict().items()})


def through_data(model: Any) -> None:
    """No version of torch counts this."""
    for parameter in model.parameters():
        parameter.data.mul_(1.5)


def replaced(model: Any) -> None:
    module = model.get_input_embeddings()
    module.weight = torch.nn.Parameter(module.weight.detach() * 1.5)


def cast(model: Any) -> None:
    model.to(torch.bfloat16)


AIM = aw.target(position=3, token="sat")
NEXT = aw.target(position=3, token=7)
MASKED_AIM = aw.target(position=3, token="sat", masked=True)
# Questions to an analysis that need its model, and for some of which the run is enough.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "predictions": lambda a: a.predictions().probabilities,
    "masked": lambda a: a.predictions(mode="masked").probabilities,
    "softmax": lambda a: a.model.softmax(2, mode="masked").sum_exp,
    "mask": lambda a: a.mask([2]).attention(1, 0),
    "ablate": lambda a: a.ablate([(0, 1)]).attention(1, 0),
    "inside": lambda a: a.model.layer(0).ffn_activation,
    "residuals": lambda a: a.model.residuals.ffn,
    "embeddings": lambda a: a.model.embeddings.token,
    "positions": lambda a: a.model.positions,
    "mixing": lambda a: a.mixing.matrix("norms", 1),
    "mixing ratio": lambda a: a.mixing.ratio(1),
    "value zeroing": lambda a: a.mixing.matrix("value_zeroing", 1),
    "output": lambda a: a.mixing.decompose_output(1, 2).vectors,
    "contributions": lambda a: a.why.contributions(AIM).values,
    "of a mask": lambda a: a.why.contributions(MASKED_AIM).values,
    "occlusion": lambda a: a.why.contributions(AIM, "occlusion").values,
    "integrated gradients": lambda a: a.why.contributions(AIM, "integrated_gradients").values,
    "attention gradient": lambda a: a.why.contributions(AIM, "attention_gradient").values,
    "head effects": lambda a: a.why.head_effects(AIM).effects,
    "faithfulness": lambda a: a.why.faithfulness(AIM, ["weights"]).curves["weights"].deleted,
    "probe": lambda a: a.model.probe_patterns().induction,
    "patch": lambda a: aw.compare(a, a).patch([("head", 0, 1)]).attention(1, 0),
}
OF_THE_RUN = {"predictions"}


@pytest.mark.parametrize("change", [step, load_others, through_data, replaced, cast])
def test_a_change_of_the_weights_is_seen(change: Callable[[Any], None]) -> None:
    model, tokenizer = own("bert")
    a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    attention, as_is = a.attention(1, 0).copy(), a.predictions().probabilities.copy()
    change(model)
    with pytest.raises(NotAvailableError, match=CHANGED):
        a.predictions(mode="masked")
    np.testing.assert_array_equal(a.attention(1, 0), attention)
    np.testing.assert_array_equal(a.predictions().probabilities, as_is)


@pytest.mark.parametrize("shape", [(48, 48), (7, 50), (50, 7), (1, 9), (9, 1), (4, 3, 5), (6,)])
def test_a_row_or_a_column_changed_through_data_is_seen(shape: tuple[int, ...]) -> None:
    model = torch.nn.Module()
    model.weight = torch.nn.Parameter(torch.zeros(shape))
    matrix = model.weight.data.view(shape[0] if len(shape) > 1 else 1, -1)
    before = weights_state(model)
    sides = [matrix[i] for i in range(matrix.shape[0])]
    sides += [matrix[:, i] for i in range(matrix.shape[1])]
    for side in sides:
        side += 1
        assert weights_state(model) != before
        side -= 1
    assert weights_state(model) == before


def test_a_head_pruned_through_data_is_seen() -> None:
    """Its columns of the output projection: none of them is the first one."""
    model, tokenizer = own("bert")
    a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    output = model.bert.encoder.layer[1].attention.output.dense.weight
    output.data[:, a.trace.head_dim : 2 * a.trace.head_dim] = 0
    with pytest.raises(NotAvailableError, match=CHANGED):
        a.model.layer(0)


def test_weights_that_are_read_once_are_read_again_at_the_end() -> None:
    model = torch.nn.Linear(5, 7)
    with reading_weights_once():
        before = weights_state(model)

    def trained_meanwhile() -> None:
        with reading_weights_once():
            assert weights_state(model) == before
            with reading_weights_once():
                through_data(model)
            assert weights_state(model) == before

    with pytest.raises(NotAvailableError, match="have changed"):
        trained_meanwhile()
    assert weights_state(model) != before


def test_long_work_within_a_short_answer_reads_the_weights_again() -> None:
    model = torch.nn.Linear(5, 7)

    def trained_meanwhile() -> None:
        with reading_weights_once(again=False):
            weights_state(model)
            with reading_weights_once():
                through_data(model)

    with pytest.raises(NotAvailableError, match="have changed"):
        trained_meanwhile()


def test_a_page_reads_the_weights_once_and_takes_what_was_computed_before_they_changed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokenizer = own("bert")
    a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
    read = fingerprint._read_state  # pyright: ignore[reportPrivateUsage]
    reads: list[int] = []
    monkeypatch.setattr(fingerprint, "_read_state", lambda of: reads.append(1) or read(of))
    aw.to_html(a, tmp_path / "page.html")
    assert 2 <= len(reads) < 12, len(reads)
    through_data(model)
    aw.to_html(a, tmp_path / "page.html", why=False)


@pytest.mark.parametrize("question", ["head effects", "value zeroing", "mixing", "patch"])
def test_the_weights_are_read_once_a_pass_and_not_once_a_layer_of_each(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading some values of all weights takes as long as a layer does."""
    reads: list[int] = []
    found: dict[int, int] = {}
    for layers in (2, 6):
        model, tokenizer = tiny_models.build("bert", num_hidden_layers=layers)
        a = aw.analyze(TEXT, model=(model, tokenizer), tagger=None, progress=False)
        reads.clear()
        monkeypatch.setattr(encoder, "weights_state", lambda of: reads.append(1) or weights_state(of))  # fmt: skip
        QUESTIONS[question](a)
        found[layers] = len(reads)
    passes = 6 if question == "head effects" else 1  # of each layer
    assert found[6] - found[2] <= 4 * passes, found


@pytest.fixture(scope="module")
def runs() -> tuple[Any, Any]:
    """A run whose model was trained since, and the same run of a model that was not."""
    changed, kept = own("bert"), own("bert")
    found = tuple(
        aw.analyze(TEXT, model=pair, tagger=None, progress=False) for pair in (changed, kept)
    )
    step(changed[0])
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_refused_or_answered_with_the_old_weights(
    runs: tuple[Any, Any], question: str
) -> None:
    changed, kept = runs
    ask = QUESTIONS[question]
    expected = ask(kept)
    if question in OF_THE_RUN:
        np.testing.assert_array_equal(ask(changed), expected)
        return
    with pytest.raises(NotAvailableError, match=CHANGED):
        ask(changed)


def test_slices_of_the_page_say_it(runs: tuple[Any, Any]) -> None:
    reply, _ = answer(runs[0], {"kind": "predictions", "mode": "masked", "top_k": 5})
    assert not reply["ok"] and "have changed" in reply["error"]


def test_what_was_computed_before_still_holds() -> None:
    pair = own("bert")
    a = aw.analyze(TEXT, model=pair, tagger=None, progress=False)
    before = a.predictions(mode="masked").probabilities.copy(), a.model.positions.copy()
    step(pair[0])
    np.testing.assert_array_equal(a.predictions(mode="masked").probabilities, before[0])
    np.testing.assert_array_equal(a.model.positions, before[1])


def test_logits_that_were_dropped_are_not_computed_with_other_weights() -> None:
    pair = own("gpt2")
    a = aw.analyze(TEXT, model=pair, tagger=None, progress=False)
    a.trace._outputs.logits = None
    step(pair[0])
    for ask in (a.predictions, lambda: a.why.components(NEXT), lambda: a.why.logit_lens(NEXT)):
        with pytest.raises(NotAvailableError, match=CHANGED):
            ask()


def test_a_comparison_of_before_and_after_says_so() -> None:
    pair = own("bert")
    options: dict[str, Any] = {"model": pair, "tagger": None, "progress": False}
    before = aw.analyze(TEXT, **options)
    same = aw.compare(before, aw.analyze(TEXT, **options)).notes
    assert "every difference is 0" in " ".join(same)
    step(pair[0])
    c = aw.compare(before, aw.analyze(TEXT, **options))
    assert np.abs(c.difference(1).difference).max() > 1e-3
    assert "every difference is 0" not in " ".join(c.notes)
    assert "The weights of the model changed between the two runs" in " ".join(c.notes)


def test_a_new_run_of_the_changed_model_is_answered() -> None:
    pair = own("bert")
    a = aw.analyze(TEXT, model=pair, tagger=None, progress=False)
    step(pair[0])
    for model in (pair, a.run.encoder):
        again = aw.analyze(TEXT, model=model, tagger=None, progress=False)
        assert again.predictions(mode="masked").probabilities.shape
        assert np.abs(again.attention(1, 0) - a.attention(1, 0)).max() > 1e-3


def test_profiles_and_rankings_do_not_read_their_texts_with_other_weights() -> None:
    pair = own("bert")
    texts = ["the cat sat on the mat", "the dog looked at the bird"]
    profile = aw.profile(texts, model=pair, tagger=None, progress=False)
    encoder = aw.load(pair, progress=False).with_pooling("mean")
    ranking = aw.similarity("a cat", texts, model=encoder, progress=False)
    similarity = aw.similarity(*texts, model=encoder, progress=False)
    step(pair[0])
    for ask in (
        lambda: profile.analysis_of(0),
        lambda: ranking.explain(0),
        lambda: similarity.matrix(),
        lambda: similarity.faithfulness(),
    ):
        with pytest.raises(NotAvailableError, match=CHANGED):
            ask()


def test_sinks_are_those_of_the_run() -> None:
    pair = own("gpt_oss")
    a = aw.analyze(TEXT, model=pair, tagger=None, progress=False)
    before = a.attention(0, 0).copy()
    step(pair[0])
    np.testing.assert_array_equal(a.attention(0, 0), before)
