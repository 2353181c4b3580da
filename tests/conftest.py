"""What every ring shares: the order of the rings, and no network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Before torch and transformers are imported anywhere: see CONTRIBUTING.md.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

ROOT = Path(__file__).resolve().parent.parent
LAST_RINGS = ("packaging", "notebooks", "e2e")  # the slow ones, slowest last


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def ring(item: pytest.Item) -> int:
        try:
            folder = item.path.relative_to(ROOT / "tests").parts[0]
        except ValueError:
            return -1
        return LAST_RINGS.index(folder) if folder in LAST_RINGS else -1

    items.sort(key=ring)  # stable: inside a ring the order is that of the files


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all rings: playwright runs once in a process."""
    from scripts.lab import chromium

    with chromium() as found:
        yield found
