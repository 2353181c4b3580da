"""Places of patches, groups of patches, and pictures that are given in unusual ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transformers as tf
from PIL import Image

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.images.grid import area_read
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
