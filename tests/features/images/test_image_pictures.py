"""Places of patches, groups of patches, and pictures that are given in unusual ways."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import transformers as tf
from PIL import Image

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.images.grid import area_read
from attn_widget.features.images.patterns import (
    CLEAR,
    chance,
    chance_separation,
    morans,
    needed,
    separated,
    shares,
)
from attn_widget.protocol.answer import answer
from tests.features.images.image_models import build, drawn, processor


def made(name: str, **given: Any) -> Any:
    """A processor by Pillow; earlier versions have it under the plain name."""
    return (getattr(tf, f"{name}ImageProcessorPil", None) or getattr(tf, f"{name}ImageProcessor"))(**given)  # fmt: skip


# Processors


def test_a_processor_that_does_more_than_resize_and_crop_is_refused() -> None:
    model, _ = build("dinov2")
    for name in ("Levit", "PoolFormer", "ConvNext"):
        with pytest.raises(NotAvailableError, match="may do more to a picture"):
            aw.analyze(drawn(), model=(model, made(name)), progress=False)

    class Mine(type(processor())):  # type: ignore[misc]  # pyright: ignore
        pass

    with pytest.raises(NotAvailableError, match="A Mine may do more"):
        aw.analyze(drawn(), model=(model, Mine(size={"height": 48, "width": 48})), progress=False)


@pytest.mark.parametrize("name", ["ViT", "DeiT", "Bit", "Beit", "CLIP", "Siglip"])
def test_processors_of_the_families_are_read(name: str) -> None:
    sides = {"height": 48, "width": 48}
    reader = made(name, size=sides, crop_size=sides)
    a = aw.analyze(drawn(), model=(build("dinov2")[0], reader), progress=False)
    assert a.image.grid == (4, 4)
    np.testing.assert_allclose(a.image.rects[-1], [45, 33, 15, 11], atol=1e-4)


@pytest.mark.parametrize("size", [(61, 300), (300, 61), (90, 60), (60, 90), (299, 61), (48, 300)])
def test_a_longest_edge_is_computed_as_transformers_does(size: tuple[int, int]) -> None:
    reader = made("Bit", size={"shortest_edge": 48, "longest_edge": 60}, do_center_crop=False)
    pixels = reader(images=Image.new("RGB", size), return_tensors="np")["pixel_values"]
    area = area_read(reader, size, pixels.shape[-2:])
    assert area == (0, 0, *size)


# Groups of patches


def in_any_order(sizes: list[int], side: int, draws: int) -> tuple[Any, Any]:
    """Deviations of groups of patches in any order, and what is needed of them, [sizes, draws] and [sizes]."""
    rng = np.random.default_rng(0)
    order = np.argsort(rng.random((draws, side * side)), axis=1)
    apart = [morans((order < size).astype(float), side, side)[1] for size in sizes]
    return np.stack(apart), needed(np.array(sizes), side, side)


@pytest.mark.parametrize("side", [4, 7, 16])
def test_groups_in_any_order_are_not_clear(side: int) -> None:
    count = side * side
    sizes = [max(2, -(-count * share // 100)) for share in (5, 10, 25, 50)]
    apart, least = in_any_order(sizes, side, 20_000)
    assert (apart < least[:, None]).all()
    assert (np.diff(least) <= 0).all() and (least > CLEAR).all()


def test_what_is_needed_of_a_group() -> None:
    np.testing.assert_allclose(needed(np.array([13, 128, 243]), 16, 16), [8.11, 5.08, 8.11], atol=0.01)  # fmt: skip
    assert np.isinf(needed(np.array([0, 1, 16]), 4, 4)).all()
    down, across = np.indices((16, 16))
    for region in (down < 8, (down < 4) & (across < 4), (down - 7) ** 2 + (across - 8) ** 2 < 20):
        found = separated(np.where(region, 8.0, 1.0).astype(np.float32).reshape(1, -1), 16, 16)
        assert found.clear[0] and found.groups.sum() == region.sum()
    found = separated(np.where(np.indices((4, 4))[0] < 2, 8.0, 1.0).reshape(1, -1), 4, 4)
    assert not found.clear[0]  # 16 patches lie like this too often


def test_chance_of_the_separation_depends_on_the_number_of_patches() -> None:
    rng = np.random.default_rng(1)
    for side in (3, 4, 7, 14):
        noise = np.exp(rng.normal(size=(4000, side * side))).astype(np.float32)
        mean = separated(noise, side, side).separation.mean()
        assert chance_separation(side * side) == pytest.approx(mean, abs=0.006)
    a = aw.analyze(drawn(), model=build("vit"), progress=False)
    reply, _ = answer(a, {"kind": "patch_patterns"})
    assert reply["data"]["chance_separation"] == pytest.approx(2 / np.pi + 1 / 16)
    assert reply["data"]["clear"] is False


@pytest.mark.parametrize(("rows", "columns", "first", "after"), [(5, 7, 1, 0), (1, 3, 0, 1), (2, 1, 3, 2), (1, 1, 1, 0)])  # fmt: skip
def test_shares_by_place_equal_those_of_masks(
    rows: int, columns: int, first: int, after: int
) -> None:
    count = rows * columns
    n = first + count + after
    weights = np.random.default_rng(2).random((3, n, n)).astype(np.float32)
    weights /= weights.sum(axis=-1, keepdims=True)
    row, column = np.divmod(np.arange(count), columns)
    down, across = abs(row[:, None] - row), abs(column[:, None] - column)
    far = np.maximum(down, across)
    kinds = [far == 0, (far > 0) & (far <= 2), far > 2, (down == 0) & (across > 0), (across == 0) & (down > 0)]  # fmt: skip
    cells = weights[:, first : first + count, first : first + count]
    found = shares(weights, rows, columns, first)
    for at, kind in enumerate(kinds):
        np.testing.assert_allclose(found[:, at], (cells * kind).sum((1, 2)) / count, atol=1e-6)
        assert chance(rows, columns, n)[at] == pytest.approx(kind.sum() / count / n)
    np.testing.assert_allclose(found[:, [0, 1, 2, 5]].sum(-1), 1, atol=1e-6)
    assert chance(rows, columns, n)[5] == pytest.approx(1 - count / n)


def test_patterns_of_many_patches_need_no_masks() -> None:
    weights = np.full((2, 1601, 1601), 1 / 1601, np.float32)
    tracemalloc.start()
    found = shares(weights, 40, 40, 1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(found[0], chance(40, 40, 1601), rtol=1e-4)
    assert most < 2_000_000  # masks of these are 61 MB
