"""Compare: two runs side by side, and pieces of one carried into the other."""

from __future__ import annotations

from attn_widget.features.comparison.comparison import Comparison
from attn_widget.features.comparison.inputs import compare
from attn_widget.features.comparison.many import ManyComparisons, compare_many

__all__ = ["Comparison", "ManyComparisons", "compare", "compare_many"]
