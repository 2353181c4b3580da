"""Run All with pictures and a cell of a minute, on a machine with other work: whether every picture stands afterwards.

``python -m scripts.busy_kernel --times 5 --load 8`` prints, for JupyterLab and Notebook, the seconds between the end
of the last cell and the last part of the last picture, and fails if a part is still missing after `PATIENCE_S`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser

from scripts.lab import Lab, Notebook, chromium, jupyterlab

HOSTS = {"JupyterLab": "doc/tree", "Notebook": "notebooks"}
PATIENCE_S = 60
POLL_MS = 100
SHORT = "the cat sat on the mat"
# Too long for its heads to come with the first paint.
TEXT = (
    "The committee met in Paris on Monday, and few expected that the vote would be unanimous. "
    "After two hours the chair asked for a break, because the report was not complete."
)
PICTURES = (
    "import attn_widget as aw",
    f"short = aw.show({SHORT!r}, progress=False)",
    f"text = aw.show({TEXT!r}, layer=0, head=0, token=2, progress=False)\ntext.layer, text.head = 3, 7",
    f"why = aw.show({TEXT!r}, view='why', progress=False)",
    f"masked = aw.show({TEXT!r}, view='predictions', progress=False)\nmasked.masked = [5]",
)

# Names of the parts that pictures lack, and messages in them.
MISSING = """() => [...document.querySelectorAll('.attn-widget')].flatMap((root, i) => {
    const part = name => root.querySelector(`[data-aw-part="${name}"]`);
    const view = part('view').querySelector('[data-view]')?.dataset.view;
    const missing = [];
    if (view === 'attention' && !/^L/.test(part('head-name')?.textContent)) missing.push('matrix');
    if (view === 'why' && part('why-value') === null) missing.push('why');
    if (view === 'predictions' && root.querySelector('[role=row]') === null) missing.push('rows');
    if (part('ribbon').querySelector('[data-aw-pos]') === null) missing.push('tags');
    if (part('heads').querySelector('[data-layer]') === null) missing.push('heads');
    for (const {className} of root.querySelectorAll('[aria-busy=true]'))
        missing.push(`answers in ${className}`);
    for (const name of ['kernel', 'error', 'missing'])
        if (!part(name).hidden) missing.push(part(name).textContent);
    return missing.map(what => `${i}: ${what}`);
})"""

NOTE_END = "() => { window.running.then(() => { window.ended = performance.now(); }); }"
# Seconds since the last cell ended, and what is missing; while it runs 0 and null.
SO_FAR = f"""() => window.ended === undefined
    ? [0, null] : [(performance.now() - window.ended) / 1000, ({MISSING})()]"""


def busy_until(gate: Path) -> str:
    """Source of a cell that occupies the kernel until ``gate`` exists, and a core for a tenth of the time."""
    return (
        f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n"
        "    sum(range(100_000))\n    time.sleep(0.02)"
    )


def wait_complete(notebook: Notebook) -> None:
    """Wait until no picture lacks anything.

    Raises
    ------
    AssertionError
        After `PATIENCE_S`; the message names what is missing.
    """
    until = time.monotonic() + PATIENCE_S
    while missing := notebook.page.evaluate(MISSING):
        assert time.monotonic() < until, ", ".join(missing)
        notebook.page.wait_for_timeout(POLL_MS)


@contextmanager
def load_of(processes: int) -> Iterator[None]:
    """Keep so many processes busy meanwhile."""
    loop = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(loop) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def measure(lab: Lab, browser: Browser, name: str, seconds: float) -> Iterator[tuple[str, float]]:
    """One Run All in each host: its name, and the seconds until its pictures stood."""
    cell = f"import time\nuntil = time.monotonic() + {seconds}\nwhile time.monotonic() < until:\n    sum(range(1000))"
    for host, path in HOSTS.items():
        cells = [*PICTURES, cell]
        notebook = lab.open(browser, lab.write(f"{name}-{host}.ipynb", cells), host=path)
        notebook.start_all()
        notebook.page.evaluate(NOTE_END)
        while True:
            took, missing = notebook.page.evaluate(SO_FAR)
            assert took < PATIENCE_S, f"{host}: {missing}, {notebook.errors}"
            if missing == []:
                break
            time.sleep(POLL_MS / 1000)
        assert notebook.page.locator(".attn-widget").count() == len(PICTURES) - 1
        assert notebook.errors == []
        yield host, took
        notebook.close()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--load", type=int, default=8, help="busy processes besides")
    parser.add_argument("--seconds", type=float, default=60, help="that the last cell takes")
    options = parser.parse_args(arguments)
    with load_of(options.load), chromium() as browser, jupyterlab() as lab:
        for turn in range(options.times):
            for host, took in measure(lab, browser, f"turn-{turn}", options.seconds):
                load = os.getloadavg()[0]
                print(
                    f"{host}: complete {took:.1f} s after the kernel, load {load:.1f}", flush=True
                )


if __name__ == "__main__":
    main()
