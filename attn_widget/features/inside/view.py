"""The view Inside."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

INSIDE = View(
    "inside",
    "Inside",
    "The model's own tensors at one stage of the pipeline.",
    options=("token",),
)
