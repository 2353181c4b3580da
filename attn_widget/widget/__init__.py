"""The widget: traits, the packed first paint, answers to the page."""

from attn_widget.widget.widget import AttentionWidget, close_all

__all__ = ["AttentionWidget", "close_all"]
