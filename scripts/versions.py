"""The lowest and the newest versions of the dependencies, each in an environment of its own, and some tests in each.

``python -m scripts.versions [lowest] [newest]`` makes ``build/versions/NAME`` once for each state of pyproject.toml and
constraints-lowest.txt (the newest once a day), and runs `TESTS` there: widgets, saved pages, the command line, and models of families
that changed between versions.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from scripts.setup import ROOT, digest

PLACE = ROOT / "build" / "versions"
CONSTRAINTS = ROOT / "constraints-lowest.txt"
# Wheels of other versions for Linux bring gigabytes of CUDA; the lowest one is tested where CPU wheels are served.
TORCH = os.environ.get("TORCH", "2.13.0")
TOOLS = (
    "pytest",
    "pytest-timeout",
    "hypothesis",
    "nbformat",
    "nbclient",
    "ipykernel",
    "sentencepiece",
    "protobuf",
    "django",
    "jinja2",
)
SHOWN = (
    "torch", "transformers", "tokenizers", "numpy", "scipy", "traitlets", "anywidget", "ipywidgets",
)  # fmt: skip
UNITS = "tests/unit/test_"
# By file, in the words of pytest's -k; all in one process, since each would import torch and transformers again.
TESTS = {
    "display.py": "",
    "page.py": "holds_its_code or result_is_saved or written_to_a_path",
    "command_line.py": "not windows and not so_many_bytes",
    "configs.py": "",
    "templates.py": "page_comes_out",
    "generation.py": "falcon or gpt2 or llama or mpt",
    "encoder_decoders.py": "t5 or marian or later_version",
}
# Words of pip when it reaches no registry; it goes on to say that it finds no version.
UNREACHED = (
    "connection broken by",
    "Could not fetch URL",
    "No route to host",
    "Name or service not known",
)


class UnreachedError(Exception):
    """No registry answers."""


def constraints(name: str) -> list[str]:
    """Versions that pip must take: those of constraints-lowest.txt, and torch's."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines() if name == "lowest" else []
    kept = [line for line in lines if line and not line.startswith(("#", "torch=="))]
    return [*kept, f"torch=={TORCH}"]


def dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["pandas"], *TOOLS]


def python_of(name: str) -> Path:
    """The interpreter of an environment, which is made where it is missing or out of date."""
    folder, held = PLACE / name, PLACE / f"{name}.txt"
    day = time.strftime("%F") if name == "newest" else ""
    made_from = digest([ROOT / "pyproject.toml", CONSTRAINTS], TORCH, *TOOLS, day)
    python, stamp = folder / "bin" / "python", folder / "stamp"
    if stamp.is_file() and stamp.read_text() == made_from:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    held.write_text("\n".join(constraints(name)))
    print(f"[versions] installing the {name} versions into {folder.relative_to(ROOT)}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [python, "-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check"]
    done = subprocess.run(
        [*install, "--retries", "2", "-c", held, *dependencies()],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode:
        if any(words in done.stderr for words in UNREACHED):
            raise UnreachedError
        sys.exit(f"{done.stderr}[versions] failed: pip cannot install the {name} versions")
    stamp.write_text(made_from)
    return python


def tests() -> list[str]:
    """Arguments of pytest: the files, and which of their tests."""
    files = [f"{UNITS}{file}" for file in TESTS]
    chosen = [
        f"test_{file} and ({words})" if words else f"test_{file}" for file, words in TESTS.items()
    ]
    return [*files, "-k", " or ".join(f"({words})" for words in chosen)]


def main(names: list[str]) -> int:
    settings = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"}
    failed = 0
    for name in names or ["lowest", "newest"]:
        try:
            python = python_of(name)
        except UnreachedError:
            print(
                f"[versions] skipped: pip reaches no registry for the {name} versions", flush=True
            )
            continue
        listed = [python, "-m", "pip", "list", "--disable-pip-version-check", "--format", "freeze"]
        found = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
        shown = [line for line in found if line.partition("==")[0] in SHOWN]
        print(f"[versions] {name}: {', '.join(shown)}", flush=True)
        # A deprecation that a dependency announces is an error: the next version may have removed it.
        pytest = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "error::FutureWarning",
        ]
        command = [*pytest, *tests()]
        failed |= subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
