"""Rehearsal of a release on this machine: ``python -m scripts.rehearsal [--dist dist] [--full] [--without-lab]``.

Builds wheel and sdist (or takes those of ``--dist``), serves them as a package index on localhost, and does what a user does: installs with
pip into a new environment, draws a picture, writes a page with the command and opens it, runs a cell in JupyterLab, upgrades to a next version that is
built from the sdist, uninstalls. Each step prints a line; the first that fails ends the rehearsal. Where rattler-build is installed, the conda package
follows (``scripts/conda.py``).

The other packages are those of this environment, linked into the new one, where pip checks their versions; ``--full`` installs them from the
indexes that pip is configured for.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import threading
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from scripts.sentence import SENTENCE

ROOT = Path(__file__).resolve().parent.parent
VERSION_FILE = "attn_widget/_version.py"
OURS = re.compile(r"_?_?(?:editable_?_?_)?attn[_-]widget|pip(?:$|-)", re.IGNORECASE)
PICTURE = """
import attn_widget as aw
w = aw.show({text!r}, progress=False)
print(aw.__version__, aw.__file__, repr(w), len(w.first_paint), sep="\\n")
"""


def version_in(folder: Path) -> str:
    """The version that a checkout or an unpacked sdist states."""
    found = re.search(r'__version__ = "(.+)"', (folder / VERSION_FILE).read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def next_version(version: str) -> str:
    """A development version of the next patch.

    Examples
    --------
    >>> next_version("0.1.0"), next_version("0.2.9rc1")
    ('0.1.1.dev0', '0.2.10.dev0')
    """
    major, minor, patch = re.findall(r"\d+", version)[:3]
    return f"{major}.{minor}.{int(patch) + 1}.dev0"


def build(source: Path, out: Path, *targets: str) -> list[Path]:
    """Build ``source`` by this environment's hatchling; returns the new files."""
    out.mkdir(parents=True, exist_ok=True)
    before = {*out.iterdir()}
    options = [word for target in targets for word in ("-t", target)]
    run(sys.executable, "-m", "hatchling", "build", *options, "-d", out, cwd=source)
    return sorted({*out.iterdir()} - before)


def build_next(sdist: Path, folder: Path, out: Path) -> Path:
    """A wheel of the next version, built from the sdist alone."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    version = version_in(source)
    path = source / VERSION_FILE
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(version, next_version(version)), encoding="utf-8")
    (source / "PKG-INFO").unlink()  # hatchling would read the version from it
    (wheel,) = build(source, out, "wheel")
    return wheel


def publish(files: list[Path], index: Path) -> None:
    """Add files to a folder that is a simple index (PEP 503) when served."""
    home = index / "simple" / "attn-widget"
    home.mkdir(parents=True, exist_ok=True)
    for path in files:
        shutil.copy(path, home)
    links = [
        f'<a href="{path.name}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}">{path.name}</a><br>'
        for path in sorted(home.iterdir())
        if path.name != "index.html"
    ]
    page = "\n".join(["<!DOCTYPE html>", "<title>attn-widget</title>", *links, ""])
    (home / "index.html").write_text(page, encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in http.server)
        """Called for each request."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder while it is served on localhost."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment_of(home: Path) -> dict[str, str]:
    """Variables of a user who has no checkout and no caches."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "HF_HUB_OFFLINE": "1",
    }


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command that has to succeed; returns what it prints."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        sys.exit(
            f"[rehearsal] failed ({done.returncode}): {' '.join(words)}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def new_environment(folder: Path, *, full: bool) -> Path:
    """The interpreter of a new environment, with links to this one's packages but ours unless ``full``."""
    venv.create(folder, with_pip=full)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not full:
        linked = folder.with_name(f"{folder.name}-linked")
        linked.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if not OURS.match(path.name):
                (linked / path.name).symlink_to(path)
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        place = Path(run(python, "-c", code, cwd=folder).strip())
        (place / "linked.pth").write_text(f"{linked}\n")
    return python


def files_of(folder: Path) -> set[str]:
    """Relative paths of all files."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


class Rehearsal:
    """A user's machine: an environment, a home and an index.

    Parameters
    ----------
    folder : Path
        An empty folder.
    address : str
        Where the index is served.
    full : bool, default False
        Whether pip also installs the other packages.
    """

    def __init__(self, folder: Path, address: str, *, full: bool = False) -> None:
        self.full = full
        self.home = folder / "home"
        self.work = folder / "work"
        for path in (self.home, self.work):
            path.mkdir()
        self.env = environment_of(self.home)
        self.index = f"{address}/simple/"
        self.place = folder / "environment"
        self.python = new_environment(self.place, full=full)
        self.empty = files_of(self.place)

    def pip(self, *words: str) -> str:
        """Run pip for the new environment; without ``full`` the index on localhost is the only one."""
        if self.full:
            options = ["--extra-index-url", self.index] if words[0] == "install" else []
            return run(self.python, "-m", "pip", *words, *options, cwd=self.work, env=self.env)
        env = {name: value for name, value in self.env.items() if not name.startswith("PIP_")}
        options = ["--index-url", self.index] if words[0] == "install" else []
        return run(
            *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"),
            *("--python", self.python, *words, *options),
            cwd=self.work,
            env={**env, "PIP_CONFIG_FILE": os.devnull},
        )

    def installed(self, *words: str) -> str:
        """Install ours, and check that pip took it from the index on localhost."""
        more = ["ipykernel"] if self.full else []
        said = self.pip("install", *words, "attn-widget", *more)
        assert self.index in said, said
        (line,) = [line for line in said.splitlines() if line.startswith("Successfully installed")]
        return line if len(line) < 100 else f"{line[:80]} and {line.count(' ')} others"

    def run(self, *words: str) -> str:
        """Run the new environment's Python outside of the checkout."""
        return run(self.python, *words, cwd=self.work, env=self.env)

    def version(self) -> str:
        """Version that the installed command prints."""
        return self.run("-m", "attn_widget", "--version").split()[-1]

    def picture(self) -> str:
        """Draw a first picture, in a process of its own."""
        version, file, shown, size = self.run("-c", PICTURE.format(text=SENTENCE)).splitlines()
        assert Path(file).is_relative_to(self.place), file
        assert version == self.version() and int(size) > 1000
        return f"{shown} from attn-widget {version}, {int(size) / 1000:.0f} kB"

    def page(self) -> Path:
        """Write a page by the command."""
        self.run("-m", "attn_widget", SENTENCE, "-o", "page.html")
        return self.work / "page.html"

    def uninstall(self) -> set[str]:
        """Uninstall ours; returns files that were not there before it was installed."""
        self.pip("uninstall", "--yes", "attn-widget")
        left = set() if self.full else files_of(self.place) - self.empty
        ours = re.compile("attn.?widget", re.IGNORECASE)
        left |= {name for name in files_of(self.place) | files_of(self.home) if ours.search(name)}
        return left


