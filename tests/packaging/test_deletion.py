"""Without any one feature, and those that use it, the rest shows a text, type-checks and passes its quick tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attn_widget.features import FEATURES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("feature", sorted(FEATURES))
def test_the_rest_stands_without(feature: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.deletion", feature],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
