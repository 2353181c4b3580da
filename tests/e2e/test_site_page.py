"""A page as the site has them: widgets in their places, and one engine for all that is loaded at the first key."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import attn_widget as aw
from attn_widget.page.compress import deflate
from attn_widget.page.saved_run import saved_run
from attn_widget.page.spec import PageSpec
from scripts.lab import ROOT
from scripts.site.front import write_assets
from tests.e2e.saved import offline

READY = 'html[data-aw-engine="ready"]'
FIELD = '[data-aw-part="run-text"]'
MODEL = ".engine.js"  # how the name of a model's file ends
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
LENGTH = "[data-aw-part=ribbon] [data-token]"


@pytest.fixture(scope="module")
def site_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    write_assets(folder / "_static")
    places = "".join(place(text) for text in ("the cat sat on the mat", "a dog"))
    page = folder / "index.html"
    page.write_text(
        '<!doctype html><html data-theme="dark"><link rel="stylesheet" href="_static/attn-widget.css">'
        '<script src="_static/engine.js" defer></script><script src="_static/attn-widget.js" defer></script>'
        f"<h1>Two widgets</h1>{places}"
    )
    return page


def place(text: str) -> str:
    widget = aw.show(text, progress=False)
    run = saved_run(widget._shown_source, widget.selection, PageSpec(views=["attention", "why"]))
    widget.close()
    chunks = "".join(
        f'<script type="text/plain" class="aw-data" data-run="0" data-chunk="{name}">{deflate(chunk).decode()}</script>'
        for name, chunk in run.snapshot.chunks.items()
    )
    return f'<div class="aw-place">{chunks}</div>'


def test_two_widgets_share_an_engine_that_comes_with_the_first_key(
    browser: Browser, site_page: Path
) -> None:
    expected = aw.analyze("a small dog", progress=False)
    with offline(browser, site_page) as opened:
        page = opened.page
        loaded: list[str] = []
        page.on("request", lambda request: loaded.append(request.url))
        first, second = page.locator(".aw-place").all()
        expect(first.locator(LENGTH)).to_have_count(8)
        expect(second.locator(LENGTH)).to_have_count(4)
        expect(first.locator(".attn-widget")).to_have_attribute("data-theme", "dark")
        second.locator(FIELD).fill("")
        second.locator(FIELD).press_sequentially("a small dog")
        page.wait_for_selector(READY, timeout=60_000)
        expect(second.locator(LENGTH)).to_have_count(expected.trace.n_tokens)
        expect(first.locator(LENGTH)).to_have_count(8)  # what another widget runs changes nothing
        first.locator(FIELD).fill("the cat")
        expect(first.locator(LENGTH)).to_have_count(4)
        expect(second.locator(LENGTH)).to_have_count(expected.trace.n_tokens)
        assert sum(MODEL in url for url in loaded) == 1
        assert len({*loaded}) == len(loaded)  # the code that typing needs, once too
        assert opened.errors == []
        assert opened.asked == []


def test_headings_and_landmarks_fit_into_the_page(browser: Browser, site_page: Path) -> None:
    rules = ["heading-order", "landmark-unique"]
    with offline(browser, site_page) as opened:
        page = opened.page
        for place in page.locator(".aw-place").all():
            place.scroll_into_view_if_needed()
            expect(place).to_have_attribute("data-aw-open", "")
        page.evaluate(AXE.read_text())
        found = page.evaluate("(rules) => axe.run(document, {runOnly: rules})", rules)
        assert {rule["id"] for rule in found["passes"]} == set(rules)
        assert found["violations"] == []


def test_without_its_engine_a_page_keeps_its_runs_and_says_why(
    browser: Browser, site_page: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "site"
    shutil.copytree(site_page.parent, copy, ignore=shutil.ignore_patterns(f"*{MODEL}"))
    with offline(browser, copy / "index.html") as opened:
        place = opened.page.locator(".aw-place").first
        expect(place.locator(LENGTH)).to_have_count(8)
        place.locator(FIELD).fill("a dog")
        expect(place.locator('[data-aw-part="error"]')).to_contain_text("cannot be loaded")
        expect(place.locator(LENGTH)).to_have_count(8)
