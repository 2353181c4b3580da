"""A comparison in a cell: a live widget of both runs, and their page for readers without a kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.page import compared_html, save_compared, selections, title_of
from attn_widget.page.page import frame
from attn_widget.page.saved_run import PageOptions
from attn_widget.page.saving import export_options
from attn_widget.widget.actions import Analyze
from attn_widget.widget.widget import AttentionWidget

if TYPE_CHECKING:
    from typing_extensions import Unpack

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
        self._answering("both").show(comparison, comparison.b)
        self._compared += 1  # lets the page open it

    def to_html(self, path: str | os.PathLike[str], **options: Unpack[PageOptions]) -> Path:
        """Save a page of both runs and their difference. See `attn_widget.to_html`.

        Parameters
        ----------
        path, **options
            As in `attn_widget.to_html`; without ``engine``, ``assets`` and ``max_bytes``.
        """
        export = export_options(options)
        if (
            options.get("engine")
            or options.get("assets", "inside") != "inside"
            or options.get("max_bytes") is not None
        ):
            raise InputError(
                "A page of two runs takes no engine, assets or max_bytes.", "Leave them out."
            )
        return save_compared(path, self.comparison, export)

    def _entry(self) -> NoReturn:
        raise InputTypeError(
            "A comparison has a page of its own, and is none of several on a page.",
            "to_html(comparison, path)",
        )

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


def widget_of(result: Comparison, **options: Any) -> ComparisonWidget:
    """The widget of a comparison, not displayed yet; its runs take no other options."""
    if options:
        raise InputTypeError("show() of a comparison takes no other arguments.", "show(comparison)")
    from attn_widget.api import runner

    return ComparisonWidget(result, analyze=runner(result.a, {}))
