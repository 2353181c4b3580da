"""Analysis: the figures of one run, each a pure function of arrays, one concept a file."""

from __future__ import annotations

from attn_widget.analysis.analysis import Analysis

__all__ = ["Analysis"]
