"""A comparison in a cell: a live widget of both runs, and their page for readers without a kernel."""

from __future__ import annotations

from typing import Any

from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import compared_html, selections, title_of
from attn_widget.page.page import frame
from attn_widget.widget.actions import Analyze
from attn_widget.widget.widget import AttentionWidget

HEIGHT = 900  # px


class ComparisonWidget(AttentionWidget):
    """Two runs and their difference, alive: its traits are those of A's run. `attn_widget.show` makes it.

    Parameters
    ----------
    comparison : Comparison
    analyze : callable, optional
        Runs another text in A's place; see `AttentionWidget`.

    Attributes
    ----------
    comparison : Comparison
        What was given.
    """

    _part_alone = True

    def __init__(self, comparison: Comparison, *, analyze: Analyze | None = None) -> None:
        chosen, _ = selections(comparison)
        names = ("layer", "head", "token", "target")
        initial = {name: getattr(chosen, name) for name in names}
        traits = {name: value for name, value in initial.items() if value is not None}
        super().__init__(comparison.a, analyze=analyze, **traits)
        self.comparison = comparison
        self._show_compared(comparison)

    def _to_save(self) -> Comparison:
        return self.comparison

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return bundle
        data, metadata = bundle
        return {**data, "text/html": frame_of(self.comparison)}, metadata

    def __repr__(self) -> str:
        return f"<ComparisonWidget of {self.comparison!r}>"


def frame_of(comparison: Comparison) -> str:
    """A sandboxed frame with the comparison's page."""
    return frame(compared_html(comparison), title_of(comparison), HEIGHT)
