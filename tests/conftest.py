"""What every ring shares: the order of the rings, how processes share them, and no network."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import rings

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from xdist.scheduler import LoadFileScheduling

# Before torch and transformers are imported anywhere: see CONTRIBUTING.md.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Two processes with two threads each took an eighth more CPU time than with one, and a third more by the clock.
if (workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))) > 1:
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 60  # for the work of a widget that is closed
SLOW_RINGS = ("packaging", "notebooks", "e2e")
ALONE = (
    "::test_runs_top_to_bottom"  # notebooks: minutes in one file, so each goes where there is room
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow rings last; first where several processes share the work, and long files before short ones: then they end together."""
    shared = hasattr(config, "workerinput")
    seconds = rings.seconds_of_files() if shared else {}

    def rank(item: pytest.Item) -> tuple[int, float]:
        ring = rings.other_ring(item.path)
        return (SLOW_RINGS.index(ring) if ring in SLOW_RINGS else -1), seconds.get(
            item.path.name, 0
        )

    items.sort(key=rank, reverse=shared)  # stable: inside a ring the order is that of the files


def pytest_collection() -> None:
    """What is imported stays, so there is nothing to look for meanwhile."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep it out of the garbage collector, which looks through all of it hundreds of times.

    That took 43 of 98 s of CPU time in the 261 tests of fine-tuning, actions and reports.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """As ``--dist loadfile``, the notebooks one by one."""
    from xdist.scheduler import LoadFileScheduling

    from tests.notebooks.test_tutorials import NAME

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if ALONE not in nodeid:
                return super()._split_scope(nodeid)
            # One notebook's outputs are looked at in another file, by the process that ran it.
            return "tests/notebooks/test_tutorials.py" if f"[{NAME}]" in nodeid else nodeid

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture(scope="module", autouse=True)
def widgets_closed() -> Iterator[None]:
    """Close the widgets that a file leaves open: each keeps its run's tensors, and may work in the background.

    A thread that is inside torch when the process ends aborts it.
    """
    yield
    if (module := sys.modules.get("attn_widget.widget.open_widgets")) is not None:
        module.close_all()
    for thread in threading.enumerate():
        if thread.name.startswith("attn_widget"):
            thread.join(PATIENCE_S)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all rings: playwright runs once in a process."""
    from scripts.lab import chromium

    with chromium() as found:
        yield found
