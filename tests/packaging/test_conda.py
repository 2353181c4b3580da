"""The conda package: built from the recipe where rattler-build is installed; a file that it lacks or has otherwise is named everywhere."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from scripts.conda import LIBRARY, PYTHON, RECIPE, TOOLS, differences, files_of, installed, needs_of

ROOT = Path(__file__).resolve().parents[2]
MINIMUM = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))["context"]["python_min"]


@pytest.mark.timeout(1800)
@pytest.mark.skipif(PYTHON != MINIMUM, reason=f"the recipe builds with Python {MINIMUM}")
def test_the_recipe_builds_a_package_that_passes_its_tests_and_draws() -> None:
    for tool in TOOLS:
        pytest.importorskip(tool.removeprefix("py-").replace("-", "_"), reason=f"needs {tool}")
    command = [sys.executable, "-m", "scripts.conda"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pip check passed!, all tests passed!" in done.stdout
    assert done.stdout.endswith("[conda] passed\n")


def test_a_file_that_is_missing_changed_or_added_is_named(tmp_path: Path) -> None:
    wheel, package = tmp_path / "a.whl", tmp_path / "package"
    files = {"a/same.py": "1", "a/changed.py": "2", "a/missing.js": "3"}
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, "a-1.dist-info/RECORD": ""}.items():
            archive.writestr(name, text)
    theirs = {**files, "a/changed.py": "x", "a/added.py": "4", "a-1.dist-info/INSTALLER": "conda"}
    for name, text in theirs.items():
        path = package / "site-packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (package / "site-packages/a/missing.js").unlink()
    assert differences(package, wheel) == ["a/added.py", "a/changed.py", "a/missing.js"]


def test_packages_are_taken_as_they_are_installed() -> None:
    here = installed()
    assert "torch" not in here and "attn-widget" in here
    assert {"numpy", "pytorch", "traitlets"} <= {*needs_of(here["attn-widget"])}
    assert "pytest" not in needs_of(here["attn-widget"])  # of an extra
    files = files_of(here["traitlets"])
    import traitlets

    place = LIBRARY / "site-packages/traitlets/__init__.py"
    assert files[place].samefile(traitlets.__file__)
    assert all(path.is_file() and place.is_relative_to(LIBRARY) for place, path in files.items())
    # Jupyter's own files lie beside the modules.
    assert any(path.parts[0] == "share" for path in files_of(here["jupyterlab-widgets"]))
