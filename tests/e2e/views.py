"""Choosing a view on a bare page, and waiting until it is drawn."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

LATE_MS = 150  # a part that waits says so after 120
# What a view shows first when all its numbers are there.
READY = """() => {
    const panel = document.querySelector('[data-aw-part=view]');
    return panel !== null && panel.getAttribute('aria-busy') !== 'true'
        && panel.querySelector('[aria-busy=true]') === null;
}"""

# By the page's own clock, which stands still while the page works: on a busy machine the test's runs ahead of it.
SETTLED = f"""() => new Promise(resolve => {{
    const ready = {READY};
    const look = () => setTimeout(() => ready() ? resolve() : look(), {LATE_MS});
    look();
}})"""


def settle(page: Page) -> None:
    """Wait until no part of the open view waits, those included that would only say so in a moment."""
    page.evaluate(SETTLED)


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
