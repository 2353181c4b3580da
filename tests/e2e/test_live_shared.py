"""Several runs of a page that share one engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.saved import offline
from tests.unit import tiny_models

READY = 'html[data-aw-engine="ready"]'
FIELD = '[data-aw-part="run-text"]'
TOKENS = "[data-aw-part=ribbon] [data-token]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages, one of them a report."""
    found = tmp_path_factory.mktemp("shared")
    model = tiny_models.build("bert", "ForMaskedLM")
    given: dict[str, Any] = {"model": model, "tagger": None, "progress": False}
    widgets = [aw.show(text, **given) for text in ("the cat sat", "a dog")]
    aw.to_html(widgets, found / "two.html", engine=True)
    aw.report(["the cat", "a dog sat"], found / "report.html", engine=True, **given)
    return found


def typed(page: Page, text: str, run: int = 0) -> None:
    page.locator(FIELD).nth(run).fill(text)


def shown(page: Page, run: int = 0) -> list[str]:
    return page.locator(".aw-page-run").nth(run).locator(TOKENS).all_inner_texts()


def test_several_widgets_run_on_one_engine(browser: Browser, folder: Path) -> None:
    with offline(browser, folder / "two.html") as opened:
        page = opened.page
        expect(page.locator(FIELD)).to_have_count(2)
        typed(page, "the dog sat", run=1)
        page.wait_for_selector(READY)
        tokens = page.locator(".aw-page-run").nth(1).locator(TOKENS)
        expect(tokens).to_have_text(["[CLS]", "the", "dog", "sat", "[SEP]"])
        typed(page, "dog", run=0)
        tokens = page.locator(".aw-page-run").nth(0).locator(TOKENS)
        expect(tokens).to_have_text(["[CLS]", "dog", "[SEP]"])
        assert len(shown(page, run=1)) == 5
        assert opened.errors == []


def test_each_text_of_a_report_can_be_typed_into(browser: Browser, folder: Path) -> None:
    with offline(browser, folder / "report.html") as opened:
        page = opened.page
        typed(page, "the dog sat")
        page.wait_for_selector(READY)
        expect(page.locator(TOKENS)).to_have_text(["[CLS]", "the", "dog", "sat", "[SEP]"])
        page.locator("nav a").nth(1).click()
        expect(page.locator(TOKENS)).to_have_text(["[CLS]", "a", "dog", "sat", "[SEP]"])
        typed(page, "sat")
        expect(page.locator(TOKENS)).to_have_text(["[CLS]", "sat", "[SEP]"])
        assert opened.errors == []
