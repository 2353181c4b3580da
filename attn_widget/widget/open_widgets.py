"""The open widgets: each keeps its run's tensors until it is closed."""

from __future__ import annotations

import warnings
import weakref

from ipywidgets import Widget

MANY_OPEN = 50
OPEN: weakref.WeakSet[Widget] = weakref.WeakSet()
_warned = False


def close_all() -> None:
    """Close every open widget and free the memory of their runs in the kernel and in the page."""
    for widget in list(OPEN):
        widget.close()


def warn_of_many() -> None:
    """Warn of many open widgets, and again only after half of them were closed."""
    global _warned
    if len(OPEN) < MANY_OPEN // 2:
        _warned = False
    if len(OPEN) < MANY_OPEN or _warned:
        return
    _warned = True
    # A ResourceWarning would say it better, but Python shows none unless asked to.
    warnings.warn(
        f"{len(OPEN)} attention widgets are open, and each keeps its run's tensors; "
        "free them with widget.close() or attn_widget.close_all().",
        UserWarning,
        stacklevel=4,  # the caller of show()
    )
