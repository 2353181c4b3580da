"""Weights and times of the site's pages: ``python -m benchmarks.site_pages`` writes the table of docs/performance.md.

Needs a built site. A server gives its files as they are, uncompressed; each page is opened by a browser that has nothing
of it yet, nothing is typed or chosen, and all is added up until the page asks for nothing more. Times are CPU times of the page's
main thread, which other work on the machine does not lengthen as it does the wall clock.
"""

from __future__ import annotations

import argparse
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser

from benchmarks.documents import fill
from benchmarks.main_thread import CATEGORIES, main_thread_ms
from scripts.lab import chromium

SITE = Path(__file__).parents[1] / "build/site"
PAGES = {
    "front": "index.html",
    "front, on a phone": "index.html",
    "gallery": "gallery.html",
    "index of the tutorials": "notebooks/README.html",
    "a tutorial (`quickstart`)": "notebooks/quickstart.html",
    "a document (`views`)": "docs/views.html",
    "a page of the reference (`Analysis`)": "reference/class-analysis.html",
}
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
# Called before the page's own scripts: how far things moved that stood there already.
SHIFTS = """window.shifted = 0; new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({type: 'layout-shift', buffered: true});"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a static host."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{host.server_port}"
        host.shutdown()


class Opened(NamedTuple):
    """One opening of a page, measured."""

    sizes: dict[str, int]  # by address
    cpu_ms: float
    shifted: float


def opened(browser: Browser, address: str, window: dict[str, int]) -> Opened:
    """Open a page until it asks for nothing more."""
    context = browser.new_context(viewport=window)  # type: ignore[arg-type]
    page = context.new_page()
    page.add_init_script(SHIFTS)
    sizes: dict[str, int] = {}
    page.on("response", lambda got: sizes.update({got.url: len(got.body())}))
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    script, rendering = main_thread_ms(browser.stop_tracing())
    shifted = page.evaluate("window.shifted")
    context.close()
    return Opened(sizes, script + rendering, shifted)


def row(browser: Browser, home: str, name: str, repeats: int) -> str:
    """One row of the table."""
    window = PHONE if "phone" in name else LAPTOP
    found = [opened(browser, f"{home}/{PAGES[name]}", window) for _ in range(repeats)]
    sizes = found[0].sizes
    own = sizes[f"{home}/{PAGES[name]}"]
    cpu = statistics.median(one.cpu_ms for one in found)
    shifted = max(one.shifted for one in found)
    kilobytes = f"{sum(sizes.values()) / 1000:,.0f} | {own / 1000:,.0f} | {len(sizes)}"
    return f"| {name} | {kilobytes} | {cpu:,.0f} | {shifted:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with chromium() as browser, served(arguments.site) as home:
        rows = [row(browser, home, name, arguments.repeats) for name in PAGES]
    head = [
        "| page | all, kB | its own HTML, kB | files | script and rendering, ms of CPU | layout shift |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    fill("docs/performance.md", "site_pages", "\n".join([*head, *rows]))


if __name__ == "__main__":
    main()
