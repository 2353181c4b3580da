"""The view of two texts and their score (docs/similarity.md)."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

SIMILARITY = View(
    "similarity",
    "Similarity",
    "Contribution of every pair of words or patches to a score; with the biases they add up to it.",
    ("words",),
)
