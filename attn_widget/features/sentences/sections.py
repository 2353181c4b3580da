"""Attention between sentences for the command line's JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attn_widget.analysis import Analysis


def sentences(analysis: Analysis) -> Callable[[], Any]:
    def section() -> dict[str, Any]:
        sums = analysis.sentences
        return {
            "texts": list(sums.texts),
            "mass": sums.matrix("mass"),
            "max": sums.matrix("max"),
        }

    return section
