"""The code of a saved page is compressed in it: where it is damaged, copied, or may not run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import DRAWN

OPENING = 'id="aw-code">'


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    widget = aw.show("the cat sat", layer=2, head=3, progress=False)
    path = widget.to_html(tmp_path_factory.mktemp("page") / "cat.html")
    widget.close()
    return path


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page without a network in which no error may stay unhandled."""
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 800})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    assert problems == []
    context.close()


def test_a_page_whose_code_is_damaged_says_so(page: Page, saved: Path, tmp_path: Path) -> None:
    before, after = saved.read_text("utf-8").split(OPENING)
    for name, code in (
        ("wrong", after[:2000] + after[2000:2100][::-1] + after[2100:]),
        ("short", after[:2000] + after[after.index("<") :]),
    ):
        path = tmp_path / f"{name}.html"
        path.write_text(before + OPENING + code, "utf-8")
        page.goto(path.as_uri())
        expect(page.get_by_role("alert")).to_contain_text("its code cannot be unpacked")


def test_a_copy_that_a_browser_makes_of_the_page_opens_again(
    page: Page, saved: Path, tmp_path: Path
) -> None:
    page.goto(saved.as_uri())
    page.wait_for_function(DRAWN)
    copy = tmp_path / "copy.html"
    copy.write_text(f"<!doctype html>{page.evaluate('document.documentElement.outerHTML')}")
    page.goto(copy.as_uri())
    page.wait_for_function(DRAWN)
    expect(page.locator(".attn-widget")).to_have_count(1)
    page.locator('[role="tab"][data-view="tree"]').click()
    expect(page.locator('[data-aw-part="tree-node"]').first).to_be_visible()


def test_without_scripts_the_page_says_what_it_needs(browser: Browser, saved: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(saved.as_uri())
    expect(page).to_have_title("the cat sat")
    expect(page.locator("p.aw-static")).to_have_text(
        "This is a picture: the interactive page needs scripts, which do not run here. "
        "In JupyterLab, press Trust HTML."
    )
    expect(page.get_by_role("img")).to_be_visible()
    context.close()


def test_the_address_of_a_page_keeps_view_head_and_token_and_a_reload_what_is_open(
    browser: Browser, saved: Path
) -> None:
    page = browser.new_page()
    page.goto(f"{saved.as_uri()}#view=tree&layer=1&head=4&token=2")
    page.locator('[role="tab"][data-view="tree"][aria-selected="true"]').wait_for()
    expect(page).to_have_title("the cat sat")
    page.locator('[role="tab"][data-view="heads"]').click()
    assert page.evaluate("location.hash") == "#view=heads&layer=1&head=4&token=2"
    opened = page.locator('[data-aw-part="fold-heads"]')
    opened.locator("summary").click()
    expect(opened).to_have_attribute("open", "")
    page.wait_for_function("() => history.state?.folds?.length === 1")
    page.reload()
    expect(opened).to_have_attribute("open", "")
    expect(page.locator('[data-aw-part="fold-roles"]')).not_to_have_attribute("open", "")
    page.close()
