"""The view Why."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

WHY = View(
    "why",
    "Why",
    "Contribution of every token to one number in the model's output.",
    ("target", "method"),
)
