"""A reader without a mouse: a head, a token, the tree, a sentence pair, the table, by keys alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from tests.e2e.views import READY, panel_of, part

TEXT = "The cat sat on the mat. It was tired, and the bank was closed! Nobody came."
MOST_TABS = 60

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1200, "height": 1100}, reduced_motion="reduce")
    yield opened
    opened.close()


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until something that matches has the focus."""
    seen: list[str] = []
    for _ in range(MOST_TABS):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.outerHTML.slice(0, 80)"))
    raise AssertionError(f"Tab never reached {selector}: {seen}")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def trait(page: Page, name: str) -> object:
    return page.evaluate("name => window.aw.values[name]", name)


def open_view(page: Page, name: str) -> None:
    """Walk along the tabs."""
    tab_to(page, '[role="tab"]')
    for _ in range(7):
        if page.evaluate("() => document.activeElement.dataset.view") == name:
            break
        press(page, "ArrowRight")
    expect(panel_of(page, name)).to_be_visible()
    page.wait_for_function(READY)


def test_everything_by_keys(page: Page) -> None:
    widget = aw.show(TEXT, progress=False)
    mount(page, widget, width=1200)
    page.evaluate("() => document.body.focus()")

    # choose L4 H7
    tab_to(page, ".aw-grid-head")
    press(page, "4", ".", "7")
    expect(part(page, "head-name")).to_have_text("L4 · H7")
    assert (trait(page, "layer"), trait(page, "head")) == (4, 7)

    # focus a token: "sat" is the fourth
    page.evaluate("() => document.activeElement.blur()")
    tab_to(page, '[data-aw-part="ribbon"] [data-token]')
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    assert trait(page, "token") == 3

    # open the tree, collapse a node
    open_view(page, "tree")
    tab_to(page, '[role="treeitem"]')
    press(page, "ArrowRight")
    node = page.locator('[role="treeitem"][aria-level="2"]').first
    expect(node).to_be_focused()
    expect(node).to_have_attribute("aria-expanded", "true")
    nodes = part(page, "tree-node").count()
    press(page, "ArrowLeft")
    expect(node).to_have_attribute("aria-expanded", "false")
    assert part(page, "tree-node").count() < nodes

    # drill into a sentence pair
    page.evaluate("() => document.activeElement.blur()")
    open_view(page, "sentences")
    tab_to(page, '[data-aw-part="sentence-matrix"] [data-a]')
    press(page, "ArrowDown", "ArrowRight", "Enter")
    focused = page.evaluate("() => ({...document.activeElement.dataset})")
    drill = part(page, "drill-down")
    expect(drill).to_be_visible()
    cell = widget.analysis.sentences.matrix("mass")[int(focused["a"]), int(focused["b"])]
    shown = (
        part(page, "drill-sum")
        .locator("[data-aw-value]")
        .evaluate_all("all => all.map(element => Number(element.dataset.awValue))")
    )
    assert any(value == pytest.approx(float(cell), rel=1e-5) for value in shown)

    # read the table twin
    page.evaluate("() => document.activeElement.blur()")
    open_view(page, "attention")
    tab_to(page, '[data-aw-part="table"] summary')
    press(page, "Enter")
    cells = part(page, "table").locator("tbody td")
    n = widget.analysis.n_tokens
    expect(cells).to_have_count(n * n)
    row = widget.analysis.attention(4, 7)[0]
    assert float(cells.nth(3).get_attribute("data-aw-value") or "nan") == pytest.approx(row[3])
    widget.close()


def test_every_part_is_reached_once_by_tab(page: Page) -> None:
    """One stop a part: Tab does not walk through 72 heads or 20 tokens."""
    widget = aw.show(TEXT, progress=False)
    mount(page, widget, width=1200)
    page.evaluate("() => document.body.focus()")
    stops: list[str] = []
    for _ in range(MOST_TABS):
        press(page, "Tab")
        inside = page.evaluate("() => document.activeElement.closest('.attn-widget') !== null")
        if not inside:
            break
        stops.append(
            page.evaluate(
                "() => document.activeElement.closest('[data-aw-part]')?.dataset.awPart ?? ''"
            )
        )
    assert stops.count("heads") <= 1
    assert stops.count("tabs") <= 1
    assert stops.count("heatmap") == 1
    assert len(stops) < MOST_TABS
    widget.close()
