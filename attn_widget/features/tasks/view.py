"""The view Task."""

from __future__ import annotations

from attn_widget.figures.catalog.view import View

TASK = View(
    "task",
    "Task",
    "softmax(W h + b) over the classes, and the first token's attention.",
    opens="classification",
)
