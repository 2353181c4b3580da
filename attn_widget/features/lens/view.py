"""The view Lens."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

LENS = View(
    "lens",
    "Lens",
    "Likeliest token of each layer's hidden state at every position, read by the language-model head.",
    options=("special",),
)
