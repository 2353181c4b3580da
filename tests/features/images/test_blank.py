"""What heads look at in pictures of nothing, and pictures in which there is nothing to divide."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import attn_widget as aw
from attn_widget.features.images.blank import beyond, blank_pixels, blank_rows
from attn_widget.features.images.encoding import ImageEncoding
from attn_widget.features.images.patterns import alike, hangs_together, separated
from attn_widget.protocol.answer import answer
from attn_widget.trace import capture as captured
from tests.features.images.image_models import build, drawn


def run(family: str) -> Any:
    return aw.analyze(drawn(), model=build(family), progress=False)


def encoding_of(a: Any) -> ImageEncoding:
    assert a.run is not None
    return a.run.encoding


def test_what_place_explains_is_taken_away() -> None:
    rng = np.random.default_rng(0)
    blank = np.exp(rng.normal(size=(2, 3, 64)))
    content = np.exp(rng.normal(size=(3, 64)))
    exponents = np.array([1.7, -0.4])[:, None, None]
    left = beyond(content * np.prod(blank**exponents, axis=0) * 5, blank)
    # Ordinary least squares of the logarithms, by numpy.
    for head in range(3):
        x = np.stack([np.ones(64), *np.log(blank[:, head])], axis=1)
        y = np.log(content[head]) + x[:, 1:] @ exponents[:, 0, 0]
        expected = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        np.testing.assert_allclose(np.log(left[head]), expected, atol=1e-5)
    np.testing.assert_allclose(left, beyond(content, blank), rtol=1e-4)


def test_blank_rows_without_a_pattern_change_nothing() -> None:
    maps = np.exp(np.random.default_rng(0).normal(size=(2, 16))).astype(np.float32)
    flat = np.full((2, 2, 16), 1 / 17, np.float32)
    centered = np.log(maps) - np.log(maps).mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(np.log(beyond(maps, flat)), centered, atol=1e-6)
    # The same row twice is taken away once.
    twice = np.stack([maps, maps])
    assert np.abs(np.log(beyond(maps * maps, twice))).max() < 1e-6


def test_a_head_that_looks_at_the_top_of_every_picture_separates_none() -> None:
    rng = np.random.default_rng(2)
    top = np.where(np.indices((16, 16))[0] < 8, 8.0, 1.0).reshape(-1)
    disk = ((np.indices((16, 16)) - 8) ** 2).sum(axis=0).reshape(-1) < 20

    def noise() -> Any:
        return np.exp(rng.normal(0, 0.3, 256))

    blank = np.stack([[top * noise()], [top * noise()]])
    of_place, of_both = top * noise(), top * noise() * np.where(disk, 6, 1)
    found = separated(beyond(np.stack([of_place, of_both]), blank.repeat(2, axis=1)), 16, 16)
    assert separated(of_place[None].astype(np.float32), 16, 16).clear[0]
    assert found.clear.tolist() == [False, True]
    assert (found.groups[1] == disk).mean() > 0.95


@pytest.mark.parametrize("family", ["vit", "dinov2", "siglip_vision_model"])
def test_rows_of_blank_pictures_are_those_of_two_runs(family: str) -> None:
    a = run(family)
    encoding = encoding_of(a)
    found = blank_rows(a.run, encoding)
    given = encoding.arrays["pixel_values"]
    assert found.shape == (2, a.trace.n_layers, a.trace.n_heads, encoding.n_patches)
    for at, pixels in enumerate(blank_pixels(given.shape)):
        other = replace(encoding, arrays={**encoding.arrays, "pixel_values": pixels})
        trace = captured.capture(a.run.encoder, other)
        weights = np.stack([trace.layer_weights(layer) for layer in range(trace.n_layers)])
        rows = weights[:, :, 0] if encoding.first else weights.mean(axis=2)
        np.testing.assert_allclose(found[at], rows[..., encoding.patches], atol=1e-6)


def test_blank_pictures_are_read_once_for_a_model_and_a_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, processor = deepcopy(build("vit"))
    passes: list[int] = []

    def counted(encoder: Any, encoding: Any, **options: Any) -> Any:
        passes.append(encoding.n_tokens)
        return captured.capture(encoder, encoding, **options)

    monkeypatch.setattr("attn_widget.features.images.blank.capture", counted)
    a = aw.analyze(drawn(), model=(model, processor), progress=False)
    first = a.image.separated
    assert len(passes) == 2
    again = aw.analyze(drawn(), model=(model, processor), progress=False).image.separated
    np.testing.assert_array_equal(first.clarity, again.clarity)
    assert len(passes) == 2
    _ = a.ablate([(0, 1)]).image.separated  # another model, so to say
    assert len(passes) == 4
    model.get_input_embeddings().projection.weight.data.mul_(1.5)
    _ = aw.analyze(drawn(), model=(model, processor), progress=False).image.separated
    assert len(passes) == 6


def pictures(side: int) -> dict[str, Any]:
    """Pictures of patches of 4 x 4 px."""
    rng = np.random.default_rng(1)
    wide = 4 * side
    ramp = np.linspace(-1, 1, wide) * np.ones((1, 3, wide, 1))
    shuffled = ramp.reshape(1, 3, side, 4, side, 4).transpose(2, 4, 0, 1, 3, 5)
    shuffled = rng.permutation(shuffled.reshape(-1, 1, 3, 4, 4)).reshape(side, side, 1, 3, 4, 4)
    contrast = np.where(np.arange(wide) < wide // 2, 0.1, 1.0)
    return {
        "even": np.full((1, 3, wide, wide), 0.3),
        "noise": rng.normal(size=(1, 3, wide, wide)),
        "colors": np.kron(rng.normal(size=(1, 3, side, side)), np.ones((1, 1, 4, 4))),
        "shuffled": shuffled.transpose(2, 3, 0, 4, 1, 5).reshape(1, 3, wide, wide),
        "ramp": ramp,
        "contrast": rng.normal(size=(1, 3, wide, wide)) * contrast,
    }


@pytest.mark.parametrize("side", [8, 16])
def test_a_picture_hangs_together_where_neighbors_are_alike(side: int) -> None:
    found = {
        name: hangs_together(pixels.astype(np.float32), side, side)
        for name, pixels in pictures(side).items()
    }
    assert found == {
        "even": False,
        "noise": False,
        "colors": False,
        "shuffled": False,
        "ramp": True,
        "contrast": True,
    }


@pytest.mark.parametrize("spread", [0.1, 1.5])
def test_patches_in_any_order_do_not_hang_together(spread: float) -> None:
    rng = np.random.default_rng(3)
    values = np.exp(rng.normal(0, spread, 256))  # the larger: a few very bright patches
    for _ in range(2000):
        pixels = rng.permutation(values).reshape(1, 1, 16, 16).repeat(3, axis=1)
        assert not hangs_together(pixels.astype(np.float32), 16, 16)


def test_rows_and_columns_without_a_whole_patch_are_left_out() -> None:
    pixels = np.zeros((1, 3, 35, 33), np.float32)
    pixels[..., 32:, :] = 9
    pixels[..., 32:] = 9
    assert not hangs_together(pixels, 8, 8)


def test_neighbors_of_one_group_by_hand() -> None:
    rng = np.random.default_rng(0)
    groups = (rng.random((5, 7)) < 0.3).astype(np.uint8)
    pairs = [
        (groups[r, c], groups[r + down, c + across])
        for down, across in ((1, 0), (0, 1))
        for r in range(5 - down)
        for c in range(7 - across)
    ]
    share, chance = alike(groups.reshape(-1), 5, 7)
    assert share == pytest.approx(np.mean([a == b for a, b in pairs]))
    orders = alike(np.stack([rng.permutation(groups.reshape(-1)) for _ in range(4000)]), 5, 7)[0]
    assert chance == pytest.approx(np.mean(orders), abs=0.01)


def test_groups_whose_neighbors_differ_often_are_not_clear() -> None:
    down, across = np.indices((16, 16))
    thick = np.where(down // 2 % 2 == 0, 8.0, 1.0)  # bands of two rows
    thin = np.where((down % 2 == 0) & (across > 3), 8.0, 1.0)
    thick, thin = (separated(m.astype(np.float32).reshape(-1), 16, 16) for m in (thick, thin))
    assert thick.clear and thick.alike == pytest.approx((240 + 8 * 16) / 480)
    assert not thin.clear
    some = thick._replace(alike=np.float32(0.74))
    assert not some.clear


def test_of_an_even_picture_no_head_is_named() -> None:
    a = aw.analyze(np.full((60, 60, 3), 90, np.uint8), model=build("vit"), progress=False)
    assert not a.image.hangs_together
    assert not a.image.separated.clear.any() and np.isinf(a.image.separated.needed).all()
    assert a.image.clearest()[2] is False


def test_the_page_is_told_of_its_head() -> None:
    a = run("vit")
    reply, _ = answer(a, {"kind": "patch_patterns"})
    data = reply["data"]
    layer, head = data["best"]
    found = a.image.separated
    share, chance = alike(found.groups[layer, head], 4, 4)
    assert (data["alike"], data["alike_chance"]) == (float(share), float(chance))
    assert data["upper"] == (layer >= 1.5)
    assert data["together"] is None  # of 16 patches
    assert data["clear"] is False


def test_clear_heads_of_the_upper_half_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    a = run("vit")
    _, n_heads = a.image.separated.clarity.shape
    clarity = np.linspace(0.9, 0.2, 3 * n_heads).reshape(3, n_heads).astype(np.float32)

    def best(clear: Any) -> tuple[int, int, bool]:
        some = a.image.separated._replace(
            separation=clarity,
            contiguity=np.ones_like(clarity),
            deviations=np.where(clear, 9, 0).astype(np.float32),
            needed=np.full_like(clarity, 5),
            alike=np.ones_like(clarity),
        )
        monkeypatch.setattr(type(a.image), "separated", property(lambda _: some))
        return a.image.clearest()

    layer = np.arange(3)[:, None] * np.ones((1, n_heads), int)
    assert best(layer >= 0) == (2, 0, True)
    assert best(layer < 2) == (0, 0, True)  # 1 is no upper half of 3 layers
    assert best(layer < 0) == (0, 0, False)
