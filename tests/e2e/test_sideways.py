"""Tables and pictures that fit their panel: nothing to scroll sideways at usual widths."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw

A = "The keys are on the table. Nobody saw them. It rained. They left. He sat. Snow fell. All slept."
B = "The key is on the table. Nobody saw it. It rained. They left. He sat. Snow fell. All slept."
FITS = "all => all.every(one => one.clientWidth > 0 && one.scrollWidth <= one.clientWidth)"


def opened(browser: Browser, path: Path, width: int) -> Page:
    page = browser.new_context(viewport={"width": width, "height": 1000}).new_page()
    page.goto(path.as_uri())
    return page


def fits(page: Page, selector: str, count: int) -> None:
    expect(page.locator(selector)).to_have_count(count)
    expect(page.locator(selector).first).to_be_visible()
    assert page.locator(selector).evaluate_all(FITS), selector


def test_the_table_of_a_profile_fits_a_narrow_page(browser: Browser, tmp_path: Path) -> None:
    profile = aw.profile(["the cat sat", "nobody came to the river"], progress=False)
    page = opened(browser, aw.show(profile).to_html(tmp_path / "profile.html"), 700)
    page.get_by_role("heading", name="Roles").scroll_into_view_if_needed()
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
