"""Choosing a view on a bare page, and waiting until it is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from playwright.sync_api import Locator, Page, expect

from attn_widget.figures.catalog.choices import VIEWS
from scripts.widget_parts import POLL_S, STEP_MS

T = TypeVar("T")
#: Views of a run of a text: that of a picture needs one.
OF_TEXTS = tuple(name for name, view in VIEWS.items() if view.opens != "wordless")
FLOAT32 = 2.0**-23  # of a float32 number that the page writes with all digits, relative
LATE_MS = 150  # a part that waits says so after 120
# What a view shows first when all its numbers are there.
READY = """() => {
    const panel = document.querySelector('[data-aw-part=view]');
    return panel !== null && panel.getAttribute('aria-busy') !== 'true'
        && panel.querySelector('[aria-busy=true]') === null;
}"""

IDLE = """element => element.closest('[aria-busy=true]') === null
    && element.querySelector('[aria-busy=true]') === null"""


def settled(ready: str) -> str:
    """Script that waits until ``ready`` holds, by the page's own clock.

    That clock stands still while the page works: on a busy machine the test's runs ahead of it.
    """
    return f"""element => new Promise(resolve => {{
        const ready = {ready};
        const look = () => setTimeout(() => ready(element) ? resolve() : look(), {LATE_MS});
        look();
    }})"""


def settle(page: Page) -> None:
    """Wait until no part of the open view waits, those included that would only say so in a moment."""
    page.evaluate(settled(READY))


def settle_in(part: Locator) -> None:
    """Wait until nothing in ``part`` waits, as `settle`."""
    part.evaluate(settled(IDLE))


def unfold(root: Page | Locator, name: str = "") -> None:
    """Open what Heads folds: the part ``name`` of it, or all."""
    if name:
        root.locator(f'[data-aw-part="fold-{name}"]').wait_for()
    folded = root.locator(f'[data-aw-part^="fold-{name}"]:not([open]) > summary')
    while folded.count() > 0:
        folded.first.click()


def draw_frame(page: Page) -> None:
    """Wait until the page has drawn what it was about to draw."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def eventually(page: Page, check: Callable[[], T]) -> T:
    """The result of ``check`` as soon as it fails no more.

    Raises
    ------
    AssertionError
        The last one of ``check``, after `STEP_MS`.
    """
    deadline = time.monotonic() + STEP_MS / 1000
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        page.wait_for_timeout(1000 * POLL_S)


def panel_of(page: Page, view: str) -> Locator:
    return page.locator(f'[data-aw-part="view"] > [data-view="{view}"]')


def choose(page: Page, view: str) -> Locator:
    """Open a view by its tab; returns its panel when nothing in it waits any more."""
    page.locator(f'[role="tab"][data-view="{view}"]').click()
    panel = panel_of(page, view)
    expect(panel).to_be_visible()
    page.wait_for_function(READY)
    return panel


def part(page: Page, name: str) -> Locator:
    return page.locator(f'[data-aw-part="{name}"]')


def setting(page: Page, name: str) -> Locator:
    """A control of the Display popover, which is opened for it."""
    button, control = part(page, "display"), part(page, name)
    if button.get_attribute("aria-expanded") != "true":
        button.click()
    expect(control).to_be_visible()
    return control
