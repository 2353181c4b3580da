"""The view that a run opens on."""

from __future__ import annotations

from attn_widget.analysis import Analysis


def has_classes(analysis: Analysis) -> bool:
    """True of a classifier's run, which opens on the view Task."""
    return analysis.classification is not None
