"""A reader without a mouse: a head, a token, the tree, a sentence pair, the table, by keys alone.

The same keys on a live widget and on a saved page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.runs import shown
from tests.e2e.sources import SOURCES, Opened, opened
from tests.e2e.views import READY, panel_of, part

TEXT = "The cat sat on the mat. It was tired, and the bank was closed! Nobody came."
MAX_TABS = 60


@pytest.fixture(params=SOURCES)
def one(browser: Browser, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    new = request.param == "live"
    widget = aw.show(TEXT, layer=0, head=0, progress=False) if new else shown(TEXT, layer=0, head=0)
    with opened(browser, widget, request.param, tmp_path) as found:
        found.page.evaluate("() => document.body.focus()")
        yield found
    widget.close()


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until something that matches has the focus."""
    seen: list[str] = []
    for _ in range(MAX_TABS):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.outerHTML.slice(0, 80)"))
    raise AssertionError(f"Tab never reached {selector}: {seen}")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def open_view(page: Page, name: str) -> None:
    """Walk along the tabs."""
    tab_to(page, '[role="tab"]')
    for _ in range(7):
        if page.evaluate("() => document.activeElement.dataset.view") == name:
            break
        press(page, "ArrowRight")
    expect(panel_of(page, name)).to_be_visible()
    page.wait_for_function(READY)


def test_everything_by_keys(one: Opened) -> None:
    page, analysis = one.page, one.widget.analysis

    # choose L4 H7
    tab_to(page, ".aw-grid-head")
    press(page, "4", ".", "7")
    expect(part(page, "head-name")).to_have_text("L4 · H7")
    chosen = page.locator('.aw-grid-head[aria-pressed="true"]')
    expect(chosen).to_have_attribute("data-layer", "4")
    expect(chosen).to_have_attribute("data-head", "7")

    # focus a token: "sat" is the fourth
    page.evaluate("() => document.activeElement.blur()")
    tab_to(page, '[data-aw-part="ribbon"] [data-token]')
    press(page, "ArrowRight", "ArrowRight", "ArrowRight")
    focused = part(page, "ribbon").locator('[data-token][aria-pressed="true"]')
    expect(focused).to_have_attribute("data-token", "3")

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
    cell = page.evaluate("() => ({...document.activeElement.dataset})")
    drill = part(page, "drill-down")
    expect(drill).to_be_visible()
    mass = analysis.sentences.matrix("mass")[int(cell["a"]), int(cell["b"])]
    one.agree(part(page, "drill-sum").locator("[data-aw-value]").last, mass)

    # read the table twin
    page.evaluate("() => document.activeElement.blur()")
    open_view(page, "attention")
    tab_to(page, '[data-aw-part="table"] summary')
    press(page, "Enter")
    cells = part(page, "table").locator("tbody td")
    n = analysis.trace.n_tokens
    expect(cells).to_have_count(n * n)
    one.agree(cells, analysis.attention(4, 7).ravel())


def test_every_part_is_reached_once_by_tab(one: Opened) -> None:
    """One stop a part: Tab does not walk through 72 heads or 20 tokens."""
    page = one.page
    stops: list[str] = []
    for _ in range(MAX_TABS):
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
    assert len(stops) < MAX_TABS
