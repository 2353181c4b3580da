"""The wheel alone shows a widget: page, embedded model and types are in it."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.close import assert_close

ROOT = Path(__file__).resolve().parents[2]

SHOW = """
import json, pathlib, sys
import attn_widget as aw

w = aw.show("the cat sat on the mat", layer=3, head=5)
print(json.dumps({
    "home": str(pathlib.Path(aw.__file__).parent),
    "prefix": sys.prefix,
    "version": aw.__version__,
    "esm": w._esm,
    "paint": len(w.first_paint),
    "row_sums": w.analysis.attention(3, 5).sum(axis=1).tolist(),
    "repr": repr(w),
}))
"""

# The file of a user: right calls, then those that a checker has to refuse.
USER = """\
from pathlib import Path

import attn_widget as aw

w = aw.show("the cat sat", layer=3, head="mean", view="why", model=None, saved="full", pair=[1, 2])
w.layer, w.head, w.token, w.theme = 3, "mean", None, "dark"
w.target = aw.target(position=2, token="cat")
w.pair = (1, 2)
number: int = w.layer
tab: str = w.view
pinned: list[int] | None = w.pair
a = aw.analyze("the cat sat", tagger=None, truncation=True)
aw.show(a, contributions={"shap": [0.5, 1.0]}, target=aw.target(label=0), method="shap")
aw.show(a, words=True, progress=False).to_html("page.html", engine=True)
page: Path = aw.to_html(a, "page.html", title="Cats")
aw.to_html([w, a, aw.profile(["a", "b"])], "page.html")
aw.report(["a", ("b", "c")], "page.html", theme="light", model=None)
aw.show(aw.profile(["a", "b"]), metric="role").profile.mean
aw.show(aw.compare("a", "b")).comparison.a.tokens
alike = aw.similarity("a cat", "a dog")
aw.show(alike, words=False).words = True
aw.to_html(alike, "page.html")
aw.corpus.agreement(["a"], target=aw.target(position=1, token="a")).mean
"""
WRONG = (
    'aw.show("the cat sat", layr=3)',
    'aw.show("the cat sat", view="atention")',
    'w.layer = "a"',
    "_ = aw.nothing",
    'aw.analyze("the cat sat", modle=1)',
    'w.to_html("page.html", layer=[3])',
    'aw.report(["a"], "page.html", token=3)',
    "aw.show(a, masked=[1])",
)

# What checkers are not asked about; mypy would read it for a minute.
MYPY = """\
[mypy]
cache_dir = /dev/null
[mypy-IPython.*,lancedb.*,matplotlib.*,numpy.*,pandas.*,PIL.*,ray.*,safetensors.*,scipy.*,spacy.*,tokenizers.*,torch.*,transformers.*]
follow_imports = skip
"""


def printed(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command without any path of this checkout."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that has to succeed; returns what it prints."""
    done = printed(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a widget says of itself in an environment whose attn_widget is the wheel's.

    The environment is new and gets the wheel by pip. Its third-party packages (1.4 GB, minutes to
    install) are those of the test's own environment, linked by a .pth file; pip still checks that they
    satisfy the wheel's requirements. The editable checkout is not among them: .pth files found through
    another one are not read.
    """
    folder = tmp_path_factory.mktemp("empty")
    home = folder / "venv"
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    here = Path(sysconfig.get_path("purelib"))
    there = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))",
                     cwd=folder).strip())  # fmt: skip
    (there / "third_party.pth").write_text(f"{here}\n")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index",
        "--ignore-installed", "--no-deps", wheel, cwd=folder)  # fmt: skip
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "check"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    # Packages of the environment that lack theirs are not the wheel's fault.
    assert "attn-widget" not in checked.stdout.replace("_", "-"), checked.stdout
    said: dict[str, Any] = json.loads(run(python, "-c", SHOW, cwd=folder).splitlines()[-1])
    assert Path(said["prefix"]) == home
    return said


def test_holds_the_page_the_model_and_the_types(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {
        "attn_widget/py.typed",
        "attn_widget/static/widget.js",
        "attn_widget/static/rest.deflate",
        "attn_widget/static/standalone.js",
        "attn_widget/static/saved-lazy.js",
        "attn_widget/static/unpack.js",
        "attn_widget/static/widget.css",
        "attn_widget/mini/config.json",
        "attn_widget/mini/model.safetensors",
        "attn_widget/mini/tokenizer.json",
        "attn_widget/mini/README.md",
        "attn_widget/mini/NOTICE",
        *(f"attn_widget/dates/{path.name}" for path in (ROOT / "attn_widget/dates").iterdir()),
    } <= names
    assert "attn_widget/dates/model.safetensors" in names
    assert wheel.stat().st_size < 50_000_000


def test_holds_nothing_but_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    version = wheel.name.split("-")[1]
    assert tops == {"attn_widget", f"attn_widget-{version}.dist-info"}


def test_grows_by_less_than_150_kb_for_the_engine(wheel: Path) -> None:
    home = ROOT / "attn_widget"
    python = [
        path.relative_to(ROOT).as_posix() for path in (home / "features" / "engine").glob("*.py")
    ]
    pages = ["attn_widget/static/engine.js", "attn_widget/static/live.js"]
    with zipfile.ZipFile(wheel) as archive:
        sizes = {info.filename: info.compress_size for info in archive.infolist()}
    engine = {name: sizes[name] for name in [*python, *pages, "attn_widget/mini/tags.json"]}
    assert len(python) > 5 and all(size > 0 for name, size in engine.items() if "__" not in name)
    assert sum(engine.values()) < 150_000


def test_carries_its_licenses_and_those_of_the_bundled_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (home,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        notices = archive.read(f"{home}/licenses/THIRD-PARTY-LICENSES.txt").decode()
        assert b"Apache License" in archive.read(f"{home}/licenses/LICENSE")
        about = email.message_from_bytes(archive.read(f"{home}/METADATA"))
    assert about.get_all("License-File") == ["LICENSE", "NOTICE", "THIRD-PARTY-LICENSES.txt"]
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    shipped = {path: one["version"] for path, one in locked.items() if path and not one.get("dev")}
    assert len(shipped) > 3
    for path, version in shipped.items():
        name = path.removeprefix("node_modules/")
        assert f"{name} {version} (" in notices
        text = (ROOT / path / "LICENSE").read_text().splitlines()
        assert [line for line in text if line.strip() and line not in notices] == []


def test_has_a_readme_that_an_index_can_show(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        about = email.message_from_bytes(archive.read(name))
    shown = about.get_payload()
    assert about["Description-Content-Type"] == "text/markdown" and "Dynamic" not in about
    assert shown.startswith(("# attn_widget", "<p align")) and '="docs/' not in shown
    assert len(shown) > 5000 and "](docs/" not in shown


def test_shows_a_widget_from_another_folder(installed: dict[str, Any]) -> None:
    assert Path(installed["home"]).is_relative_to(installed["prefix"])
    assert installed["repr"] == "<AttentionWidget 'the cat sat on the mat', 8 tokens, L3 H5>"
    assert_close(installed["row_sums"], 1, terms=8)
    assert installed["paint"] > 1000


def test_draws_with_the_page_of_the_wheel(installed: dict[str, Any], wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert installed["esm"] == archive.read("attn_widget/static/widget.js").decode()


def test_carries_the_version_of_the_package(installed: dict[str, Any], wheel: Path) -> None:
    assert wheel.name.split("-")[1] == installed["version"]


def refused_by_pyright(folder: Path, python: Path) -> dict[int, str]:
    settings = {"include": ["user.py"], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = (sys.executable, "-m", "pyright", "--pythonpath", python, "--outputjson")
    found = json.loads(printed(*command, cwd=folder).stdout)["generalDiagnostics"]
    return {one["range"]["start"]["line"]: one["message"] for one in found}


def refused_by_mypy(folder: Path, python: Path) -> dict[int, str]:
    (folder / "mypy.ini").write_text(MYPY)
    command = (sys.executable, "-m", "mypy", "--python-executable", python, "--no-error-summary")
    done = printed(*command, "user.py", cwd=folder)
    assert done.stderr == ""
    found = re.findall(r"^(\S+):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert {file for file, _, _ in found} <= {"user.py"}, done.stdout
    return {int(line) - 1: message for _, line, message in found}


@pytest.mark.parametrize("checker", [refused_by_pyright, refused_by_mypy])
def test_a_checker_passes_right_calls_and_refuses_wrong_ones(
    installed: dict[str, Any], tmp_path: Path, checker: Callable[[Path, Path], dict[int, str]]
) -> None:
    (tmp_path / "user.py").write_text(USER + "\n".join(WRONG) + "\n")
    refused = checker(tmp_path, Path(installed["prefix"]) / "bin" / "python")
    first = USER.count("\n")
    assert {line: text for line, text in refused.items() if line < first} == {}
    assert [line for k, line in enumerate(WRONG) if first + k not in refused] == []
