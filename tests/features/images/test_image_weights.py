"""Weights, scores and sums of nine families that read pictures, against `transformers` itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import attn_widget as aw
from attn_widget.analysis import Analysis
from tests.features.images.image_models import (
    CLASSIFIERS,
    FAMILIES,
    OTHERS,
    PATCH,
    build,
    classifier,
    drawn,
    processor,
)

PICTURE = drawn()
EVERY = [*FAMILIES, *OTHERS]


def run(name: str) -> Analysis:
    return aw.analyze(PICTURE, model=build(name), progress=False)


def tower(model: Any) -> Any:
    return getattr(model, "vision_model", model)


def eager(model: Any, pixels: Any, **more: Any) -> Any:
    """What `transformers` gives with its plain attention."""
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            return model(
                pixel_values=pixels, output_attentions=True, output_hidden_states=True, **more
            )
    finally:
        model.set_attn_implementation(before)


@pytest.mark.parametrize("name", EVERY)
def test_weights_are_those_of_eager_attention(name: str) -> None:
    a = run(name)
    model, read = build(name)
    pixels = read(images=PICTURE, return_tensors="pt")["pixel_values"]
    found = eager(tower(model), pixels)
    assert len(found.attentions) == a.trace.n_layers == 3
    for layer, weights in enumerate(found.attentions):
        np.testing.assert_allclose(a.trace.layer_weights(layer), weights[0].numpy(), atol=1e-6)
        scores = torch.from_numpy(a.trace.layer_scores(layer))
        np.testing.assert_allclose(scores.softmax(-1).numpy(), weights[0].numpy(), atol=1e-6)
    states = a.model.hidden_states
    np.testing.assert_allclose(states[0], found.hidden_states[0][0].numpy(), atol=1e-5)
    np.testing.assert_allclose(states[-1], found.last_hidden_state[0].numpy(), atol=1e-4)


def test_special_tokens_stand_before_the_patches() -> None:
    before = {
        "vit": ["[CLS]"],
        "deit": ["[CLS]", "[DIST]"],
        "dinov2_with_registers": ["[CLS]", "[REG0]", "[REG1]", "[REG2]"],
        "siglip_vision_model": [],
        "clip": ["[CLS]"],
    }
    for name, names in before.items():
        a = run(name)
        assert [token.text for token in a.tokens if token.special] == names, name
        assert [token.text for token in a.tokens[: len(names)]] == names, name
        patches = [token.text for token in a.tokens[len(names) :]]
        assert patches[:5] == ["r1 c1", "r1 c2", "r1 c3", "r1 c4", "r2 c1"]
        assert len({*patches}) == len(patches) == 16


@pytest.mark.parametrize("name", EVERY)
def test_mixing_adds_up_to_the_model_s_own_output(name: str) -> None:
    a = run(name)
    for layer in range(3):
        for query in (0, 5, a.trace.n_tokens - 1):
            parts = a.mixing.decompose_output(layer, query)
            assert parts.gap < 1e-5
            inside = a.model.layer(layer)
            np.testing.assert_allclose(parts.output, inside.attention_sum[query], atol=1e-4)
        np.testing.assert_allclose(a.mixing.matrix("alti", layer).sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(a.mixing.matrix("value_zeroing", layer).sum(axis=1), 1, atol=1e-5)  # fmt: skip
    assert np.isfinite(a.mixing.rollout("alti")).all()
    np.testing.assert_allclose(a.rollout().sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_a_layer_is_the_sum_of_its_parts(name: str) -> None:
    a = run(name)
    for layer in range(3):
        parts = a.model.layer(layer)
        np.testing.assert_allclose(parts.attention_sum, parts.layer_input + parts.attention_output, atol=1e-4)  # fmt: skip
        np.testing.assert_allclose(parts.layer_output, parts.attention_sum + parts.ffn_output, atol=1e-4)  # fmt: skip


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_contributions_and_head_effects_of_a_class(name: str) -> None:
    model, read = classifier(name)
    a = aw.analyze(PICTURE, model=(model, read), progress=False)
    pixels = read(images=PICTURE, return_tensors="pt")["pixel_values"]
    logits = eager(model, pixels).logits[0].numpy()
    classes = a.model.classification
    assert classes is not None and classes.labels == ("cat", "dog", "flag")
    np.testing.assert_allclose(classes.logits, logits, atol=1e-5)
    number = aw.target(label="flag", against="cat")
    found = a.why.contributions(number)
    assert found.value == pytest.approx(logits[2] - logits[0], abs=1e-4)
    assert found.gap is not None and found.gap < 1e-5
    assert len(found.values) == a.trace.n_tokens
    for method in ("gradient_x_input", "attention_gradient", "alti", "weights"):
        assert np.isfinite(a.why.contributions(number, method).values).all()
    every = name not in ("vit", "deit", "deit_teacher")
    assert ("mean of all patches" in classes.note) == every
    rolled = a.why.contributions(number, "weights").values
    expected = a.rollout().mean(axis=0) if every else a.rollout()[0]
    np.testing.assert_allclose(rolled, expected, atol=1e-6)
    effects = a.why.head_effects(number)
    off = a.ablate([(1, 2)]).model.classification
    assert off is not None
    expected = (logits[2] - logits[0]) - (off.logits[2] - off.logits[0])
    assert effects.effects[1, 2] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", EVERY)
def test_contributions_to_a_cosine(name: str) -> None:
    a = run(name)
    other = aw.analyze(drawn(44, 60), model=build(name), progress=False)
    found = a.why.contributions(aw.target(similar_to=other))
    assert found.gap is not None and found.gap < 1e-5
    assert found.value == pytest.approx(_cosine(name, drawn(44, 60)), abs=1e-5)
    assert np.isfinite(a.why.head_effects(aw.target(similar_to=other)).effects).all()


def _cosine(name: str, other: Any) -> float:
    """The cosine of both pictures by the functions of `transformers`."""
    model, read = build(name)
    embedded: list[Any] = []
    for picture in (PICTURE, other):
        pixels = read(images=picture, return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            if hasattr(model, "get_image_features"):
                found = model.get_image_features(pixel_values=pixels)
                embedded.append(getattr(found, "pooler_output", found)[0])
            elif name == "clip_projected":
                embedded.append(model(pixel_values=pixels).image_embeds[0])
            elif name.startswith(("clip", "siglip")):
                embedded.append(model(pixel_values=pixels).pooler_output[0])
            else:
                embedded.append(model(pixel_values=pixels).last_hidden_state[0, 0])
    return float(torch.nn.functional.cosine_similarity(*embedded, dim=0))


@pytest.mark.parametrize("name", EVERY)
def test_a_score_is_a_sum_over_pairs_of_patches(name: str) -> None:
    a = run(name)
    for by in ("tokens", "parts"):
        found = a.qk_attribution(2, 1, 5, 3, by=by)
        assert abs(found.gap) < 1e-4 * max(1, np.abs(found.matrix).max())
        assert np.isfinite([effect.total for effect in found.total_effects(2).effects]).all()


@pytest.mark.parametrize("name", ["vit", "deit", "beit", "clip", "siglip_vision_model", "dinov2", "dinov2_with_registers"])  # fmt: skip
@pytest.mark.parametrize("size", [(60, 36), (36, 60), (65, 50)])
def test_positions_of_another_size_are_interpolated(name: str, size: tuple[int, int]) -> None:
    width, height = size
    model, _ = build(name)
    read = processor(do_resize=False)
    picture = drawn(width, height)
    a = aw.analyze(picture, model=(model, read), progress=False)
    assert a.image.grid == (height // PATCH, width // PATCH)
    pixels = read(images=picture, return_tensors="pt")["pixel_values"]
    asks = {} if name.startswith("dinov2") else {"interpolate_pos_encoding": True}
    found = eager(tower(model), pixels, **asks)
    for layer, weights in enumerate(found.attentions):
        np.testing.assert_allclose(a.trace.layer_weights(layer), weights[0].numpy(), atol=1e-6)
    assert a.mixing.decompose_output(1, 3).gap < 1e-5
    np.testing.assert_allclose(a.mixing.matrix("value_zeroing", 1).sum(axis=1), 1, atol=1e-5)
