"""The quick ring: the cases that ``make test`` runs, and the stored timings that choose them.

``-p tests.rings --quick`` leaves out every unit and doctest that `TIMINGS` lists with more than `SLOW_S`, and every test of another
ring that is not marked ``quick``. ``--timings FILE`` writes what each case took (set-up and end included); ``make timings`` stores it.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
TIMINGS = TESTS / "timings.tsv"
SLOW_S = 1.0  # 200 of 5,400 cases, which take three quarters of the time
STORED_S = 0.5  # shorter cases are not listed
OTHER_RINGS = ("e2e", "notebooks", "packaging", "site")


def name_of(nodeid: str) -> str:
    """A case without its folder: files may move, their names differ."""
    path, bracket, parameters = nodeid.partition("[")
    return path.rsplit("/", 1)[-1] + bracket + parameters


def stored() -> dict[str, float]:
    """Seconds of each listed case."""
    rows = (line.split("\t") for line in TIMINGS.read_text(encoding="utf-8").splitlines())
    return {name: float(seconds) for seconds, name in rows}


def seconds_of_files() -> dict[str, float]:
    """Seconds of the listed cases, summed by file."""
    total: dict[str, float] = defaultdict(float)
    for name, seconds in stored().items():
        total[name.partition("::")[0]] += seconds
    return total


def other_ring(path: Path) -> str | None:
    """Name of the ring in ``tests`` that a file belongs to, None of units and doctests."""
    parts = path.relative_to(TESTS).parts if path.is_relative_to(TESTS) else ()
    return parts[0] if parts and parts[0] in OTHER_RINGS else None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rings")
    group.addoption("--quick", action="store_true", help="the cases of make test alone")
    group.addoption("--timings", metavar="FILE", help="write the seconds of each case")


def pytest_configure(config: pytest.Config) -> None:
    if (target := config.getoption("--timings")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Timings(Path(target)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    seconds = stored()

    def quick(item: pytest.Item) -> bool:
        if other_ring(item.path):
            return item.get_closest_marker("quick") is not None
        return seconds.get(name_of(item.nodeid), 0) <= SLOW_S

    left_out = [item for item in items if not quick(item)]
    items[:] = [item for item in items if quick(item)]
    config.hook.pytest_deselected(items=left_out)


class Timings:
    """Adds up what each unit and doctest took."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.nodeid.startswith(tuple(f"tests/{ring}/" for ring in OTHER_RINGS)):
            self._seconds[name_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self) -> None:
        listed = sorted(item for item in self._seconds.items() if item[1] >= STORED_S)
        rows = [f"{seconds:.1f}\t{name}\n" for name, seconds in listed]
        self._target.parent.mkdir(parents=True, exist_ok=True)
        self._target.write_text("".join(rows), encoding="utf-8")
