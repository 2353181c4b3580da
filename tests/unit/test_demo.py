"""`make demo` where it cannot succeed: it says why in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys

from scripts.demo import FAILURE
from scripts.lab import ROOT


def test_a_demo_whose_browser_fails_says_so_in_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.demo"],
        cwd=ROOT,
        env=os.environ | {"CHROMIUM": "/bin/false"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith("[demo] failed: BrowserType.launch")
    assert said.endswith("(build/demo/failure.txt has the details)")
    assert FAILURE.read_text(encoding="utf-8").startswith("Traceback")
