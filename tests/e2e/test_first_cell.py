"""The first cell of a fresh kernel: the frame comes at once, and nothing moves once the picture stands there."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from scripts.lab import Lab
from tests.e2e.views import draw_frame

TEXTS = {
    "short": "the cat sat on the mat",
    "two lines": "The trophy does not fit into the brown suitcase because it is too large. Maria bought "
    "the suitcase in Paris last year, and she still likes it very much.",
}
TAGGED = '[data-aw-part="ribbon"] [data-aw-pos="NOUN"]'
# Of every frame once a matrix is drawn: whether the text has tags, and where everything stands.
WATCH = """tagged => {
    const seen = name => document.querySelector(`[data-aw-part="${name}"], .aw-${name}`);
    const place = name => {
        const {left, top, height} = seen(name).getBoundingClientRect();
        return [name, ...[left, top, height].map(Math.round)].join(' ');
    };
    const look = () => {
        window.loading.add(document.querySelector('.attn-widget-loading')?.textContent ?? '');
        if (performance.getEntriesByName('aw:drawn').length > 0) {
            const places = ['ribbon', 'heads', 'tabs', 'heatmap', 'bar'].map(place);
            window.places[document.querySelector(tagged) === null ? 'before' : 'after'].add(places.join('; '));
        }
        next();
    };
    // Behind the frame, at whose end sizes are observed, and ahead of every task that may change the page before the next.
    const next = () =>
        requestAnimationFrame(() => scheduler.postTask(look, {priority: "user-blocking"}));
    window.loading = new Set();
    window.places = {before: new Set(), after: new Set()};
    next();
}"""


@pytest.mark.parametrize("name", TEXTS)
def test_the_frame_comes_first_and_nothing_moves_when_tags_and_sentences_arrive(
    lab: Lab, browser: Browser, name: str
) -> None:
    cells = ["import attn_widget as aw", f"w = aw.show({TEXTS[name]!r})"]
    notebook = lab.open(browser, lab.write(f"first-{len(name)}.ipynb", cells), width=1200)
    page = notebook.page
    page.evaluate(WATCH, TAGGED)
    notebook.start_all()
    notebook.widget(0).wait_drawn()
    expect(page.locator(".attn-widget-loading")).to_have_count(0)
    page.locator(TAGGED).first.wait_for()
    if name == "two lines":  # the switch of their boundaries
        page.locator('[data-aw-part="display"]').click()
        page.locator('[data-aw-part="lines"]').wait_for()
        page.keyboard.press("Escape")
    draw_frame(page)
    # Read from every frame: a busy machine may draw for a minute before anyone else can look.
    loading = page.evaluate("() => [...loading].join(' ')")
    assert re.search("Loading|Running", loading)
    before, after = page.evaluate("() => [[...places.before], [...places.after]]")
    assert len(before) == 1 and after == before
    notebook.close()
