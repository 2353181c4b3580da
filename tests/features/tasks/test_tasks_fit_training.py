"""How fine-tuning proceeds: rates, dropout, epochs and seeds."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import attn_widget as aw
from attn_widget.errors import (
    TooLongError,
)
from attn_widget.features.tasks import passes, trainer
from attn_widget.features.tasks.fit import fit_classifier
from attn_widget.features.tasks.heads import POOLINGS, build
from tests.close import assert_close
from tests.features.tasks.toy_task import QUICK, REVIEW, texts_and_labels, tiny
from tests.unit import tiny_models
from tests.unit.tiny_models import FAMILIES


def test_the_given_model_and_the_users_random_numbers_stay_as_they_are() -> None:
    model, tokenizer = tiny()
    before = copy.deepcopy(model.state_dict())
    texts, labels = texts_and_labels(9)

    def drawn() -> list[Any]:
        return [*torch.rand(3).tolist(), np.random.rand(), random.random()]  # noqa: NPY002

    def seed() -> None:
        torch.manual_seed(5)
        np.random.seed(5)  # noqa: NPY002
        random.seed(5)

    seed()
    expected = drawn()
    seed()
    fitted = fit_classifier((model, tokenizer), texts, labels, epochs=1, **QUICK)
    assert drawn() == expected
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not model.training and fitted.tokenizer is not tokenizer


def test_the_encoder_is_copied_with_its_pooler_and_only_the_head_is_new() -> None:
    encoder = aw.load(progress=False)
    model, fresh = build(encoder, "linear", ("no", "yes"), "first")
    assert type(model) is transformers.BertForSequenceClassification
    assert fresh == {"classifier.weight", "classifier.bias"}
    own = model.base_model.state_dict()
    for name, value in encoder.model.base_model.state_dict().items():
        assert torch.equal(own[name], value), name


def test_a_pooler_without_trained_weights_learns_as_part_of_the_head(tmp_path: Any) -> None:
    model, tokenizer = tiny()
    bare = transformers.BertForMaskedLM(model.config)  # has no pooler
    bare.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    _, fresh = build(aw.load(tmp_path, progress=False), "linear", ("no", "yes"), "first")
    assert {name.rpartition(".")[0] for name in fresh} == {"classifier", "bert.pooler.dense"}


def test_rates_rise_and_fall_by_batches_and_differ_between_encoder_and_head(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates: list[tuple[float, float]] = []
    step = trainer.ClassifierTrainer.compute_loss

    def noted(self: Any, *batch: Any, **options: Any) -> Any:
        groups = self.optimizer.param_groups
        rates.append((groups[0]["lr"], groups[2]["lr"]))
        return step(self, *batch, **options)

    monkeypatch.setattr(trainer.ClassifierTrainer, "compute_loss", noted)
    texts, labels = texts_and_labels(15)
    fitted = fit_classifier(
        tiny(), texts, labels, epochs=2, warmup=0.2, lr_encoder=1e-3, lr_head=1e-2, batch_size=3,
        progress=False,
    )  # fmt: skip
    shares = [1 / 2, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    np.testing.assert_allclose(rates, [(1e-3 * share, 1e-2 * share) for share in shares])
    assert [record["lr_head"] for record in fitted.history] == pytest.approx([7.5e-3, 1.25e-3])
    assert fitted.history[0]["validation"] is None and fitted.best_epoch == 2


def test_training_writes_nothing_but_what_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts, labels = texts_and_labels(9)
    fitted = fit_classifier(tiny(), texts, labels, epochs=1, **QUICK)
    assert list(tmp_path.iterdir()) == [] and capsys.readouterr().out == ""
    assert not any("forward" in vars(module) for module in fitted.model.modules())


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_encoder_keeps_its_own_dropout_and_the_head_has_one_of_its_own(
    family: str, pooling: Any
) -> None:
    model, tokenizer = tiny_models.build(family, "Model")
    for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout",
                 "embedding_dropout", "mlp_dropout"):  # fmt: skip
        if hasattr(model.config, name):
            setattr(model.config, name, 0.03)
    found, _ = build(aw.load((model, tokenizer)), "linear", ("no", "yes"), pooling)
    inside = {id(module) for module in found.base_model.modules()}
    kinds = [m for m in found.modules() if isinstance(m, torch.nn.Dropout)]
    assert {m.p for m in kinds if id(m) in inside} <= {0.03, 0.0}
    assert {m.p for m in kinds if id(m) not in inside} == {0.1}
    assert any(m.p == 0.03 for m in kinds if id(m) in inside)


def test_training_does_not_move_the_states_of_an_encoder_that_was_trained_without_dropout() -> None:
    encoder = aw.load(progress=False)
    model, _ = build(encoder, "linear", ("no", "yes"))
    inputs = encoder.tokenizer(REVIEW, return_tensors="pt")
    with torch.no_grad():
        off = model.eval().base_model(**inputs)[0]
        torch.testing.assert_close(model.train().base_model(**inputs)[0], off)


def test_the_mean_is_that_of_the_tokens_alone_and_in_a_batch() -> None:
    encoder = aw.load(progress=False)
    model = build(encoder, "linear", ("no", "yes"))[0].eval()
    texts = ["Cats purr.", REVIEW]
    with torch.no_grad():
        found = model(**encoder.tokenizer(texts, padding=True, return_tensors="pt")).logits.numpy()
    for text, logits in zip(texts, found, strict=True):
        states = (
            aw.analyze(text, tagger=None, progress=False).model.hidden_states[-1].astype(np.float64)
        )
        mean = states.mean(axis=0)
        normed = (mean - mean.mean()) / np.sqrt(mean.var() + 1e-5)
        weights = model.classifier.weight.detach().double().numpy()
        size = np.linalg.norm(weights, axis=1) * np.abs(states).max() / mean.std()
        assert_close(logits, weights @ normed, **tiny_models.EMBEDDED, size=size)


def test_a_wider_encoder_learns_at_a_lower_rate_unless_one_is_given() -> None:
    texts, labels = texts_and_labels(6)
    wide = tiny_models.build(
        "bert", "Model", hidden_size=768, num_attention_heads=4, num_hidden_layers=1
    )
    options: dict[str, Any] = {"epochs": 1, "progress": False}
    assert fit_classifier(tiny(), texts, labels, **options).settings["lr_encoder"] == 2e-4
    assert fit_classifier(wide, texts, labels, **options).settings["lr_encoder"] == pytest.approx(
        5e-5
    )
    given = fit_classifier(wide, texts, labels, lr_encoder=1e-3, **options)
    assert given.settings["lr_encoder"] == 1e-3


def test_training_stops_early_and_keeps_the_best_epoch() -> None:
    texts, labels = texts_and_labels(96)
    held, turned = texts_and_labels(12, 150)
    fitted = fit_classifier(
        tiny(), texts, labels, validation=(held, (turned + 1) % 3), epochs=20, patience=2, **QUICK
    )
    losses = [record["validation"]["loss"] for record in fitted.history]
    right = [record["validation"]["correct"] for record in fitted.history]
    best = max(range(len(losses)), key=lambda epoch: (right[epoch], -losses[epoch]))
    assert len(losses) == best + 3 < 20  # the better it learns, the worse it gets
    found = fitted.probabilities(held)
    chosen = found[np.arange(12), (turned + 1) % 3].astype(np.float64)
    # Along the way losses are computed as training is; the answers always are float32 (bfloat16 has 8 bits).
    off = 2**-8 if passes.has_bfloat16(torch.device("cpu")) else 1e-5
    assert -np.log(chosen).mean() == pytest.approx(losses[best], rel=off)
    assert fitted.best_epoch == best + 1


def test_the_same_seed_gives_the_same_weights_and_another_one_does_not() -> None:
    texts, labels = texts_and_labels(24)

    def fit(seed: int) -> Any:
        fitted = fit_classifier(tiny(), texts, labels, epochs=2, seed=seed, **QUICK)
        return fitted.probabilities(texts)

    first = fit(3)
    np.testing.assert_array_equal(fit(3), first)
    assert np.abs(fit(4) - first).max() > 1e-4


def test_texts_are_cut_only_when_that_is_asked_for() -> None:
    texts, labels = texts_and_labels(12)
    with pytest.raises(TooLongError, match=r"texts\[\d+\] has \d+ tokens; at most 12 are read"):
        fit_classifier(tiny(), texts, labels, max_length=12, **QUICK)
    fitted = fit_classifier(
        tiny(), texts, labels, max_length=12, truncation=True, epochs=1, **QUICK
    )
    assert fitted.probabilities(["cat " * 90]).shape == (1, 3)
    with pytest.raises(TooLongError, match=r"texts\[1\] has"):
        fitted.probabilities(["cat", "cat " * 90], truncation=False)
