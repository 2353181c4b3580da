"""A comparison in a cell: a live widget of both runs, and their page for readers without a kernel."""

from __future__ import annotations

from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import selections
from attn_widget.widget.actions import Analyze
from attn_widget.widget.widget import AttentionWidget


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

    @property
    def shown(self) -> Comparison:
        """The comparison."""
        _ = self.source  # refuses a closed widget
        return self.comparison

    def __repr__(self) -> str:
        return f"<ComparisonWidget of {self.comparison!r}>"
