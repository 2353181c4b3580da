"""The wheel alone shows a widget: page, embedded model and types are in it."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

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


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without any path of this checkout; returns what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True
    )
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
    run(sys.executable, "-m", "pip", "--python", python, "check", cwd=folder)
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
        "attn_widget/static/unpack.js",
        "attn_widget/static/widget.css",
        "attn_widget/mini/config.json",
        "attn_widget/mini/model.safetensors",
        "attn_widget/mini/tokenizer.json",
        "attn_widget/mini/README.md",
    } <= names


def test_holds_nothing_but_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    version = wheel.name.split("-")[1]
    assert tops == {"attn_widget", f"attn_widget-{version}.dist-info"}


def test_grows_by_less_than_150_kb_for_the_engine(wheel: Path) -> None:
    home = ROOT / "attn_widget"
    python = [path.relative_to(ROOT).as_posix() for path in (home / "page" / "engine").glob("*.py")]
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
    assert about.get_all("License-File") == ["LICENSE", "THIRD-PARTY-LICENSES.txt"]
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
    assert installed["row_sums"] == pytest.approx([1.0] * 8, abs=1e-6)
    assert installed["paint"] > 1000


def test_draws_with_the_page_of_the_wheel(installed: dict[str, Any], wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert installed["esm"] == archive.read("attn_widget/static/widget.js").decode()


def test_carries_the_version_of_the_package(installed: dict[str, Any], wheel: Path) -> None:
    assert wheel.name.split("-")[1] == installed["version"]
