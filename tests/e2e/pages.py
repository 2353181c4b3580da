"""Saved pages of a short, a usual and a long text, and one of a model with classes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import attn_widget as aw
from scripts.probe import SENTENCES, sentiment

EVERY = [sentence for some in SENTENCES.values() for sentence in some]
# Sentences: some 10, 60 and 250 tokens.
LENGTHS = {"short": 1, "usual": 7, "long": 27}
VIEWS = ("attention", "heads", "predictions", "sentences", "tree", "inside")
# Which page, and which of its views.
CASES = [(name, view) for name in LENGTHS for view in VIEWS] + [("task", "task")]


@cache
def saved_page(name: str) -> Path:
    """One page for all tests."""
    model = sentiment() if name == "task" else None
    text = " ".join(EVERY[: LENGTHS.get(name, 1)])
    widget = aw.show(text, model=model, layer=3, head=5, progress=False)
    path = Path(mkdtemp(prefix="attn_widget-pages-")) / f"{name}.html"
    widget.to_html(path)
    widget.close()
    return path
