"""Widgets whose views are saved, and pages that save them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from scripts.probe import sentiment
from tests.e2e.views import settle
from tests.golden.make import analysis as masked_analysis

TEXT = 'The unbelievably big trophy, =1+1 "it" fell. -5 </script> It was late.'

Chosen = Callable[..., aw.AttentionWidget]


@cache
def run(name: str, text: str = TEXT) -> aw.Analysis:
    """A text in a plain model, in one with classes, or the run of a masked model; once for all tests."""
    if name == "masked":
        return masked_analysis()
    return aw.analyze(text, model=sentiment() if name == "classes" else None, progress=False)


@contextmanager
def chosen() -> Iterator[Chosen]:
    """A widget for a selection; closed at the end."""
    opened: list[aw.AttentionWidget] = []

    def of(
        view: str, *, forbids: bool = False, text: str = TEXT, **traits: object
    ) -> aw.AttentionWidget:
        name = "masked" if forbids else "classes" if view == "task" else "plain"
        widget = aw.AttentionWidget(run(name, text), view=view, **{"layer": 0, "head": 0, **traits})
        opened.append(widget)
        return widget

    yield of
    for widget in opened:
        widget.close()


@contextmanager
def saving_page(browser: Browser) -> Iterator[Page]:
    """A page that may save files, fails nowhere and asks no network."""
    context = browser.new_context(
        viewport={"width": 1100, "height": 1400}, accept_downloads=True, reduced_motion="reduce"
    )
    opened = context.new_page()
    asked: list[str] = []
    failed: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    context.close()
    assert [url for url in asked if not url.startswith(("about:", "blob:", "data:"))] == []
    assert failed == []


def show(page: Page, widget: aw.AttentionWidget) -> None:
    """Draw a widget and wait until its view asks for nothing any more."""
    mount(page, widget)
    panel = page.locator('[data-aw-part="view"]')
    expect(panel.locator(f'> [data-view="{widget.view}"]')).to_be_visible()
    settle(page)


def save(page: Page, name: str, folder: Path) -> Path:
    """Choose an item of the menu; the file that comes, under the name that it has."""
    page.locator('[data-aw-part="save"]').click()
    with page.expect_download() as started:
        page.locator(f'[data-aw-save="{name}"]').click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path
