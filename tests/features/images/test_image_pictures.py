"""Places of patches, groups of patches, and pictures that are given in unusual ways."""

from __future__ import annotations

import copy
import io
import os
import tracemalloc
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import transformers as tf
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, NotAvailableError
from attn_widget.features.images.encoding import the_encoding
from attn_widget.features.images.grid import area_read
from attn_widget.features.images.patterns import (
    CLEAR,
    chance,
    morans,
    needed,
    separated,
    shares,
)
from attn_widget.features.images.pictures import picture_of
from benchmarks.separation import chance_separation
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

    mine = type("Mine", (type(processor()),), {})
    with pytest.raises(NotAvailableError, match="A Mine may do more"):
        aw.analyze(drawn(), model=(model, mine(size={"height": 48, "width": 48})), progress=False)


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


# What is given


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def test_names_of_files_are_written_on_one_line(tmp_path: Path) -> None:
    names = [b"\xff\xfe.png", "a\nb\u202egpj.png".encode(), "ä\u2028\x07.png".encode()]
    for name in names:
        path = tmp_path / os.fsdecode(name)
        path.write_bytes(saved(drawn()))
        a = aw.analyze(path, model=build("vit"), progress=False)
        note = a.run.encoding.note if a.run else ""
        assert note.endswith(".png, 60 × 44 px") and "\ufffd" in note, note
        assert not {"\n", "\u202e", "\u2028", "\x07"} & {*note}
        widget = aw.show(a)
        page = tmp_path / "page.html"
        widget.to_html(page)
        assert "\u202e" not in page.read_text("utf-8").partition("</title>")[0]
        widget.close()


def test_a_png_that_mentions_svg_is_read(tmp_path: Path) -> None:
    words = PngInfo()
    words.add_text("Description", "<svg> was here")
    path = tmp_path / "x.png"
    path.write_bytes(saved(drawn(), pnginfo=words))
    assert picture_of(path).image.size == (60, 44)
    path.write_bytes(b"<svg/>")
    with pytest.raises(InputError, match="is an SVG"):
        picture_of(path)


def test_numbers_of_8_bits_in_more_are_refused_and_floats_noted(tmp_path: Path) -> None:
    low = np.arange(64, dtype=np.int32).reshape(8, 8)
    for given in (Image.fromarray(low), Image.fromarray(low.astype(np.uint16)), low.astype(np.uint16)):  # fmt: skip
        with pytest.raises(InputError, match=r"none above 63: of 16 bits this is black.*convert"):
            picture_of(given)
    found = picture_of(Image.fromarray(low * 1000))
    assert found.note == "8 × 8 px, 16 bits as 8" and np.asarray(found.image).max() == 245
    assert not np.asarray(picture_of(Image.fromarray(low * 0)).image).any()
    path = tmp_path / "x.tiff"
    path.write_bytes(saved(Image.fromarray((low / 63).astype(np.float32)), "TIFF"))
    assert picture_of(path).note == "x.tiff, 8 × 8 px, 0 to 1 as 8 bits"


def test_a_pil_image_is_read_at_its_frame_and_not_changed() -> None:
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "lime", "blue")]
    gif = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    image = Image.open(io.BytesIO(gif))
    image.seek(1)
    found = picture_of(image)
    assert found.image.getpixel((3, 3)) == (0, 255, 0) and found.note == "20 × 20 px, frame 2"
    assert image.tell() == 1
    plain = drawn()
    plain.info["kept"] = "yes"
    before = plain.tobytes()
    picture_of(plain)
    assert plain.tobytes() == before and plain.info == {"kept": "yes"}


@pytest.mark.parametrize("kind", ["TIFF", "JPEG", "PNG"])
def test_a_picture_that_is_turned_is_noted(kind: str, tmp_path: Path) -> None:
    exif = Image.Exif()
    for orientation, size in ((3, (60, 44)), (6, (44, 60))):
        exif[0x0112] = orientation
        content = saved(drawn(), kind, exif=exif)
        path = tmp_path / "x"
        path.write_bytes(content)
        opened = Image.open(io.BytesIO(content))
        for given in (path, opened):
            found = picture_of(given)
            assert found.image.size == size and found.note.endswith("turned as its EXIF says")


def test_rectangles_fit_a_picture_that_is_rounded() -> None:
    a = aw.analyze(Image.new("RGB", (9000, 93)), model=build("vit"), progress=False)
    assert a.image.picture.size == (768, 8)
    np.testing.assert_allclose(a.image.rects[-1], [576, 6, 192, 2], rtol=1e-5)


@pytest.mark.parametrize("name", ["beit", "dinov2", "clip_vision_model"])
def test_a_model_of_bfloat16_gets_pixels_of_it(name: str) -> None:
    model, reader = build(name)
    a = aw.analyze(drawn(), model=(copy.deepcopy(model).bfloat16(), reader), progress=False)
    whole = aw.analyze(drawn(), model=(model, reader), progress=False)
    assert np.isfinite(a.attention(0, 0)).all()
    np.testing.assert_allclose(a.attention(0, 0), whole.attention(0, 0), atol=0.1)


# Figures


def test_positions_layers_and_heads_are_checked() -> None:
    a = aw.analyze(drawn(), model=build("vit"), progress=False)
    np.testing.assert_array_equal(a.image.rows(cast("int", np.int64(3))), a.image.rows(3))
    np.testing.assert_array_equal(a.image.rows(range(2)), a.image.rows([0, 1]))
    layer, head, _ = a.image.clearest([1], np.array([0, 2]).tolist())
    assert layer == 1 and head in (0, 2)
    bad: Any
    for bad in ([], [17], [-1], [True], [1.5], 17, -1):
        with pytest.raises(InputError, match="tokens"):
            a.image.rows(bad)
    for bad in (None, "12", 1.5):
        with pytest.raises(InputTypeError, match="tokens"):
            a.image.rows(bad)
    for bad in ([9], [], [-1]):
        with pytest.raises(InputError, match="layers"):
            a.image.clearest(layers=bad)
        with pytest.raises(InputError, match="heads"):
            a.image.clearest(heads=bad)


def test_what_is_asked_for_without_a_focus() -> None:
    for name, first in (("vit", [0]), ("siglip_vision_model", [*range(16)])):
        a = aw.analyze(drawn(), model=build(name), progress=False)
        found = the_encoding(a)
        assert (
            found.focused(None) == first
            and found.focused(0) == [0]
            and found.focused(5, [6]) == [5]
        )
        assert found.focused(None, [7, 5, 7]) == [5, 7]
    with pytest.raises(NotAvailableError, match="not of an image"):
        the_encoding(aw.analyze("the cat", progress=False))
