"""The folder in which fetched and converted files are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from attn_widget.checks import check_path

CACHE_VARIABLE = "ATTN_WIDGET_CACHE"


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """``cache``, or ``$ATTN_WIDGET_CACHE``, or the user's cache folder.

    Raises `InputTypeError`: ``cache`` is no path.

    >>> cache_folder("~/data") == Path.home() / "data"
    True
    """
    folder = cache if cache is not None else os.environ.get(CACHE_VARIABLE) or None
    if folder is not None:
        return check_path(folder, "cache")
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "attn_widget"
