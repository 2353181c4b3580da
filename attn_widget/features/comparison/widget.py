"""A comparison in a cell: a live widget of both runs, and their page for readers without a kernel."""

from __future__ import annotations

from typing import Any

from attn_widget.errors import InputTypeError
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import ShownComparison, selections
from attn_widget.widget.actions import Analyze
from attn_widget.widget.traits import Int, Trait, synced
from attn_widget.widget.widget import AttentionWidget


class ComparisonWidget(AttentionWidget):
    """Two runs and their difference, alive: its traits are those of A's run. `attn_widget.show` makes it.

    ``analyze``: runs another text in A's place; see `AttentionWidget`. ``comparison``: what was given.
    """

    _part_alone = True
    _compared: Trait[int] = synced(Int(0)).tag(of_the_page=True)

    def __init__(self, comparison: Comparison, *, analyze: Analyze | None = None) -> None:
        chosen, _ = selections(comparison)
        names = ("layer", "head", "token", "target")
        initial = {name: getattr(chosen, name) for name in names}
        traits = {name: value for name, value in initial.items() if value is not None}
        super().__init__(comparison.a, analyze=analyze, **traits)
        self.comparison = comparison
        self._answering("both").show(comparison, comparison.b)
        self._compared += 1  # lets the page open it

    @property
    def _shown(self) -> ShownComparison:
        """Content of its page: both runs."""
        _ = self._shown_source  # refuses a closed widget
        return ShownComparison(self.comparison, self.selection)

    def __repr__(self) -> str:
        return f"<ComparisonWidget of {self.comparison!r}>"


def widget_of(result: Comparison, **options: Any) -> ComparisonWidget:
    """The widget of a comparison, not displayed yet; its runs take no other options."""
    if options:
        raise InputTypeError("show() of a comparison takes no other arguments.", "show(comparison)")
    from attn_widget.api import runner

    return ComparisonWidget(result, analyze=runner(result.a, {}))
