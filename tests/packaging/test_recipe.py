"""The conda recipe and Binder's environment state what pyproject.toml states."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml

from attn_widget._version import __version__
from scripts.conda import conda_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TOML = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = TOML["project"]
RECIPE = yaml.safe_load((ROOT / "recipe/recipe.yaml").read_text(encoding="utf-8"))


def range_of(requirement: str) -> tuple[str, str]:
    """Name and range, without a marker."""
    found = re.fullmatch(r"([\w.-]+)\s*([^;]*?)\s*(?:;.*)?", requirement)
    assert found is not None, requirement
    return conda_name(found[1]), found[2]


def test_it_needs_what_the_package_needs() -> None:
    python, *others = RECIPE["requirements"]["run"]
    assert dict(map(range_of, others)) == dict(map(range_of, PROJECT["dependencies"]))
    host = dict(map(range_of, RECIPE["requirements"]["host"][2:]))
    assert host == dict(map(range_of, TOML["build-system"]["requires"]))
    assert python == "python >=${{ python_min }}"


def test_its_python_is_the_lowest_for_which_every_dependency_is_there() -> None:
    marked = [r for r in PROJECT["dependencies"] if "python_version" in r]
    lowest = [PROJECT["requires-python"].removeprefix(">=")]
    lowest += [found[1] for r in marked if (found := re.search(r"python_version >= '([\d.]+)'", r))]
    assert len(lowest) == len(marked) + 1
    assert RECIPE["context"]["python_min"] == max(
        lowest, key=lambda v: [int(n) for n in v.split(".")]
    )


def test_it_is_the_same_package() -> None:
    assert RECIPE["context"]["version"] == __version__
    assert RECIPE["package"] == {"name": PROJECT["name"], "version": "${{ version }}"}
    assert RECIPE["source"]["path"] == "../dist/attn_widget-${{ version }}.tar.gz"
    about = RECIPE["about"]
    assert about["license"] == PROJECT["license"] and about["summary"] == PROJECT["description"]
    assert about["license_file"] == PROJECT["license-files"]
    (script,) = PROJECT["scripts"].items()
    assert RECIPE["build"]["python"]["entry_points"] == [" = ".join(script)]


def test_it_tries_the_package_as_built() -> None:
    python, script = RECIPE["tests"]
    lowest = {"python_version": "${{ python_min }}.*"}
    assert python == {"python": {"imports": ["attn_widget"], "pip_check": True, **lowest}}
    (name,) = PROJECT["scripts"]
    assert len(script["script"]) == 2
    assert all(line.split()[0] == name for line in script["script"])


def test_the_sdist_has_what_the_recipe_reads() -> None:
    # license-files, pyproject.toml and the build hooks; hatchling adds the first two
    included = TOML["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    hooks = {"scripts/hatch_build.py", "scripts/hatch_readme.py", "/README.md", "CITATION.cff"}
    assert hooks <= {*included}


def test_binder_installs_this_version() -> None:
    lines = (ROOT / ".binder/requirements.txt").read_text(encoding="utf-8").splitlines()
    assert f"attn-widget=={__version__}" in lines
    (lab,) = [r for r in PROJECT["optional-dependencies"]["dev"] if r.startswith("jupyterlab")]
    assert lab in lines
    runtime = (ROOT / ".binder/runtime.txt").read_text(encoding="utf-8").strip()
    assert (
        f"Programming Language :: Python :: {runtime.removeprefix('python-')}"
        in PROJECT["classifiers"]
    )
