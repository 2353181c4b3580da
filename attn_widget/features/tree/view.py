"""The view Tree."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

TREE = View(
    "tree",
    "Tree",
    "The keys to which each token attends most, starting from the root.",
    ("quantity", "token", "top_k", "depth", "words", "special"),
    head="shown",
    long=True,
    place=2,
)
