"""Analysis: the figures of one run, computed when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attn_widget.analysis.analysis import Analysis

__all__ = ["Analysis"]


def __getattr__(name: str) -> Any:
    # Late: the class has methods of features, whose modules import others of this folder.
    if name != "Analysis":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attn_widget.analysis.analysis import Analysis

    return Analysis
