"""Slices of a picture: itself, what a patch looks at in all heads, patterns in two dimensions."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import cached
from attn_widget.errors import SliceError
from attn_widget.features.images.figures import ImageFigures
from attn_widget.features.images.patterns import FEWEST, LEAST, NEAR, PATTERNS
from attn_widget.features.images.pictures import encoded
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, integer


@answers("image")
def image(analysis: Analysis, _request: Request) -> Answer:
    """The picture, encoded again, and the rectangle of each token in it."""
    figures = ImageFigures(analysis)
    picture, rects = figures.picture, figures.rects
    kind, content = cached(analysis, ("image", "encoded"), lambda: encoded(picture))
    data = {"type": kind, "width": picture.width, "height": picture.height}
    return data, {"bytes": np.frombuffer(content, np.uint8), "rects": rects}


@answers("patch_rows")
def patch_rows(analysis: Analysis, request: Request) -> Answer:
    """Weights of a token in all heads, or of several on average."""
    n = len(ImageFigures(analysis).rects)
    if request.get("tokens") is None:
        return {}, {"rows": ImageFigures(analysis).rows(integer(request, "token", 0, n))}
    given: Any = request["tokens"]
    if not isinstance(given, (list, tuple)) or not 0 < len(given) <= n:
        raise SliceError(f"tokens must be a list of 1 to {n} positions.")
    tokens = [integer({"tokens": token}, "tokens", 0, n) for token in given]
    return {}, {"rows": ImageFigures(analysis).rows(tokens)}


@answers("patch_patterns")
def patch_patterns(analysis: Analysis, _request: Request) -> Answer:
    """Patterns of every head, and how clearly it separates the picture."""
    figures = ImageFigures(analysis)
    found, n = figures.separated, len(figures.rects)
    layer, head, clear = figures.clearest()
    patches = figures.grid[0] * figures.grid[1]
    needed = float(found.needed[layer, head])
    data = {
        "names": [*PATTERNS],
        "near": NEAR,
        "best": [layer, head],
        "clear": clear,
        "upper": layer >= len(found.separation) / 2,
        "together": figures.hangs_together if patches >= FEWEST else None,
        "deviations": float(found.deviations[layer, head]),
        "needed": needed if isfinite(needed) else None,
        "least": LEAST,
        "alike": float(found.alike[layer, head]),
        "alike_chance": float(found.alike_chance[layer, head]),
    }
    groups = np.zeros((*found.groups.shape[:2], n), np.uint8)
    groups[..., np.isfinite(figures.rects[:, 0])] = found.groups
    return data, {
        "patterns": figures.patterns,
        "chance": figures.chance,
        "separation": found.separation,
        "contiguity": found.contiguity,
        "clarity": found.clarity,
        "groups": groups,
    }
