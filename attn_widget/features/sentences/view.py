"""The view Sentences."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

SENTENCES = View(
    "sentences",
    "Sentences",
    "Attention between sentences: mean share (mass) or largest weight (max).",
    ("quantity",),
    place=3,
)
