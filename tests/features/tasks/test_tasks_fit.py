"""Fine-tuning: what comes out, and how it is kept."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import attn_widget as aw
from attn_widget.errors import (
    InputError,
    ModelLoadError,
    NotAvailableError,
)
from attn_widget.features.tasks import passes
from attn_widget.features.tasks.fit import fit_classifier
from attn_widget.features.tasks.fitted import FittedClassifier, load_classifier
from attn_widget.features.tasks.heads import HEADS, build
from tests.close import assert_close
from tests.features.tasks.toy_task import ANIMALS, QUICK, REVIEW, texts_and_labels, tiny
from tests.unit import tiny_models
from tests.unit.tiny_models import FAMILIES


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
    assert_close(fitted.probabilities(texts), expected, **tiny_models.SUMS, size=1)


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
    expected = aw.analyze(REVIEW, model=labels, tagger=None).model.classification
    assert expected is not None and expected.activation == "sigmoid"
    assert_close(
        labels.probabilities([REVIEW])[0], expected.probabilities, **tiny_models.SUMS, size=1
    )
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
    found = widget.analysis.model.classification
    assert found is not None and found.labels == ANIMALS
    windows = hasattr(fitted.model, "convolutions")
    assert found.note.startswith(
        f"The head reads {'windows over' if windows else 'the mean of'} all tokens"
    )
    expected = by_class(pipeline_of(fitted)([REVIEW])[0])
    assert_close(found.probabilities, expected, **tiny_models.SUMS, size=1)
    widget.close()


def test_another_view_can_be_asked_for(fitted: FittedClassifier) -> None:
    widget = aw.show(REVIEW, model=fitted, view="heads", progress=False)
    assert widget.view == "heads"
    widget.close()


def test_all_figures_of_the_encoder_are_there(fitted: FittedClassifier) -> None:
    analysis = aw.analyze(REVIEW, model=fitted, progress=False)
    weights = analysis.attention(2, 1)
    assert_close(weights.sum(1), 1, terms=len(weights))
    with torch.no_grad():
        inputs = fitted.tokenizer(REVIEW, return_tensors="pt")
        base = copy.deepcopy(fitted.model.base_model)
        base.config._attn_implementation = "eager"
        eager = base(**inputs, output_attentions=True).attentions[2][0, 1].numpy()
    assert_close(weights, eager, **tiny_models.SUMS, size=1)
    assert analysis.metrics.confidence_max.shape == (3, 4)
    slopes = analysis.model.class_gradient("fox")
    assert np.abs(slopes).max() > 0
    # The classes' probabilities add up to 1.
    assert_close(slopes.sum(-1), 0, **tiny_models.BOTH_WAYS, size=np.abs(slopes).sum(-1))
    assert analysis.model.ffn(1).shape == (analysis.trace.n_tokens, 48)
    assert analysis.run is not None and analysis.run.encoder.family.name == "bert"


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
    assert analysis.model.classification is not None
    assert_close(
        analysis.model.classification.probabilities, expected[0], **tiny_models.SUMS, size=1
    )
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
    found = aw.analyze(texts[0], model=folder, tagger=None, progress=False).model.classification
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
    assert_close(found.probabilities([REVIEW])[0], logits.softmax(0), **tiny_models.SUMS, size=1)
    shown = aw.analyze(REVIEW, model=folder, tagger=None, progress=False).model.classification
    assert shown is not None and shown.labels == ANIMALS
    assert_close(shown.logits, logits, **tiny_models.SUMS)


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


def test_one_line_names_the_heads_that_moved(fitted: FittedClassifier) -> None:
    """Mean over four validation texts of what `compare` says of each."""
    texts, _ = texts_and_labels(12, 150)
    each = [
        aw.compare(texts[i], models=[tiny(), fitted], tagger=None, progress=False).distances()
        for i in (0, 3, 7, 11)
    ]
    expected = np.mean([found.distances for found in each], axis=0)
    assert fitted.moved is not None and expected.max() > 0.01
    assert_close(fitted.moved, expected, terms=4, size=1)
    layer, head = np.unravel_index(expected.argmax(), expected.shape)
    line = repr(fitted).splitlines()[1]
    assert f"heads that moved most: L{layer} H{head} {expected.max():.3f}, " in line
    assert f"median of 12 heads {np.median(expected):.3f}" in line
    assert "aw.compare(text, models=[base, fitted])" in line
    with pytest.raises(InputError, match="moved has shape"):
        FittedClassifier(fitted.model, fitted.tokenizer, moved=[0.1])


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
