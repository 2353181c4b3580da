"""The tests that docs/robustness.md names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/robustness.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/]*test_\w+\.py)::(test_\w+)`", PAGE)


def test_each_row_names_a_test() -> None:
    kinds = PAGE.split("## Measured")[0]
    rows = [line for line in kinds.splitlines() if line.startswith("|") and "---" not in line]
    untested = [row for row in rows if not re.search(r"\| test \|$|\.py::test_|\.test\.ts`", row)]
    assert untested == [] and len(NAMED) > 50


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMED)))
def test_it_exists(file: str, test: str) -> None:
    places = [file] if "/" in file else [f"unit/{file}", f"features/*/{file}"]
    (found,) = [path for place in places for path in (ROOT / "tests").glob(place)]
    assert f"def {test}(" in found.read_text(encoding="utf-8")


def test_so_do_those_of_the_page() -> None:
    for path in re.findall(r"`(js/tests/[\w/]+\.test\.ts)`", PAGE):
        assert (ROOT / path).is_file()
