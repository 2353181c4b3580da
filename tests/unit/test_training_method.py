"""How it is trained: an average of the weights, a rate that never jumps, heads that do not rest, a level output."""

from __future__ import annotations

import pytest
import torch
from transformers import BertForPreTraining

from tests.close import assert_close
from training.average import Average
from training.cloze import Reader
from training.curve import FIT, curve_svg, curve_table, fitted_top1
from training.data import CLS, PAD, SEP
from training.evaluate import load_exported
from training.kinds import everyday_sentences, seen_words
from training.level import level
from training.model import build_config
from training.resting import FREE, Resting, rested
from training.settings import read_settings
from training.train import Rate, learning_rate, set_dropout

WORDS = torch.tensor([[CLS, 2000, 2001, 2002, SEP, PAD], [CLS, 3000, 3001, 3002, 3003, SEP]])


@pytest.fixture
def model() -> BertForPreTraining:
    torch.manual_seed(0)
    shape = {"layers": 4, "heads": 2, "width": 16}
    model = BertForPreTraining(build_config(shape))
    model.set_attn_implementation("eager")
    return model


def test_the_average_forgets_what_lies_before_its_horizon() -> None:
    model = torch.nn.Linear(1, 1)
    average = Average(model, 100.0)
    for value, steps in ((0.0, 10), (1.0, 100)):
        torch.nn.init.constant_(model.weight, value)
        for _ in range(steps):
            average.add(model, 10)
    with average.inside(model):
        assert float(model.weight.detach()) == pytest.approx(1 - 0.9**100)
    assert float(model.weight.detach()) == 1.0
    other = Average(model, 100.0)
    other.load_state_dict(average.state_dict())
    other.write(model)
    assert float(model.weight.detach()) == pytest.approx(1 - 0.9**100)
    with pytest.raises(RuntimeError), average.inside(model):
        raise RuntimeError
    assert float(model.weight.detach()) == pytest.approx(1 - 0.9**100)


def test_the_rate_goes_on_without_a_jump() -> None:
    options = read_settings()["train"] | {
        "total_tokens": 1000,
        "warmup_tokens": 100,
        "decay_tokens": 500,
        "schedule": "trapezoid",
    }
    plain = Rate(options)
    assert [plain.at(t) for t in (0, 50, 300, 750)] == [0.0, 0.5, 1.0, 0.5]
    # killed and started again: as it was, to the last bit
    again = Rate(options)
    again.go_on(750, plain.at(750))
    assert [again.at(t) for t in (750, 900)] == [plain.at(t) for t in (750, 900)]
    # made longer inside the decay: up again as slowly as in a warm-up
    longer = Rate(options | {"total_tokens": 5000})
    longer.go_on(750, plain.at(750))
    shares = [longer.at(t) for t in (750, 775, 800, 2000)]
    assert shares == pytest.approx([0.5, 0.75, 1.0, 1.0])
    assert learning_rate(750, longer.settings) == 1.0
    # made shorter: the decay begins at once
    shorter = Rate(options | {"total_tokens": 800})
    shorter.go_on(300, 1.0)
    assert [shorter.at(t) for t in (300, 550, 800)] == [1.0, 0.5, 0.0]


def test_resting_is_the_weight_on_special_tokens_beyond_what_is_free(
    model: BertForPreTraining,
) -> None:
    resting = Resting(model)
    mask = (WORDS != PAD).long()
    output = model.train().bert(WORDS, attention_mask=mask, output_attentions=True)
    special = (WORDS == CLS) | (WORDS == SEP)
    by_hand = []
    for weights in (own.detach() for own in output.attentions[1:-1]):
        for head in range(2):
            shares = [
                float(weights[b, head, i, special[b]].sum())
                for b, i in ((~special & (WORDS != PAD)).nonzero()).tolist()
            ]
            by_hand.append(max(0.0, sum(shares) / len(shares) - FREE))
    found = float(resting.penalty(WORDS).detach())
    assert_close(found, sum(by_hand) / len(by_hand), terms=WORDS.numel(), size=1)
    with torch.no_grad():  # validation leaves nothing behind
        model.bert(WORDS)
    assert resting._weights == []


