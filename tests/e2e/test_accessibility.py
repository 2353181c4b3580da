"""axe-core over every view in both themes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import attn_widget as aw
from scripts.lab import ROOT
from scripts.page import mount
from scripts.probe import sentiment
from tests.e2e.views import choose, part, setting, unfold

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
TEXT = "The bank by the river was old. Maria likes it, and she swims there in Paris."
PAIR = "Her brother prefers the sea."
VIEWS = ("attention", "heads", "tree", "sentences", "predictions", "inside")

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1100, "height": 1000})
    yield opened
    opened.close()


def violations(page: Page) -> list[str]:
    """What axe-core finds in the widget, a line each."""
    if page.evaluate("typeof window.axe") == "undefined":
        page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate(
        "() => axe.run('.attn-widget', {resultTypes: ['violations']})"
    )
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_violation(page: Page, theme: str) -> None:
    widget = aw.show(TEXT, PAIR, layer=3, head=5, token=2, theme=theme, progress=False)
    mount(page, widget, width=1100)
    found = {}
    for view in VIEWS:
        choose(page, view)
        found[view] = violations(page)
    page.keyboard.press("?")
    found["keys"] = violations(page)
    widget.close()
    assert found == {name: [] for name in found}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_opens_has_no_violation(page: Page, theme: str) -> None:
    """Details that a reader opens: a pinned pair, a formula, a softmax, a sentence pair, a stage."""
    widget = aw.show(TEXT, layer=3, head=5, token=2, pair=[2, 4], theme=theme, progress=False)
    mount(page, widget, width=1100)
    found = {"pair": violations(page)}
    setting(page, "mean")
    found["display"] = violations(page)
    page.keyboard.press("Escape")
    part(page, "table").locator("summary").click()
    found["table"] = violations(page)
    choose(page, "sentences").get_by_role("gridcell").nth(1).click()
    found["drill"] = violations(page)
    heads = choose(page, "heads")
    unfold(page)
    found["unfolded"] = violations(page)
    heads.locator("button[aria-expanded]").first.click()
    found["formula"] = violations(page)
    widget.close()
    assert found == {name: [] for name in found}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_view_of_a_classifier_has_no_violation(page: Page, theme: str) -> None:
    widget = aw.show(TEXT, model=sentiment(), view="task", theme=theme, progress=False)
    mount(page, widget, width=1100)
    choose(page, "task")
    found = violations(page)
    widget.close()
    assert found == []
