"""Without a package, whatever needs it says so, with the command that installs it; everything else works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attn_widget.errors import NotAvailableError
from attn_widget.host.installed import PACKAGES, needing, require

ROOT = Path(__file__).parents[2]
SETS = {  # of packages that are hidden together: what needs one of them needs no other
    ("torch", "transformers"): 20,
    ("scipy", "sklearn", "pyarrow", "pandas", "matplotlib", "regex", "PIL"): 20,
    ("tokenizers", "safetensors", "huggingface_hub"): 1,
}


def test_every_package_is_hidden_in_one_set() -> None:
    assert sorted(name for names in SETS for name in names) == sorted(PACKAGES)


@pytest.mark.parametrize(("hidden", "least"), SETS.items(), ids=lambda one: str(one))
def test_every_name_works_or_says_what_to_install(hidden: tuple[str, ...], least: int) -> None:
    """Every public name, every method of the results, the command line and every slice."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.without_packages", *hidden],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failures"] == {}
    assert found["explained"] >= least


def test_the_guard_names_the_package_and_leaves_other_errors() -> None:
    said = r"^A sum needs SciPy, .* Run: pip install scipy$"
    with pytest.raises(NotAvailableError, match=said), needing("A sum"):
        raise ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats")
    with pytest.raises(ModuleNotFoundError, match="of_no_one"), needing("A sum"):
        import of_no_one  # pyright: ignore[reportMissingImports] # noqa: F401
    require("scipy", "A sum")
