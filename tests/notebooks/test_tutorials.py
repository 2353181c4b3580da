"""A tutorial's page in Chromium with the network cut: alive, readable, its solutions hidden."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from scripts.tutorials import MAX_BYTES, page_of, take_picture, wait_for_widgets
from scripts.widget_parts import STEP_MS
from tests.e2e.saved import Opened, offline
from tests.e2e.test_accessibility import AXE
from tests.notebooks.conftest import Executed

NAME = "quickstart"
PAGE_BYTES = 2_000_000
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]

pytestmark = pytest.mark.timeout(900)
expect.set_options(timeout=STEP_MS)


@pytest.fixture(scope="module")
def path(executed: Executed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the quickstart."""
    text = page_of(copy.deepcopy(executed(NAME).notebook), NAME)
    target = tmp_path_factory.mktemp("tutorial") / f"{NAME}.html"
    target.write_text(text, encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def opened(browser: Browser, path: Path) -> Iterator[Opened]:
    with offline(browser, path) as found:
        yield found
        assert found.asked == []
        assert found.errors == []


def test_every_widget_in_it_is_alive(opened: Opened, executed: Executed) -> None:
    cells = executed(NAME).notebook.cells
    shown = [
        output
        for cell in cells
        for output in cell.get("outputs", [])
        if "attn-widget-output" in output.get("data", {}).get("text/html", "")
    ]
    outputs = opened.page.locator(".attn-widget-output")
    expect(outputs).to_have_count(len(shown))
    for output in outputs.all():
        output.scroll_into_view_if_needed()
        frame = output.frame_locator("iframe")
        head = frame.locator('[data-aw-part="heads"] [data-layer="0"][data-head="9"]')
        head.click()
        expect(head).to_have_attribute("aria-pressed", "true")
        frame.locator('[data-aw-part="tabs"] [data-view="tree"]').click()
        expect(frame.locator('[data-aw-part="tree-node"]').first).to_be_visible()


def test_it_is_small_and_has_the_code_of_the_page_once(path: Path) -> None:
    assert path.stat().st_size < PAGE_BYTES
    assert path.read_text(encoding="utf-8").count('class="attn-widget-code"') == 1


def test_its_formulas_are_drawn_by_the_browser(opened: Opened) -> None:
    roots = opened.page.locator("math msqrt")
    height = roots.first.evaluate("root => root.getBoundingClientRect().height")
    letter = opened.page.locator("math mi").first.evaluate(
        "letter => letter.getBoundingClientRect().height"
    )
    assert height > 0.5 * letter > 0
    assert "$" not in opened.page.locator(".text").all_inner_texts()[0]


def test_no_formula_is_left_in_latex(opened: Opened) -> None:
    prose = opened.page.locator("p, li, td").all_inner_texts()
    assert [text for text in prose if "$" in text or "\\frac" in text] == []


def test_a_solution_is_hidden_and_opens(opened: Opened) -> None:
    solution = opened.page.locator("details").first
    code = solution.locator("pre").first
    expect(code).to_be_hidden()
    # By the keyboard: after a scroll Chromium may hand the first click to a frame that was there before.
    solution.get_by_text("Solution", exact=True).press("Enter")
    expect(code).to_be_visible()


def test_no_progress_bar_is_left_in_it(opened: Opened) -> None:
    assert "%|" not in opened.page.locator("body").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_follows_the_theme_and_is_accessible(browser: Browser, path: Path, theme: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900}, color_scheme=theme)
    page.goto(path.as_uri())
    page.locator(".attn-widget-output").first.scroll_into_view_if_needed()
    wait_for_widgets(page)
    widget = page.frame_locator(".attn-widget-output iframe").first.locator(".attn-widget")
    expect(widget).to_have_attribute("data-theme", theme)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.evaluate(AXE.read_text())
    found = page.evaluate(f"() => axe.run({{exclude: ['iframe']}}, {{runOnly: {RULES}}})")
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in found["violations"]] == []
    page.close()


def test_its_picture_shows_the_widget_and_is_small(
    browser: Browser, path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "picture.png"
    take_picture(browser, path, target)
    assert target.read_bytes().startswith(b"\x89PNG")
    assert 5_000 < target.stat().st_size <= MAX_BYTES


def test_a_page_that_asks_the_network_is_refused(
    browser: Browser, path: Path, tmp_path: Path
) -> None:
    leaking = tmp_path / "leaking.html"
    text = path.read_text(encoding="utf-8").replace("img-src data:", "img-src https: data:")
    leaking.write_text(
        text.replace("<main>", '<main><img alt="" src="https://example.org/dot.png">'),
        encoding="utf-8",
    )
    with pytest.raises(RuntimeError, match=r"example\.org"):
        take_picture(browser, leaking, tmp_path / "picture.png")
