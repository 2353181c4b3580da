"""Tables and pictures that fit their panel: nothing to scroll sideways at usual widths."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.compared import open_panel
from tests.e2e.views import unfold

A = "The keys are on the table. Nobody saw them. It rained. They left. He sat. Snow fell. All slept."
B = "The key is on the table. Nobody saw it. It rained. They left. He sat. Snow fell. All slept."
FITS = "all => all.every(one => one.clientWidth > 0 && one.scrollWidth <= one.clientWidth)"


def opened(browser: Browser, path: Path, width: int, height: int = 1000) -> Page:
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()
    page.goto(path.as_uri())
    return page


def fits(page: Page, selector: str, count: int) -> None:
    expect(page.locator(selector)).to_have_count(count)
    expect(page.locator(selector).first).to_be_visible()
    assert page.locator(selector).evaluate_all(FITS), selector


def test_the_table_of_a_profile_fits_a_narrow_page(browser: Browser, tmp_path: Path) -> None:
    profile = aw.profile(["the cat sat", "nobody came to the river"], progress=False)
    page = opened(browser, aw.show(profile).to_html(tmp_path / "profile.html"), 700)
    unfold(page, "heads")
    page.locator(".aw-heads-all").scroll_into_view_if_needed()
    fits(page, ".aw-heads-all > .aw-heads-scroll", 1)
    page.context.close()


@pytest.fixture(scope="module")
def compared() -> aw.Comparison:
    return aw.compare(A, B, progress=False)


@pytest.mark.parametrize(("view", "part"), [("tree", ".aw-tree-scroll"), ("sentences", ".aw-isa")])
def test_both_halves_of_a_comparison_fit(
    browser: Browser, compared: aw.Comparison, tmp_path: Path, view: str, part: str
) -> None:
    path = aw.to_html(compared, tmp_path / "two.html", views=["attention", view])
    page = opened(browser, path, 1200)
    page.locator(f'[data-aw-part="difference"] [role="tab"][data-view="{view}"]').click()
    fits(page, f".aw-compare-half {part}", 2)
    page.context.close()


def test_a_comparison_is_no_wider_than_a_phone_and_shows_its_view_in_the_first_screen(
    browser: Browser, compared: aw.Comparison, tmp_path: Path
) -> None:
    views = ["attention", "heads", "sentences"]
    page = opened(browser, aw.to_html(compared, tmp_path / "two.html", views=views), 390, 844)
    tabs = page.locator('.aw-difference [role="tab"]')
    tabs.first.wait_for()
    names = tabs.evaluate_all("tabs => tabs.map(tab => tab.dataset.view)")
    assert {*views, "patching"} <= {*names}
    for name in names:
        open_panel(page, name)
        page.evaluate("() => scrollTo(0, 0)")
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390, name
        panel = page.locator(f'[data-panel="{name}"]').bounding_box()
        heads = page.locator('[data-aw-part="distances"]').bounding_box()
        assert panel is not None and heads is not None
        assert panel["y"] <= 844 - 200, name
        assert heads["y"] >= panel["y"] + panel["height"], name
    page.context.close()
