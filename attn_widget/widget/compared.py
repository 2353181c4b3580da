"""A comparison in a cell: a live widget of both runs, and their page for readers without a kernel."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attn_widget.comparison.comparison import Comparison
from attn_widget.errors import InputError
from attn_widget.page.compared import compared_html, save_compared, selections, title_of
from attn_widget.page.saved_run import ExportOptions
from attn_widget.widget.widget import AttentionWidget

if TYPE_CHECKING:
    from attn_widget.influence.targets import Target
    from attn_widget.page.engine.options import Assets, Engine
    from attn_widget.widget.actions import Analyze

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

    def __init__(self, comparison: Comparison, *, analyze: Analyze | None = None) -> None:
        chosen, _ = selections(comparison)
        names = ("layer", "head", "token", "target")
        initial = {name: getattr(chosen, name) for name in names}
        traits = {name: value for name, value in initial.items() if value is not None}
        super().__init__(comparison.a, analyze=analyze, **traits)
        self.comparison = comparison
        self._show_compared(comparison)

    def to_html(
        self,
        path: str | os.PathLike[str],
        layers: Sequence[int] | None = None,
        heads: Sequence[int] | None = None,
        views: Sequence[str] | None = None,
        title: str | None = None,
        why: Sequence[Target] | None = None,
        *,
        engine: Engine = False,
        assets: Assets = "inside",
        max_bytes: int | None = None,
    ) -> Path:
        """Save both runs and their difference as one page.

        Parameters
        ----------
        path, layers, heads, views, title, why
            As in `AttentionWidget.to_html`.
        engine, assets, max_bytes
            As they are by default: those are for pages of one text.

        Returns
        -------
        Path

        Raises
        ------
        InputError
            As in `AttentionWidget.to_html`, and for ``engine=True``.
        """
        if engine or assets != "inside" or max_bytes is not None:
            raise InputError(
                "A page of two runs takes no engine, assets or max_bytes.", "Leave them out."
            )
        return save_compared(path, self.comparison, ExportOptions(layers, heads, views, title, why))

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return bundle
        data, metadata = bundle
        return {**data, "text/html": frame_of(self.comparison)}, metadata

    def __repr__(self) -> str:
        return f"<ComparisonWidget of {self.comparison!r}>"


def show_compared(comparison: Comparison, analyze: Analyze | None) -> ComparisonWidget:
    """Display both runs and their difference in the running cell, once."""
    widget = ComparisonWidget(comparison, analyze=analyze)
    widget.display()
    return widget


def frame_of(comparison: Comparison) -> str:
    """A sandboxed frame with the comparison's page."""
    source = html.escape(compared_html(comparison), quote=True)
    name = html.escape(title_of(comparison), quote=True)
    return (
        f'<iframe sandbox="allow-scripts allow-downloads allow-modals" title="{name}" width="100%" '
        f'height="{HEIGHT}" style="border: 0" srcdoc="{source}"></iframe>'
    )
