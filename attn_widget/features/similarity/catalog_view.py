"""The view of two texts and their score (docs/similarity.md)."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

SIMILARITY = View(
    "similarity",
    "Similarity",
    "Contribution of every pair of words to the score of two texts; with the biases they add up to the score.",
    ("words",),
)
