"""Fine-tuning: what comes out, and what is refused before anything is trained."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import attn_widget as aw
from attn_widget.errors import (
    InputError,
    InputTypeError,
    ModelLoadError,
    NotAvailableError,
    TooLongError,
)
from attn_widget.tasks import fit, passes, trainer
from attn_widget.tasks.fit import fit_classifier
from attn_widget.tasks.fitted import FittedClassifier, load_classifier
from attn_widget.tasks.heads import HEADS, POOLINGS, build
from tests.unit import tiny_models
from tests.unit.tiny_models import FAMILIES
from tests.unit.toy_task import ANIMALS, texts_and_labels, tiny

REVIEW = "The movie was incredibly boring, but the acting saved it."
QUICK: dict[str, Any] = {"lr_encoder": 3e-3, "lr_head": 1e-2, "batch_size": 8, "progress": False}


@pytest.fixture(scope="module", params=HEADS)
def fitted(request: pytest.FixtureRequest) -> FittedClassifier:
    """Either head, trained until it knows the animals."""
    texts, labels = texts_and_labels(96)
    return fit_classifier(
        tiny(), texts, labels, validation=texts_and_labels(12, 150), classes=ANIMALS,
        head=request.param, epochs=5, **QUICK,
    )  # fmt: skip


def pipeline_of(fitted: FittedClassifier) -> Any:
    return transformers.pipeline(
        "text-classification", model=fitted.model, tokenizer=fitted.tokenizer, top_k=None
    )


def by_class(answer: Any) -> list[float]:
    found = {entry["label"]: entry["score"] for entry in answer}
    return [found[name] for name in ANIMALS]


def test_a_small_model_learns_the_task(fitted: FittedClassifier) -> None:
    texts, labels = texts_and_labels(24, 200)
    assert np.mean(fitted.probabilities(texts).argmax(1) == labels) > 0.9
    first, last = fitted.history[0]["train"], fitted.history[-1]["train"]
    assert last["loss"] < 0.5 * first["loss"]


def test_probabilities_are_those_of_the_pipeline_of_transformers(fitted: FittedClassifier) -> None:
    texts = [REVIEW, "cat", *texts_and_labels(5, 70)[0]]
    expected = [by_class(answer) for answer in pipeline_of(fitted)(texts)]
    np.testing.assert_allclose(fitted.probabilities(texts), expected, atol=1e-5)


def test_probabilities_are_not_rounded_as_training_is(
    fitted: FittedClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fitted.probabilities([REVIEW])
    monkeypatch.setattr(passes, "has_bfloat16", lambda device: True)
    np.testing.assert_array_equal(fitted.probabilities([REVIEW]), expected)


def test_other_activations_than_a_softmax_are_those_of_the_task_view(tmp_path: Path) -> None:
    found: dict[str, FittedClassifier] = {}
    for kind in ("multi_label_classification", "regression"):
        model, tokenizer = tiny_models.build("bert", "ForSequenceClassification")
        model.config.problem_type = kind
        for part in (model, tokenizer):
            part.save_pretrained(tmp_path / kind)
        found[kind] = load_classifier(tmp_path / kind)
    labels = found["multi_label_classification"]
    expected = aw.analyze(REVIEW, model=labels, tagger=None).classification
    assert expected is not None and expected.activation == "sigmoid"
    np.testing.assert_allclose(labels.probabilities([REVIEW])[0], expected.probabilities, atol=1e-6)
    with pytest.raises(NotAvailableError, match="regression"):
        found["regression"].probabilities([REVIEW])


def test_numbers_of_numpy_are_kept_as_any_others(tmp_path: Path) -> None:
    texts, labels = texts_and_labels(12)
    numbers: dict[str, Any] = {"epochs": np.int64(1), "seed": np.int64(3)}
    fitted = fit_classifier(tiny(), texts, labels, progress=False, **numbers)
    assert load_classifier(fitted.save(tmp_path / "saved")).settings["seed"] == 3


def test_show_opens_on_the_task_view_with_the_probabilities_of_the_pipeline(
    fitted: FittedClassifier,
) -> None:
    widget = aw.show(REVIEW, model=fitted, progress=False)
    assert widget.view == "task"
    found = widget.analysis.classification
    assert found is not None and found.labels == ANIMALS
    windows = hasattr(fitted.model, "convolutions")
    assert found.note.startswith(
        f"The head reads {'windows over' if windows else 'the mean of'} all tokens"
    )
    expected = by_class(pipeline_of(fitted)([REVIEW])[0])
    np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
    widget.close()


def test_another_view_can_be_asked_for(fitted: FittedClassifier) -> None:
    widget = aw.show(REVIEW, model=fitted, view="heads", progress=False)
    assert widget.view == "heads"
    widget.close()


def test_all_figures_of_the_encoder_are_there(fitted: FittedClassifier) -> None:
    analysis = aw.analyze(REVIEW, model=fitted, progress=False)
    weights = analysis.attention(2, 1)
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
    with torch.no_grad():
        inputs = fitted.tokenizer(REVIEW, return_tensors="pt")
        base = copy.deepcopy(fitted.model.base_model)
        base.config._attn_implementation = "eager"
        eager = base(**inputs, output_attentions=True).attentions[2][0, 1].numpy()
    np.testing.assert_allclose(weights, eager, atol=1e-5)
    assert analysis.metrics.confidence_max.shape == (3, 4)
    slopes = analysis.class_gradient("fox")
    assert np.abs(slopes).max() > 0
    np.testing.assert_allclose(slopes.sum(-1), 0, atol=1e-4)
    assert analysis.ffn(1).shape == (analysis.n_tokens, 48)
    assert analysis.run is not None and analysis.run.encoder.family.name == "bert"


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


@pytest.mark.parametrize(
    ("head", "pooling"), [("linear", "mean"), ("linear", "first"), ("cnn", "mean")]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_can_be_fine_tuned_saved_and_shown(
    family: str, head: Any, pooling: Any, tmp_path: Any
) -> None:
    texts, labels = texts_and_labels(6)
    if pooling == "first" and family == "mpnet":
        labels = labels % 2
    fitted = fit_classifier(
        tiny(family), texts, labels, head=head, pooling=pooling, epochs=1, **QUICK
    )
    expected = fitted.probabilities(texts)
    found = load_classifier(fitted.save(tmp_path / "saved"))
    np.testing.assert_array_equal(found.probabilities(texts), expected)
    analysis = aw.analyze(texts[0], model=tmp_path / "saved", progress=False)
    assert analysis.classification is not None
    np.testing.assert_allclose(analysis.classification.probabilities, expected[0], atol=1e-5)
    assert analysis.run is not None and analysis.run.encoder.family.name == family


def test_a_saved_classifier_is_found_again_whole(fitted: FittedClassifier, tmp_path: Any) -> None:
    folder = fitted.save(tmp_path / "animals")
    assert {"model.safetensors", "tokenizer.json", "config.json", "fit.json"} <= {
        path.name for path in folder.iterdir()
    }
    found = load_classifier(folder)
    assert found.classes == ANIMALS and type(found.model) is type(fitted.model)
    assert list(found.history) == list(fitted.history)
    assert found.settings == fitted.settings and repr(found) == repr(fitted)
    np.testing.assert_array_equal(found.moved, fitted.moved)  # pyright: ignore[reportArgumentType]
    auto = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    assert auto.config.id2label == dict(enumerate(ANIMALS))
    assert fitted.save(folder) == folder  # replaces what it wrote
    assert [path.name for path in tmp_path.iterdir()] == ["animals"]


def test_a_linear_classifier_on_the_first_token_loads_without_this_package(tmp_path: Path) -> None:
    texts, labels = texts_and_labels(6)
    fitted = fit_classifier(tiny(), texts, labels, pooling="first", epochs=1, **QUICK)
    folder = fitted.save(tmp_path / "first")
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"
    found = aw.analyze(texts[0], model=folder, tagger=None, progress=False).classification
    assert found is not None and found.note == ""  # the head reads what the Task view shows


@pytest.mark.parametrize("head", HEADS)
def test_a_classifier_of_the_first_version_still_loads(head: str, tmp_path: Path) -> None:
    """Its linear head was the class of `transformers`; its settings had rates that fall by steps."""
    model, tokenizer = tiny()
    folder = tmp_path / "old"
    config = model.config.to_dict() | {
        "hidden_dropout_prob": 0.2,
        "attention_probs_dropout_prob": 0.2,
    }
    labels = {"id2label": dict(enumerate(ANIMALS)), "problem_type": "single_label_classification"}
    if head == "cnn":
        old = build(aw.load((model, tokenizer)), "cnn", ANIMALS)[0]
        kept = {
            "widths": [3, 4, 5],
            "filters": 100,
            "dropout": 0.5,
            "architectures": [type(old).__name__],
        }
        written = {"model_type": "attn_widget_text_cnn", "encoder": config, **kept, **labels}
    else:
        old = transformers.BertForSequenceClassification(
            transformers.BertConfig(**config, num_labels=3)
        )
        written = {**config, "architectures": [type(old).__name__], **labels}
    for part in (old, tokenizer):
        part.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(written))
    settings = {"head": head, "dropout": 0.2, "step_size": 2, "gamma": 0.5, "max_length": 128}
    (folder / "fit.json").write_text(json.dumps({"history": [], "settings": settings}))
    found = load_classifier(folder)
    assert found.classes == ANIMALS and found.settings == settings
    with torch.no_grad():
        logits = old.eval()(**tokenizer(REVIEW, return_tensors="pt")).logits[0]
    np.testing.assert_allclose(found.probabilities([REVIEW])[0], logits.softmax(0), atol=1e-6)
    shown = aw.analyze(REVIEW, model=folder, tagger=None, progress=False).classification
    assert shown is not None and shown.labels == ANIMALS
    np.testing.assert_allclose(shown.logits, logits, atol=1e-5)


def test_a_folder_of_other_things_is_not_overwritten(
    fitted: FittedClassifier, tmp_path: Any
) -> None:
    (tmp_path / "thesis.txt").write_text("three years of work")
    with pytest.raises(InputError, match="holds no fitted classifier"):
        fitted.save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "three years of work"


@pytest.mark.parametrize("load", [load_classifier, aw.load])
def test_a_folder_without_its_tokenizer_is_refused(
    load: Any, fitted: FittedClassifier, tmp_path: Any
) -> None:
    folder = fitted.save(tmp_path / "animals")
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(ModelLoadError, match="tokenizer"):
        load(folder)


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


def test_without_accelerate_training_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "find_spec", lambda name: None)
    with pytest.raises(NotAvailableError, match=r"needs accelerate.*attn-widget\[tasks\]"):
        fit_classifier(tiny(), *texts_and_labels(9), **QUICK)


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
        states = aw.analyze(text, tagger=None, progress=False).hidden_states[-1].astype(np.float64)
        mean = states.mean(axis=0)
        normed = (mean - mean.mean()) / np.sqrt(mean.var() + 1e-5)
        weights = model.classifier.weight.detach().double().numpy()
        np.testing.assert_allclose(logits, weights @ normed, atol=1e-4)


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


TEXTS, LABELS = texts_and_labels(6)
HELD = texts_and_labels(3, 30)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"texts": []}, InputError, "texts is empty"),
        ({"texts": "one text"}, InputTypeError, "expected a list of str"),
        ({"texts": [*TEXTS[:5], None]}, InputTypeError, r"texts\[5\] is a NoneType"),
        ({"texts": [*TEXTS[:5], "  "]}, InputError, r"texts\[5\] holds only white space"),
        ({"texts": [*TEXTS[:5], "\ud800"]}, InputError, r"texts\[5\] has a lone surrogate"),
        ({"texts": [*TEXTS[:5], "cat " * 300]}, TooLongError, r"texts\[5\] has \d+ tokens; at most 128"),
        ({"labels": LABELS[:5]}, InputError, "6 texts and 5 labels"),
        ({"labels": [0, 1, 3, 0, 1, 3]}, InputError, r"0, 1, 3, expected .* \(2 is missing\)"),
        ({"labels": [1, 2, 1, 2, 1, 2]}, InputError, r"\(0 is missing\)"),
        ({"labels": [-1, 0, 1, -1, 0, 1]}, InputError, "expected 0 to c - 1 without a gap"),
        ({"labels": [10**12, 0, 1, 0, 0, 1]}, InputError, r"\(2 is missing\)"),
        ({"labels": [0] * 6}, InputError, "nothing to tell apart"),
        ({"labels": ["a", "b"] * 3}, InputTypeError, "expected int"),
        ({"labels": [0.0, 1.0] * 3}, InputTypeError, "expected int"),
        ({"labels": [[0, 1]] * 6}, InputTypeError, "expected one class for each text"),
        ({"validation": ([], [])}, InputError, "validation texts is empty"),
        ({"validation": HELD[0]}, InputTypeError, r"expected \(texts, labels\)"),
        ({"validation": (HELD[0], [0, 1])}, InputError, "3 validation texts and 2 validation labels"),
        ({"validation": (HELD[0], [0, 1, 3])}, InputError, "has the class 3, which the training"),
        ({"classes": ("a", "b")}, InputError, "2 names of classes, and the labels have 3"),
        ({"classes": ("a", "b", "a")}, InputError, "same name"),
        ({"classes": "abc"}, InputTypeError, "several names"),
        ({"classes": 5}, InputTypeError, "classes is 5, expected several names"),
        ({"classes": ("a", "b", 5)}, InputTypeError, "several names"),
        ({"labels": [0, 1, [2], 0, 1, 2]}, InputTypeError, "labels cannot be read as an array"),
        ({"seed": -1}, InputError, "seed is -1, expected 0 to 4,294,967,295"),
        ({"truncation": "no"}, InputTypeError, "truncation is 'no', expected True or False"),
        ({"resume": "no"}, InputTypeError, "resume is 'no', expected True or False"),
        ({"checkpoint": 5}, InputTypeError, "checkpoint is a int, expected a str or a path"),
        ({"checkpoint": "a" * 300}, InputError, "300 characters, more than the disk takes"),
        ({"checkpoint": "a\0b"}, InputError, "NUL character"),
        ({"head": "lstm"}, InputError, "expected one of 'linear', 'cnn'"),
        ({"epochs": 0}, InputError, "epochs is 0, expected 1 to"),
        ({"batch_size": 2.5}, InputTypeError, "batch_size is a float"),
        ({"warmup": 1.0}, InputError, "warmup is 1.0, expected 0 to 0.9"),
        ({"warmup": None}, InputTypeError, "warmup is a NoneType, expected a number"),
        ({"dropout": 0.95}, InputError, "dropout is 0.95, expected 0 to 0.9"),
        ({"dropout": "own"}, InputTypeError, "dropout is a str, expected a number"),
        ({"pooling": "max"}, InputError, "pooling is 'max', expected one of 'mean', 'first'"),
        ({"lr_head": -1.0}, InputError, "lr_head is -1.0, expected 0 to 1"),
        ({"lr_encoder": float("nan")}, InputError, "lr_encoder is nan"),
        ({"max_length": 500}, InputError, "max_length is 500, expected 3 to 128"),
        ({"checkpoint": __file__}, InputError, "is a file"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_in_words(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    given: dict[str, Any] = {"texts": TEXTS, "labels": LABELS, "progress": False, **change}
    with pytest.raises(error, match=message):
        fit_classifier(tiny(), **given)


def test_an_encoder_that_cannot_carry_a_head_is_refused() -> None:
    model, tokenizer = tiny()
    bare = copy.deepcopy(tokenizer)
    bare.pad_token = None
    with pytest.raises(InputError, match="no padding token"):
        fit_classifier((model, bare), TEXTS, LABELS, progress=False)


def test_a_loss_that_is_no_number_ends_the_training_in_words() -> None:
    model, tokenizer = tiny()
    broken = copy.deepcopy(model)
    with torch.no_grad():
        broken.embeddings.LayerNorm.weight[0] = torch.inf
    with pytest.raises(
        InputError, match="The loss is nan in epoch 1, batch 1: training has diverged"
    ):
        fit_classifier((broken, tokenizer), TEXTS, LABELS, progress=False)


def test_one_line_names_the_heads_that_moved(fitted: FittedClassifier) -> None:
    """Mean over four validation texts of what `compare` says of each."""
    texts, _ = texts_and_labels(12, 150)
    each = [
        aw.compare(texts[i], models=[tiny(), fitted], tagger=None, progress=False).distances()
        for i in (0, 3, 7, 11)
    ]
    expected = np.mean([found.distances for found in each], axis=0)
    assert fitted.moved is not None and expected.max() > 0.01
    np.testing.assert_allclose(fitted.moved, expected, atol=1e-6)
    layer, head = np.unravel_index(expected.argmax(), expected.shape)
    line = repr(fitted).splitlines()[1]
    assert f"heads that moved most: L{layer} H{head} {expected.max():.3f}, " in line
    assert f"median of 12 heads {np.median(expected):.3f}" in line
    assert "aw.compare(text, models=[base, fitted])" in line
    with pytest.raises(InputError, match="moved has shape"):
        FittedClassifier(fitted.model, fitted.tokenizer, moved=[0.1])


def test_progress_shows_the_loss(capsys: pytest.CaptureFixture[str]) -> None:
    fit_classifier(tiny(), TEXTS, LABELS, validation=HELD, epochs=2)
    printed, shown = capsys.readouterr()
    assert "loss=" in shown and "validation loss=" in shown and "2/2" in shown
    assert printed.startswith("heads that moved most: L") and printed.count("\n") == 1
    fit_classifier(tiny(), TEXTS, LABELS, epochs=1, progress=False)
    assert capsys.readouterr() == ("", "")


def test_curves_have_a_panel_for_each_metric(fitted: FittedClassifier) -> None:
    figure = fitted.curves()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["Cross-entropy", "AUC-ROC", "% correct"]
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    expected = [record["validation"]["cross_entropy"] for record in fitted.history]
    np.testing.assert_allclose(drawn["validation"], expected)
    assert figure._repr_png_()[0].startswith(b"\x89PNG")


def test_the_repr_tells_what_it_is(fitted: FittedClassifier) -> None:
    kind = type(fitted.model).__name__
    assert repr(fitted).startswith(f"<FittedClassifier {kind}: cat, dog, fox, epoch ")
    first, line = repr(fitted).splitlines()
    assert len(first) < 120 and line.startswith("heads that moved most: ")
