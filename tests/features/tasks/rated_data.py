"""The rated sentences for tests: fetched once, skipped in words where that cannot be."""

from __future__ import annotations

from functools import lru_cache

import pytest

from attn_widget.errors import NotAvailableError
from attn_widget.features.tasks.data import archive


@lru_cache(maxsize=1)
def archive_problem() -> str:
    """Why the archive cannot be had; asked once, from the index that pip is configured for."""
    try:
        archive.archive()
    except NotAvailableError as error:
        return str(error)
    return ""


def need_archive() -> None:
    if archive_problem():
        pytest.skip(archive_problem())
