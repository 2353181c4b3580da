"""Warnings that point at the caller's own line."""

from __future__ import annotations

import inspect
import warnings

PACKAGE = __name__.split(".", maxsplit=1)[0]


def warn_caller(message: str) -> None:
    """Raise a UserWarning at the nearest line outside this package."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
