"""The first cell of a fresh kernel: the frame comes at once, and nothing moves once the picture stands there."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from scripts.lab import Lab

TEXTS = {
    "short": "the cat sat on the mat",
    "two lines": "The trophy does not fit into the brown suitcase because it is too large. Maria bought "
    "the suitcase in Paris last year, and she still likes it very much.",
}
PLACES = """() => Object.fromEntries(['ribbon', 'heads', 'tabs', 'heatmap', 'bar'].map(name => {
    const {top, height} = document.querySelector(`[data-aw-part="${name}"]`).getBoundingClientRect();
    return [name, [Math.round(top), Math.round(height)]];
}))"""
TAGGED = '[data-aw-part="ribbon"] [data-aw-pos="NOUN"]'


@pytest.mark.parametrize("name", TEXTS)
def test_the_frame_comes_first_and_nothing_moves_when_tags_arrive(
    lab: Lab, browser: Browser, name: str
) -> None:
    cells = ["import attn_widget as aw", f"w = aw.show({TEXTS[name]!r})"]
    notebook = lab.open(browser, lab.write(f"first-{len(name)}.ipynb", cells), width=1200)
    page = notebook.page
    notebook.start_all()
    expect(page.locator(".attn-widget-loading")).to_contain_text("Loading")
    notebook.widget(0).wait_drawn()
    expect(page.locator(".attn-widget-loading")).to_have_count(0)
    assert page.locator(TAGGED).count() == 0
    before = page.evaluate(PLACES)
    page.locator(TAGGED).first.wait_for()
    assert page.evaluate(PLACES) == before
    notebook.close()
