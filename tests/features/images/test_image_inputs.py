"""Pictures as they come: files, arrays and PIL images of every kind, broken ones, and where their patches lie."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import attn_widget as aw
from attn_widget.errors import InputError, InputTypeError, ModelLoadError, NotAvailableError
from attn_widget.features.images import pictures
from attn_widget.features.images.pictures import encoded, picture_of
from attn_widget.protocol.answer import answer
from tests.features.images.image_models import PATCH, SIDE, build, drawn, processor
from tests.unit.tiny_models import build as build_text


def analyzed(given: Any, **options: Any) -> aw.Analysis:
    return aw.analyze(given, model=build("vit"), progress=False, **options)


def pixels(given: Any) -> Any:
    return np.asarray(picture_of(given).image)


# Kinds of pictures


def test_a_path_an_image_and_an_array_are_the_same_picture(tmp_path: Path) -> None:
    picture = drawn()
    path = tmp_path / "a picture.png"
    picture.save(path)
    whole = np.asarray(picture)
    runs = [analyzed(given) for given in (path, str(path), picture, whole, whole / 255)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.trace.layer_weights(2), runs[0].trace.layer_weights(2))
    assert runs[0].run is not None and runs[0].run.encoding.note == "a picture.png, 60 × 44 px"
    assert runs[0].text is None
    assert str(aw.show(runs[0]))


def test_grey_rgba_palette_and_cmyk_become_rgb() -> None:
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert (pixels(grey) == grey[..., None]).all()
    assert (pixels(grey[..., None]) == grey[..., None]).all()
    assert (pixels(Image.fromarray(grey)) == grey[..., None]).all()
    clear = np.zeros((8, 8, 4), np.uint8)
    clear[:4, :, 3] = 255
    found = picture_of(clear)
    assert (np.asarray(found.image)[:4] == 0).all() and (np.asarray(found.image)[4:] == 255).all()
    assert "transparent parts over white" in found.note
    cmyk = drawn().convert("CMYK")
    assert (pixels(cmyk) == np.asarray(cmyk.convert("RGB"))).all()
    palette = drawn().quantize(16)
    assert (pixels(palette) == np.asarray(palette.convert("RGB"))).all()
    assert (pixels(np.eye(4, dtype=bool))[..., 0] == 255 * np.eye(4)).all()


def test_sixteen_bits_become_eight(tmp_path: Path) -> None:
    deep = (np.arange(256, dtype=np.uint16) * 257).reshape(16, 16)
    path = tmp_path / "deep.png"
    Image.fromarray(deep).save(path)
    found = picture_of(path)
    assert (np.asarray(found.image)[..., 0].ravel() == np.arange(256)).all()
    assert "16 bits as 8" in found.note
    assert (pixels(deep)[..., 0].ravel() == np.arange(256)).all()
    floats = Image.fromarray(np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16))
    assert (pixels(floats)[..., 0].ravel() == np.arange(256)).all()
    with pytest.raises(InputError, match="16 bits"):
        picture_of(Image.fromarray(np.full((4, 4), 70_000, np.int32)))


def test_of_an_animation_the_first_frame_is_read(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "lime", "blue")]
    path = tmp_path / "moving.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:])
    found = picture_of(path)
    assert np.asarray(found.image)[5, 5].tolist() == [255, 0, 0]
    assert "first of 3 frames" in found.note


def test_a_picture_is_turned_as_its_exif_says(tmp_path: Path) -> None:
    picture = drawn(60, 30)
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    exif[0x010E] = "a secret of the file"
    path = tmp_path / "turned.png"
    picture.save(path, exif=exif)
    found = picture_of(path)
    assert found.image.size == (30, 60)
    assert (
        np.asarray(found.image) == np.asarray(picture.transpose(Image.Transpose.ROTATE_270))
    ).all()
    assert "turned as its EXIF says" in found.note
    a = analyzed(path)
    reply, buffers = answer(a, {"kind": "image"})
    assert reply["ok"] and not any(b"secret" in part for part in buffers)
    assert a.run is not None and "secret" not in a.run.encoding.note
    assert not found.image.getexif() and not found.image.info


def test_nothing_of_a_file_but_its_pixels_is_sent(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "a secret of the file"
    path = tmp_path / "marked.jpg"
    drawn(120, 90).save(path, exif=exif, comment=b"another secret", icc_profile=b"a third secret")
    assert b"secret" in path.read_bytes()
    _, buffers = answer(analyzed(path), {"kind": "image"})
    assert not any(b"secret" in part for part in buffers)


def test_the_picture_that_is_sent_is_small_and_the_same() -> None:
    picture = drawn(2000, 1000)
    reply, buffers = answer(analyzed(picture), {"kind": "image"})
    assert (reply["data"]["width"], reply["data"]["height"]) == (768, 384)
    sent = Image.open(io.BytesIO(buffers[0]))
    assert sent.size == (768, 384) and sent.format in ("PNG", "JPEG")
    flat = Image.new("RGB", (300, 200), "navy")
    kind, content = encoded(flat)
    assert kind == "image/png" and len(content) < 1000
    assert (np.asarray(Image.open(io.BytesIO(content)).convert("RGB")) == np.asarray(flat)).all()


# Refused, and how


def file_of(content: bytes, name: str = "x.png") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def png(size: tuple[int, int] = (40, 40)) -> bytes:
    out = io.BytesIO()
    drawn(*size).save(out, "PNG")
    return out.getvalue()


SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (file_of(b"\x89PNG\r\n\x1a\n nothing more"), "no image that Pillow reads, or is broken"),
        (file_of(png()[:400]), "broken"),
        (file_of(b"", "x.jpg"), "no image"),
        (file_of(SVG, "x.svg"), "is an SVG. .* no pixels"),
        (file_of(SVG, "x.png"), "is an SVG"),
        (file_of(EPS, "x.eps"), "no image that Pillow reads"),
        (lambda folder: folder, "is a folder"),
        (lambda folder: folder / "missing.png", "does not exist"),
        (lambda _: "no such file.png", "reads images, and there is no image file"),
        (lambda _: "the cat sat on the mat", "reads images, and there is no image file"),
        (lambda _: np.zeros((3, 8, 8)), r"shape \[3, 8, 8\].*Its channels come first"),
        (lambda _: np.zeros((8, 8, 2)), r"shape \[8, 8, 2\]"),
        (lambda _: np.zeros((2, 8, 8, 3), np.uint8), r"shape \[2, 8, 8, 3\]"),
        (lambda _: np.zeros((0, 8, 3), np.uint8), "without a pixel"),
        (lambda _: np.full((8, 8, 3), np.nan), "NaN"),
        (lambda _: np.full((8, 8, 3), np.inf), "NaN or infinite"),
        (lambda _: np.full((8, 8, 3), 128.0), "floats from 128 to 128, expected 0 to 1"),
        (lambda _: np.full((8, 8, 3), -0.5), "expected 0 to 1"),
        (lambda _: np.zeros((8, 8, 3), np.int64), "array of int64"),
        (lambda _: np.zeros((8, 8, 3), complex), "array of complex128"),
        (lambda _: Image.new("RGB", (4000, 20)), "more than 100 times"),
        (lambda _: Image.new("L", (20_000, 20_000)), "20,000 × 20,000 px; at most 50 million"),
    ],
)  # fmt: skip
def test_what_is_no_picture_is_named(given: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        analyzed(given(tmp_path))


def test_a_tensor_and_other_things_are_named() -> None:
    import torch

    with pytest.raises(InputTypeError, match="numpy"):
        analyzed(torch.zeros(3, 8, 8))
    for given in (5, None, b"bytes", object()):
        with pytest.raises(InputTypeError, match="expected a picture"):
            analyzed(given)


def test_a_decompression_bomb_is_refused_by_its_header(tmp_path: Path) -> None:
    # 400 million black pixels are 50 kB.
    path = tmp_path / "bomb.png"
    Image.new("1", (20_000, 20_000)).save(path)
    assert path.stat().st_size < 100_000
    with pytest.raises(InputError, match=r"more pixels than Pillow decodes|20,000"):
        analyzed(path)


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_BYTES", 100)
    with pytest.raises(InputError, match="bytes, at most 100 are read"):
        picture_of(file_of(png())(tmp_path))


def test_one_pixel_and_a_thin_picture_are_read() -> None:
    assert analyzed(Image.new("RGB", (1, 1), "red")).image.grid == (4, 4)
    assert analyzed(np.zeros((1, 1, 3), np.uint8)).image.grid == (4, 4)
    assert analyzed(np.zeros((1, 90), np.uint8)).image.grid == (4, 4)


def test_ids_of_a_text_are_no_picture() -> None:
    ids = aw.load(progress=False).encode("the cat sat").text_ids
    for kind in (np.uint16, np.int64):
        for given in (np.array(ids, kind), np.array([ids], kind)):
            assert aw.analyze(given, progress=False).trace.n_tokens == len(ids)


def test_a_text_model_given_a_picture_says_so() -> None:
    pictures: list[Any] = [drawn(), np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8)), Path("x.png")]
    for given in pictures:
        with pytest.raises(
            InputTypeError,
            match=r"text is an image, and .* reads text.*Load a model that reads images",
        ):
            aw.analyze(given, progress=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"text_pair": "another"}, "text_pair"),
        ({"truncation": True}, "are for texts"),
        ({"windows": True}, "windows is given, and .* reads an image at once"),
        ({"generate": 3}, "generate is given, and .* reads images and writes nothing"),
        ({"output": "a cat"}, "output is given, and .* reads images and writes nothing"),
        ({"masked": [3]}, "no mask token"),
        ({"add_special_tokens": False}, "add_special_tokens"),
    ],
)
def test_options_of_texts_are_refused(options: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    drawn().save(path)
    for given in (drawn(), np.asarray(drawn()), path, str(path)):
        with pytest.raises((InputError, NotAvailableError), match=said):
            analyzed(given, **options)


def test_a_pair_without_an_image_processor_is_named() -> None:
    model, read = build("clip")
    _, tokenizer = build_text("bert")
    with pytest.raises(InputTypeError, match="image processor"):
        aw.analyze(drawn(), model=(model, tokenizer), progress=False)
    with pytest.raises(InputTypeError, match="expected one of transformers"):
        aw.analyze(drawn(), model=(model, "processor"), progress=False)
    text_model, _ = build_text("bert")
    with pytest.raises(InputTypeError, match="tokenizer"):
        aw.analyze(drawn(), model=(text_model, read), progress=False)


def test_a_folder_is_loaded_and_one_without_its_processor_named(tmp_path: Path) -> None:
    for name in ("vit", "clip", "siglip_vision_model"):
        model, read = build(name)
        folder = tmp_path / name
        model.save_pretrained(folder)
        with pytest.raises(ModelLoadError, match="image processor"):
            aw.load(folder, progress=False)
        read.save_pretrained(folder)
        a = aw.analyze(drawn(), model=folder, progress=False)
        b = aw.analyze(drawn(), model=(model, read), progress=False)
        np.testing.assert_allclose(a.trace.layer_weights(2), b.trace.layer_weights(2), atol=1e-6)
        assert aw.load(folder, progress=False) is aw.load(folder, progress=False)


def test_a_folder_that_lacks_weights_is_named(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    model, read = build("dinov2")
    model.save_pretrained(tmp_path)
    read.save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    state = {name: held for name, held in load_file(path).items() if "fc2.weight" not in name}
    save_file(state, path, {"format": "pt"})
    with pytest.raises(ModelLoadError, match="lacks weights of its layers"):
        aw.load(tmp_path, progress=False)


@pytest.mark.parametrize(
    "changed", [{"patch_size": 0}, {"image_size": 10**9}, {"hidden_size": 10**9}]
)
def test_a_hostile_configuration_is_refused(changed: dict[str, int], tmp_path: Path) -> None:
    import json

    model, read = build("vit")
    model.save_pretrained(tmp_path)
    read.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    with pytest.raises(ModelLoadError):
        aw.load(tmp_path, progress=False)


# Patches


@pytest.mark.parametrize("size", [(SIDE, SIDE), (96, 60), (60, 96), (50, 41), (97, 53)])
@pytest.mark.parametrize("crop", [0, 36])
def test_patches_lie_where_the_model_reads_them(size: tuple[int, int], crop: int) -> None:
    """The picture is black but for one patch's rectangle: the pixels that the model reads are bright in that patch alone."""
    model, _ = build("dinov2")
    read = processor(SIDE, crop=crop, do_normalize=False) if crop else processor(do_normalize=False)
    first = aw.analyze(Image.new("RGB", size), model=(model, read), progress=False)
    rows, columns = first.image.grid
    assert (rows, columns) == ((crop or SIDE) // PATCH, (crop or SIDE) // PATCH)
    for token in (1, columns, 1 + rows * columns // 2, rows * columns):
        x, y, w, h = first.image.rects[token].tolist()
        across = np.arange(size[0]) + 0.5
        down = np.arange(size[1]) + 0.5
        inside = ((down >= y) & (down < y + h))[:, None] & ((across >= x) & (across < x + w))
        picture = (inside * 255).astype(np.uint8)
        a = aw.analyze(picture, model=(model, read), progress=False)
        assert a.run is not None
        seen = a.run.encoding.arrays["pixel_values"][0].mean(axis=0)
        cells = seen.reshape(rows, PATCH, columns, PATCH).mean(axis=(1, 3)).ravel()
        assert cells.argmax() == token - 1
        assert cells[token - 1] > 0.6 and np.delete(cells, token - 1).max() < 0.25


def test_rectangles_tile_what_is_read_and_special_tokens_have_none() -> None:
    model, _ = build("dinov2_with_registers")
    read = processor(SIDE, crop=36)
    a = aw.analyze(drawn(90, 60), model=(model, read), progress=False)
    rects = a.image.rects
    assert rects.shape == (4 + 9, 4) and rects.dtype == np.float32
    assert np.isnan(rects[:4]).all() and np.isfinite(rects[4:]).all()
    # The middle 45 px of 60, as 36 of 48; of the width the same.
    np.testing.assert_allclose(rects[4], [22.5, 7.5, 15, 15])
    np.testing.assert_allclose(rects[-1], [52.5, 37.5, 15, 15])


def test_what_fills_no_patch_is_in_none() -> None:
    model, _ = build("dinov2")
    a = aw.analyze(drawn(65, 50), model=(model, processor(do_resize=False)), progress=False)
    assert a.image.grid == (4, 5)
    np.testing.assert_allclose(a.image.rects[-1], [48, 36, 12, 12])


def test_padding_lies_outside_of_the_picture() -> None:
    model, _ = build("dinov2")
    read = processor(24, crop=48)
    a = aw.analyze(drawn(60, 30), model=(model, read), progress=False)
    # Resized to 48 x 24, which 48 x 48 px pad above and below.
    np.testing.assert_allclose(a.image.rects[1], [0, -15, 15, 15])
    np.testing.assert_allclose(a.image.rects[-1], [45, 30, 15, 15])


def test_a_processor_that_does_more_is_refused() -> None:
    model, read = build("dinov2")

    kind: Any = type(read)

    def narrowed(self: Any, images: Any, **options: Any) -> Any:
        found = kind.__call__(self, images=images, **options)
        return {"pixel_values": found["pixel_values"][..., : SIDE // 2]}

    narrow = type(kind.__name__, (kind,), {"__call__": narrowed})
    with pytest.raises(NotAvailableError, match="where its patches lie is not known"):
        aw.analyze(
            drawn(), model=(model, narrow(size={"height": SIDE, "width": SIDE})), progress=False
        )


def test_too_small_a_picture_for_a_patch_is_named() -> None:
    model, _ = build("dinov2")
    with pytest.raises(InputError, match="a patch has 12 × 12"):
        aw.analyze(drawn(8, 8), model=(model, processor(do_resize=False)), progress=False)


def test_without_pillow_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    model, _ = build("dinov2")
    for name in [name for name in sys.modules if name.partition(".")[0] == "PIL"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        NotAvailableError, match=r'needs Pillow.*pip install "attn-widget\[vision\]"'
    ):
        aw.analyze(np.zeros((9, 9), np.uint8), model=(model, processor(crop=36)), progress=False)
    with pytest.raises(NotAvailableError, match="needs Pillow"):
        picture_of(np.zeros((9, 9), np.uint8))
    assert aw.analyze("the cat sat", progress=False).trace.n_tokens == 5
