"""Notebooks as they are saved, and pages that are opened with nothing but themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import Browser, Frame, Page, Route, expect

from scripts.widget_parts import STEP_MS

SCHEMES = ("file", "data", "blob", "about")  # what is on this machine
WIDGET = "application/vnd.jupyter.widget-view+json"


def execute(sources: Sequence[str], *, state: bool = True) -> Any:
    """A notebook of these cells, run; with the state of its widgets, or as JupyterLab stores it by default."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    NotebookClient(notebook, timeout=300, kernel_name="python3", store_widget_state=state).execute()
    return notebook


@cache
def two_widgets() -> Any:
    """A notebook with two widgets and their state, run once for all tests: copy it before changing it."""
    return execute(
        (
            "import attn_widget as aw",
            "aw.show('the cat sat on the mat', layer=3, head=5, token=2, progress=False)",
            "aw.show('Paris is the capital of France.', layer=1, head=2, progress=False)",
        )
    )


class Opened:
    """A page with the network cut.

    Attributes
    ----------
    asked : list of str
        Addresses on other machines that the page has asked for; none was answered.
    errors : list of str
        Exceptions in the page or its frames.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.route("**/*", self._let_through)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _let_through(self, route: Route) -> None:
        if urlsplit(route.request.url).scheme in SCHEMES:
            route.continue_()
        else:
            self.asked.append(route.request.url)
            route.abort()

    def frames(self) -> list[Frame]:
        return [frame for frame in self.page.frames if frame.parent_frame is not None]


@contextmanager
def offline(
    browser: Browser, path: Path, *, width: int = 1200, motion: bool = False
) -> Iterator[Opened]:
    """Open a file; with ``motion`` for a reader who lets things move by themselves."""
    page = browser.new_page(
        viewport={"width": width, "height": 1000},
        reduced_motion="no-preference" if motion else "reduce",
    )
    page.set_default_timeout(STEP_MS)
    try:
        opened = Opened(page)
        page.goto(path.as_uri())
        yield opened
    finally:
        page.close()


def select_head(where: Any, layer: int, head: int) -> None:
    """Click a head in a widget or page, and wait for its matrix.

    Parameters
    ----------
    where : playwright Frame, FrameLocator, Page or Locator
    """
    where.locator(
        f'[data-aw-part="heads"] [data-layer="{layer}"][data-head="{head}"]'
    ).first.click()
    expect(where.locator('[data-aw-part="head-name"]').first).to_have_text(f"L{layer} · H{head}")
