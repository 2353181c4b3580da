"""A page as the site has them: widgets in their places, and one engine for all that is loaded at the first key."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.page.compress import deflate
from attn_widget.page.saved_run import ExportOptions, saved_run
from attn_widget.protocol.built import bundle
from scripts.site.front import ENGINE, engine_script, settings
from scripts.site.places import ROOT
from tests.e2e.saved import offline

READY = 'html[data-aw-engine="ready"]'
FIELD = '[data-aw-part="run-text"]'
LENGTH = "[data-aw-part=ribbon] [data-token]"


@pytest.fixture(scope="module")
def site_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(["node", ROOT / "js" / "site.mjs", folder], check=True, cwd=ROOT)
    (folder / ENGINE).write_text(engine_script(), encoding="utf-8")
    (folder / "attn-widget.css").write_text(bundle("widget.css"), encoding="utf-8")
    attributes = " ".join(f'{name}="{value}"' for name, value in settings("1").items())
    places = "".join(place(text) for text in ("the cat sat on the mat", "a dog"))
    page = folder / "index.html"
    page.write_text(
        '<!doctype html><html data-theme="dark"><link rel="stylesheet" href="attn-widget.css">'
        f'<script src="attn-widget.js" {attributes}></script>{places}'
    )
    return page


def place(text: str) -> str:
    widget = aw.show(text, progress=False)
    run = saved_run(widget.source, widget.selection, ExportOptions(views=["attention", "why"]))
    widget.close()
    chunks = "".join(
        f'<script type="text/plain" class="aw-data" data-chunk="{name}">{deflate(chunk).decode()}</script>'
        for name, chunk in run.snapshot.chunks.items()
    )
    return f'<div class="aw-place">{chunks}</div>'


def engines(page: Page) -> int:
    """Script elements that load an engine."""
    return page.locator(f'script[src*="{ENGINE}"]').count()


def test_two_widgets_share_an_engine_that_comes_with_the_first_key(
    browser: Browser, site_page: Path
) -> None:
    expected = aw.analyze("a small dog", progress=False)
    with offline(browser, site_page) as opened:
        page = opened.page
        first, second = page.locator(".aw-place").all()
        expect(first.locator(LENGTH)).to_have_count(8)
        expect(second.locator(LENGTH)).to_have_count(4)
        expect(first.locator(".attn-widget")).to_have_attribute("data-theme", "dark")
        assert engines(page) == 0
        second.locator(FIELD).fill("")
        second.locator(FIELD).press_sequentially("a small dog")
        page.wait_for_selector(READY, timeout=60_000)
        expect(second.locator(LENGTH)).to_have_count(expected.n_tokens)
        expect(first.locator(LENGTH)).to_have_count(8)  # what another widget runs changes nothing
        first.locator(FIELD).fill("the cat")
        expect(first.locator(LENGTH)).to_have_count(4)
        expect(second.locator(LENGTH)).to_have_count(expected.n_tokens)
        assert engines(page) == 1
        assert opened.errors == []
        assert opened.asked == []


def test_without_its_engine_a_page_keeps_its_runs_and_says_why(
    browser: Browser, site_page: Path, tmp_path: Path
) -> None:
    for name in ("index.html", "attn-widget.js", "attn-widget.css"):
        (tmp_path / name).write_bytes((site_page.parent / name).read_bytes())
    with offline(browser, tmp_path / "index.html") as opened:
        place = opened.page.locator(".aw-place").first
        expect(place.locator(LENGTH)).to_have_count(8)
        place.locator(FIELD).fill("a dog")
        expect(place.locator('[data-aw-part="error"]')).to_contain_text(f"{ENGINE} is missing")
        expect(place.locator(LENGTH)).to_have_count(8)