def draw_page(page: Path) -> str:
    """Open a page in Chromium without a network; returns the sentence above its view."""
    from scripts.lab import chromium

    with chromium() as browser:
        context = browser.new_context(offline=True)
        shown = context.new_page()
        shown.goto(page.as_uri())
        shown.wait_for_function("() => performance.getEntriesByName('aw:drawn').length > 0")
        sentence = shown.locator(".aw-sentence", has_text="attends to").inner_text()
        context.close()
    return sentence


def draw_in_lab(python: Path, place: Path) -> str:
    """Run a cell in JupyterLab, its kernel that of the new environment; returns the page's outside requests and errors."""
    import json

    from scripts.lab import chromium, jupyterlab

    kernels = place.with_name("jupyter")
    spec = kernels / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    env = {"PYTHONPATH": ""}
    spec.write_text(
        json.dumps({"argv": command, "display_name": "New", "language": "python", "env": env})
    )
    os.environ["JUPYTER_PATH"] = str(kernels)  # before the kernels of this environment
    with chromium() as browser, jupyterlab() as lab:
        cell = f"import attn_widget as aw\n\naw.show({SENTENCE!r})"
        notebook = lab.open(browser, lab.write("first.ipynb", [cell]))
        notebook.run_all()
        notebook.widget(0).wait_drawn()
        file = notebook.python("print(aw.__file__)").strip()
        assert Path(file).is_relative_to(place), file
        assert not notebook.errors and not notebook.outside, (notebook.errors, notebook.outside)
        notebook.close()
    return "no error, no request to elsewhere"


def main(words: list[str] | None = None) -> None:
    """Rehearse, and print a line for each step with the seconds it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dist", type=Path, help="folder with the wheel and the sdist to rehearse")
    parser.add_argument("--full", action="store_true", help="install the other packages as well")
    parser.add_argument("--without-lab", action="store_true", help="no browser, no JupyterLab")
    given = parser.parse_args(words)
    begun = time.monotonic()

    def say(text: str) -> None:
        nonlocal begun
        print(f"[rehearsal] {text} ({time.monotonic() - begun:.1f} s)", flush=True)
        begun = time.monotonic()

    with tempfile.TemporaryDirectory(prefix="aw-rehearsal-") as name:
        folder = Path(name).resolve()
        version = version_in(ROOT)
        dist = given.dist or folder / "dist"
        if given.dist is None:
            build(ROOT, dist, "sdist", "wheel")
        (wheel,) = dist.glob(f"attn_widget-{version}-*.whl")
        (sdist,) = dist.glob(f"attn_widget-{version}.tar.gz")
        sizes = ", ".join(
            f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in (wheel, sdist)
        )
        say(f"{'took' if given.dist else 'built'} {sizes}")
        later = build_next(sdist, folder / "sdist", folder / "next")
        say(f"built {later.name} from the sdist")

        index = folder / "index"
        publish([wheel, sdist], index)
        with served(index) as address:
            user = Rehearsal(folder, address, full=given.full)
            say(
                f"index at {user.index}, new environment {'alone' if given.full else 'with linked packages'}"
            )
            say(f"pip install attn-widget: {user.installed()}")
            say(f"first picture: {user.picture()}")
            page = user.page()
            say(f"python -m attn_widget TEXT -o page.html: {page.stat().st_size / 1e6:.2f} MB")
            if not given.without_lab:
                say(f"page.html in Chromium, offline: {draw_page(page)}")
                say(f"first picture in JupyterLab: {draw_in_lab(user.python, user.place)}")
            publish([later], index)
            user.pip("install", "--upgrade", "attn-widget")
            assert user.version() == version, "a development version was installed without --pre"
            say(f"pip install --upgrade attn-widget: stays at {version}, the newest release")
            say(f"pip install --upgrade --pre attn-widget: {user.installed('--upgrade', '--pre')}")
            assert user.version() == next_version(version)
            say(f"after the upgrade: {user.picture()}")
            left = user.uninstall()
            assert not left, left
            say(
                "pip uninstall attn-widget: nothing left in the environment, nothing of it in the home folder"
            )
        if importlib.util.find_spec("rattler_build"):
            from scripts import conda

            conda.main(["--dist", str(dist)])
        else:
            say("no conda package: py-rattler-build is not installed")
    print("[rehearsal] passed")


if __name__ == "__main__":
    main()
