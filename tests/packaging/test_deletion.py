"""Without any one feature, and those that use it, the rest shows a text, type-checks and passes its quick tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from attn_widget.features import FEATURES

ROOT = Path(__file__).resolve().parents[2]


def cases() -> Iterator[Any]:
    """Every feature; that of the day is quick."""
    features = sorted(FEATURES)
    today = features[date.today().toordinal() % len(features)]
    for feature in features:
        yield pytest.param(feature, marks=[pytest.mark.quick] if feature == today else [])


@pytest.mark.parametrize("feature", list(cases()))
def test_the_rest_stands_without(feature: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.deletion", feature],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
