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
)
SHOWN = (
    "torch", "transformers", "tokenizers", "numpy", "scipy", "traitlets", "anywidget", "ipywidgets",
)  # fmt: skip
UNITS = "tests/unit/test_"
TESTS = (
    ["display.py"],
    ["page.py", "-k", "holds_its_code or result_is_saved or written_to_a_path"],
    ["command_line.py", "-k", "not windows"],
    ["configs.py"],
    ["generation.py", "-k", "falcon or gpt2 or llama or mpt"],
    # Without the comparison with T5's own weights, of which the lowest version gives none of the encoder's.
    ["encoder_decoders.py", "-k", "(t5 or marian) and not three_kinds"],
)


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
    install = [python, "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", held, *dependencies()], check=True, stdin=subprocess.DEVNULL)
    stamp.write_text(made_from)
    return python


def main(names: list[str]) -> int:
    settings = {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "passive"}
    failed = 0
    for name in names or ["lowest", "newest"]:
        python = python_of(name)
        listed = [python, "-m", "pip", "list", "--disable-pip-version-check", "--format", "freeze"]
        found = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
        shown = [line for line in found if line.partition("==")[0] in SHOWN]
        print(f"[versions] {name}: {', '.join(shown)}", flush=True)
        # A deprecation that a dependency announces is an error: the next version may have removed it.
        command = [
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "error::FutureWarning",
        ]
        for file, *chosen in TESTS:
            tests = [*command, UNITS + file, *chosen]
            failed |= subprocess.run(tests, cwd=ROOT, env={**os.environ, **settings}).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
