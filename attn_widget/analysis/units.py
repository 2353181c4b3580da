"""Parts of a text that its input itself names, over the positions of an analysis."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis.base import AnalysisBase
from attn_widget.analysis.merge import MergedTrace


def units_of(analysis: AnalysisBase) -> list[tuple[str, int, int]]:
    """Name and positions ``[start, stop)`` of each part; none of a plain text. See `Encoding.units`."""
    if analysis.run is None:
        return []
    spans = analysis.run.encoding.unit_spans
    if analysis.base is None or not isinstance(analysis.trace, MergedTrace):
        return spans
    first = analysis.trace.first_tokens
    merged = [(name, *map(int, np.searchsorted(first, span))) for name, *span in spans]
    return [(name, start, stop) for name, start, stop in merged if start < stop]


def numbered(names: list[str]) -> list[str]:
    """Names with an ordinal where one comes twice.

    >>> numbered(["system", "user", "assistant", "user"])
    ['system', 'user 1', 'assistant', 'user 2']
    """
    return [
        f"{name} {names[: k + 1].count(name)}" if names.count(name) > 1 else name
        for k, name in enumerate(names)
    ]
