"""The view Lens in Chromium, live and saved: its cells are Python's, and a click leads on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.features.lens.grid import Lens
from scripts.page import mount
from scripts.widget_parts import agree
from tests.e2e.saved import offline
from tests.e2e.test_accessibility import violations
from tests.e2e.views import FLOAT32, choose, part, settle

TEXT = "The capital of France is [MASK], and the old king lived there."


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1220, "height": 1000})
    yield page
    page.close()


def fitted(text: str) -> re.Pattern[str]:
    """A text, or as much of it as a narrow cell has room for."""
    cut = "|".join(re.escape(text[:end]) + "…" for end in range(1, len(text)))
    return re.compile(f"^(?:{re.escape(text)}|{cut or '…'})$")


def check_cells(page: Page, found: Lens) -> None:
    """Every cell has Python's likeliest token, and the mark where the last layer's choice begins to stand."""
    grid = part(page, "lens-grid")
    for layer in range(len(found.tokens)):
        cells = grid.locator(f'[data-row="{layer}"]')
        expect(cells).to_have_text([fitted(best[0]) for best in found.tokens[layer]])
    check_marks(page, found)


def check_marks(page: Page, found: Lens) -> None:
    marked = part(page, "lens-grid").locator(".is-settled")
    expect(marked).to_have_count(len(found.positions))
    places = marked.evaluate_all(
        "all => all.map(e => [Number(e.dataset.column), Number(e.dataset.row)])"
    )
    assert sorted(map(tuple, places)) == list(enumerate(found.settled.tolist()))


def check_card(page: Page, found: Lens, layer: int, position: int) -> None:
    part(page, "lens-grid").locator(f'[data-row="{layer}"][data-column="{position}"]').hover()
    card = part(page, "lens-card")
    agree(card.locator("li [data-aw-value]"), found.probabilities[layer, position], rtol=FLOAT32)
    figures = [found.entropies[layer, position], found.divergences[layer, position]]
    agree(card.locator("dl [data-aw-value]"), figures, rtol=FLOAT32)
    expect(card.locator("dd").first).to_have_text(
        re.compile(rf", {found.ranks[layer, position]}\D")
    )


def test_cells_are_pythons_and_a_click_goes_there_in_every_view(page: Page) -> None:
    widget = aw.show(TEXT, layer=1, head=2, view="lens", progress=False)
    mount(page, widget, width=1200)
    choose(page, "lens")
    found = widget.analysis.lens()
    check_cells(page, found)
    check_card(page, found, 3, 4)
    expect(part(page, "sentence")).to_have_text(re.compile("^paris .* stands at .MASK. "))
    page.locator('[data-row="5"][data-column="6"]').click()
    expect(part(page, "lens-grid").locator("[role=rowheader].is-chosen")).to_have_text("L4")
    assert (widget.layer, widget.token) == (4, 6)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(part(page, "lens-grid").locator("[role=columnheader].is-focus")).to_have_text(",")
    assert (widget.layer, widget.token) == (4, 7)
    assert violations(page) == []
    page.locator('[data-mode="masked"]').click()
    settle(page)
    check_cells(page, widget.analysis.lens(mode="masked"))
    widget.close()


def test_a_saved_page_has_the_lens_without_a_kernel(browser: Browser, tmp_path: Path) -> None:
    widget = aw.show(TEXT, view="lens", theme="dark", progress=False)
    path = widget.to_html(tmp_path / "lens.html")
    with offline(browser, path, width=420) as one:
        choose(one.page, "lens")
        found = widget.analysis.lens()
        check_cells(one.page, found)
        check_card(one.page, found, 2, 3)
        expect(part(one.page, "lens-mode")).to_have_count(0)
        assert violations(one.page) == []
        assert one.asked == [] and one.errors == []
    widget.close()
