"""Figures of heads of long texts, whose matrices come in blocks of rows."""

from __future__ import annotations

from attn_widget.figures.long.blocks import head_of_blocks
from attn_widget.figures.long.links import Links, strongest_links
from attn_widget.figures.long.pyramid import Pyramid, pooled
from attn_widget.figures.long.walk import Visit, visit_layer, walk_heads, walk_layer

__all__ = [
    "Links",
    "Pyramid",
    "Visit",
    "head_of_blocks",
    "pooled",
    "strongest_links",
    "visit_layer",
    "walk_heads",
    "walk_layer",
]
