"""Places of a model's patches in a picture: its processor resizes and crops it, its network cuts it up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32

#: Image processors that resize and crop and do nothing else to places: those that `transformers` has for the nine families.
READ = ("ViT", "DeiT", "Bit", "Beit", "CLIP", "Siglip")
KINDS = frozenset(f"{name}ImageProcessor{by}" for name in READ for by in ("", "Pil", "Fast"))


class Area(NamedTuple):
    """A rectangle in px of the picture: left, top, width and height; parts of it may lie outside (padding)."""

    left: float
    top: float
    width: float
    height: float


def patch_size(config: Any) -> tuple[int, int]:
    """Height and width of a patch, in px that the model reads."""
    size = config.patch_size
    height, width = size if isinstance(size, (tuple, list)) else (size, size)
    return int(height), int(width)


def area_read(processor: Any, size: tuple[int, int], read: tuple[int, int]) -> Area:
    """The part that a processor leaves of a picture of ``size`` (width, height) for pixels of ``read`` (height, width).

    Raises `NotAvailableError`: a processor that is none of `KINDS`, or pads.
    """
    width, height = size
    kind = type(processor)
    if kind.__name__ not in KINDS or not kind.__module__.startswith("transformers."):
        raise NotAvailableError(
            f"A {kind.__name__} may do more to a picture than resize it and crop its middle: where its patches lie is not known.",
            f"Give one of {', '.join(f'{name}ImageProcessor' for name in READ)}, with the model's size, mean and deviation.",
        )
    to_height, to_width = height, width
    if getattr(processor, "do_resize", False):
        to_height, to_width = _resized(processor, height, width)
    high, wide = to_height, to_width
    if getattr(processor, "do_center_crop", False):
        crop = processor.crop_size
        high, wide = int(_entry(crop, "height")), int(_entry(crop, "width"))
    if (high, wide) != read or getattr(processor, "do_pad", False):
        raise NotAvailableError(
            f"A {kind.__name__} makes pixels {read[1]} × {read[0]} of a picture of {width} × {height} px, in a way that is "
            "not known here: where its patches lie is not known.",
            "Resize the picture yourself, and set do_resize=False.",
        )
    x, y = width / to_width, height / to_height
    left, top = (to_width - wide) // 2, (to_height - high) // 2  # as transformers crops and pads
    return Area(left * x, top * y, wide * x, high * y)


def _resized(processor: Any, height: int, width: int) -> tuple[int, int]:
    size = processor.size
    short, longest = _entry(size, "shortest_edge"), _entry(size, "longest_edge")
    if short:
        low, high = min(height, width), max(height, width)
        if longest and high / low * short > longest:
            exact = longest * low / high
            short, long = round(exact), int(exact * high / low)  # as transformers rounds
        else:
            short, long = int(short), int(short * high / low)
        return (short, long) if height <= width else (long, short)
    return int(_entry(size, "height") or 0), int(_entry(size, "width") or 0)


def _entry(size: Any, name: str) -> Any:
    """A field of a size, which is a mapping or, in later versions of `transformers`, an object."""
    if isinstance(size, int):
        return size if name in ("height", "width") else None
    return size.get(name) if hasattr(size, "get") else getattr(size, name, None)


def rects(
    area: Area, read: tuple[int, int], patch: tuple[int, int], scale: tuple[float, float]
) -> Float32:
    """Rectangles of the patches, row by row, float32 [rows * columns, 4]: x, y, width, height.

    ``area``: what is read, of which the model's pixels are ``read`` (height, width). ``scale``: of the px that are returned, across and down. What does
    not fill a patch at the right and at the bottom is read by none.

    >>> rects(Area(0, 0, 28, 14), (5, 10), (2, 5), (1, 1)).tolist()
    [[0.0, 0.0, 14.0, 5.59...], [14.0, 0.0, 14.0, 5.59...], [0.0, 5.59..., 14.0, 5.59...], [14.0, 5.59..., 14.0, 5.59...]]
    """
    rows, columns = read[0] // patch[0], read[1] // patch[1]
    width = area.width * patch[1] / read[1]
    height = area.height * patch[0] / read[0]
    row, column = np.divmod(np.arange(rows * columns), max(1, columns))
    found = np.stack(
        [
            area.left + column * width,
            area.top + row * height,
            np.full(rows * columns, width),
            np.full(rows * columns, height),
        ],
        axis=-1,
    )
    return (found * [*scale, *scale]).astype(np.float32)
