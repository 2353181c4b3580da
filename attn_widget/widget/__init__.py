"""The widget: traits, the packed first paint, answers to the page."""

from attn_widget.widget.open_widgets import close_all
from attn_widget.widget.widget import AttentionWidget

__all__ = ["AttentionWidget", "close_all"]
