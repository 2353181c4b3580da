"""The widget: traits, the packed first paint, answers to the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attn_widget.widget.open_widgets import close_all

if TYPE_CHECKING:
    from attn_widget.widget.widget import AttentionWidget

__all__ = ["AttentionWidget", "close_all"]


def __getattr__(name: str) -> Any:
    # Late: the class has methods and traits of features, whose modules import others of this folder.
    if name != "AttentionWidget":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attn_widget.widget.widget import AttentionWidget

    return AttentionWidget
