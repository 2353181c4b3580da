"""Analysis: the figures of one run, computed when they are first asked for."""

from __future__ import annotations

from attn_widget.analysis.analysis import Analysis

__all__ = ["Analysis"]