def test_steps_against_resting_bring_heads_back_to_the_words(model: BertForPreTraining) -> None:
    with torch.no_grad():  # all words ask for what [CLS] and [SEP] have more of than they
        model.bert.embeddings.word_embeddings.weight[[CLS, SEP], 0] = 5.0
        for layer in model.bert.encoder.layer:
            attention = layer.attention.self
            attention.query.bias.fill_(1.0)
            attention.key.weight[:, 0] = 1.0
    resting = Resting(model)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    costs = []
    for _ in range(40):
        model.bert(WORDS)
        cost = resting.penalty(WORDS)
        costs.append(float(cost.detach()))
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
    assert costs[0] > 0.05
    assert costs[-1] < costs[0] / 4


def test_rested_counts_words_alone() -> None:
    weights = torch.zeros(1, 1, 4, 4)
    weights[0, 0, :, 0] = torch.tensor([1.0, 0.5, 0.3, 1.0])
    special = torch.tensor([[True, False, False, False]])
    words = torch.tensor([[False, True, True, False]])
    assert rested(weights, special, words).tolist() == pytest.approx([0.4])


def test_levelling_changes_the_hidden_state_and_nothing_that_is_said(
    model: BertForPreTraining,
) -> None:
    model.eval()
    with torch.no_grad():
        before = model(WORDS)
        factor = level(model, WORDS, 3.0)
        after = model(WORDS)
        hidden = model.bert(WORDS).last_hidden_state
    assert factor != pytest.approx(1.0, abs=0.1)
    assert float(hidden.std(dim=(0, 1)).median()) == pytest.approx(3.0, rel=1e-3)
    torch.testing.assert_close(after.prediction_logits, before.prediction_logits)
    torch.testing.assert_close(after.seq_relationship_logits, before.seq_relationship_logits)


def test_dropout_is_set_everywhere(model: BertForPreTraining) -> None:
    model.train()
    same = [model.bert(WORDS).last_hidden_state for _ in range(2)]
    assert torch.equal(*same)
    set_dropout(model, 0.3)
    other = [model.bert(WORDS).last_hidden_state for _ in range(2)]
    assert not torch.equal(*other)


def test_words_that_are_seen_are_counted_in_place() -> None:
    from pathlib import Path

    folder = Path(__file__).resolve().parents[2] / "attn_widget" / "mini"
    model, tokenizer, _ = load_exported(folder)
    reader = Reader(model, tokenizer)
    sentences = everyday_sentences(reader)
    assert len(sentences) == 120
    ids = tokenizer("He said yes!", add_special_tokens=False).input_ids
    assert seen_words(reader, [ids])["n"] == 0  # it ends in a mark
    found = seen_words(reader, sentences[:20])
    first = [
        model(torch.tensor([[CLS, *s, SEP]])).prediction_logits[0, len(s)].argmax().item() == s[-1]
        for s in sentences[:20]
    ]
    assert found["n"] == 20 and found["last"] == sum(first) / 20
    assert found["n_words"] == sum(map(len, sentences[:20]))


def test_the_fit_stands_beside_the_curve() -> None:
    records = [
        {
            "step": i,
            "tokens": t,
            "validation_loss": 3.0,
            "validation_top1": 0.4,
            "validation_next": 0.9,
        }
        for i, t in enumerate((0, 10_000_000, 90_000_000))
    ]
    facts = {"training": [{"step": 1, "tokens": 5, "loss": 3.0}], "validation": records}
    table = curve_table(facts).splitlines()
    assert table[0] == "| tokens | loss | top-1 | fit | next sentence |"
    assert "| 40.0% |  |" in table[2]
    assert f"| 40.0% | {1 - FIT[0] * 90 ** -FIT[1]:.1%} |" in table[4]
    picture = curve_svg(facts)
    assert picture.count("stroke-dasharray") == 1
    assert fitted_top1(90_000_000) > fitted_top1(10_000_000)
