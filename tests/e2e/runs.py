"""Runs that several tests look at: their figures are computed once."""

from __future__ import annotations

from functools import cache
from typing import Any

import attn_widget as aw
from attn_widget.api import runner
from scripts.probe import sentiment

SENTIMENT = "sentiment"


@cache
def run(text: str, text_pair: str | None = None, *, model: str | None = None) -> aw.Analysis:
    """An analysis by the embedded model, or by the small classifier."""
    chosen = sentiment() if model == SENTIMENT else None
    return aw.analyze(text, text_pair, model=chosen, progress=False)


def shown(
    text: str, text_pair: str | None = None, *, model: str | None = None, **traits: Any
) -> aw.AttentionWidget:
    """A new widget of such a run, as `attn_widget.show` makes it."""
    analysis = run(text, text_pair, model=model)
    if analysis.model.classification is not None:
        traits.setdefault("view", "task")
    return aw.AttentionWidget(analysis, analyze=runner(analysis, {}), **traits)
