"""The views of a page with an engine."""

from __future__ import annotations

from collections.abc import Sequence

from attn_widget.errors import InputError
from attn_widget.figures.catalog.choices import VIEWS
from attn_widget.page.spec import PageSpec

# The views whose every figure the engine computes (js/src/features/engine/page/answers).
ANSWERED = ("attention", "heads", "tree", "sentences", "predictions", "inside", "task")
LIVE_VIEWS = tuple(view for view in ANSWERED if view in VIEWS)


def check_views_of(spec: PageSpec) -> list[str]:
    """The views of a page with an engine."""
    if spec.layers is not None or spec.heads is not None:
        raise InputError(
            "A page with an engine computes all layers and heads.",
            "Leave layers and heads out, or leave engine out.",
        )
    if spec.why is not None:
        raise InputError(
            "A page with an engine explains no target: that needs gradients.", "Leave why out."
        )
    views: Sequence[str] = LIVE_VIEWS if spec.views is None else spec.views
    other = [view for view in views if view not in LIVE_VIEWS]
    if other:
        raise InputError(
            f"The engine of a page has no view {other[0]!r}.", f"It has {', '.join(LIVE_VIEWS)}."
        )
    return [view for view in LIVE_VIEWS if view in views]
