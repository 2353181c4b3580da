"""A page that loads its model from a script beside it, in all that can happen to such a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.saved import offline
from tests.unit import tiny_models

READY = 'html[data-aw-engine="ready"]'
FIELD = '[data-aw-part="run-text"]'
TOKENS = "[data-aw-part=ribbon] [data-token]"
ERROR = '[data-aw-part="error"]'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pages, one of them a report, and the script that they share."""
    found = tmp_path_factory.mktemp("beside")
    model = tiny_models.build("bert", "ForMaskedLM")
    given: dict[str, Any] = {"model": model, "tagger": None, "progress": False}
    widgets = [aw.show(text, **given) for text in ("the cat sat", "a dog")]
    aw.to_html(widgets, found / "two.html", engine=True, assets="beside")
    aw.report(
        ["the cat", "a dog sat"], found / "report.html", engine=True, assets="beside", **given
    )
    return found


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copied"))


def script_in(folder: Path) -> Path:
    [found] = folder.glob("*.engine.js")
    return found


def typed(page: Page, text: str, run: int = 0) -> None:
    page.locator(FIELD).nth(run).fill(text)


def shown(page: Page, run: int = 0) -> list[str]:
    return page.locator(".aw-page-run").nth(run).locator(TOKENS).all_inner_texts()


def test_several_widgets_run_on_one_engine_that_comes_when_it_is_first_used(
    browser: Browser, folder: Path
) -> None:
    with offline(browser, folder / "two.html") as opened:
        page = opened.page
        expect(page.locator(FIELD)).to_have_count(2)
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0
        typed(page, "the dog sat", run=1)
        page.wait_for_selector(READY)
        tokens = page.locator(".aw-page-run").nth(1).locator(TOKENS)
        expect(tokens).to_have_text(["[CLS]", "the", "dog", "sat", "[SEP]"])
        typed(page, "dog", run=0)
        tokens = page.locator(".aw-page-run").nth(0).locator(TOKENS)
        expect(tokens).to_have_text(["[CLS]", "dog", "[SEP]"])
        assert len(shown(page, run=1)) == 5
        assert page.evaluate("performance.getEntriesByType('resource').length") <= 1
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


@pytest.mark.parametrize("hosted", [True, False])
def test_a_sandboxed_frame_loads_the_model_from_a_host_and_says_why_not_from_a_disk(
    browser: Browser, copied: Path, hosted: bool
) -> None:
    outer = copied / "outer.html"
    outer.write_text(
        '<iframe sandbox="allow-scripts" src="two.html" width=900 height=900></iframe>'
    )
    with host(copied) as address:
        page = browser.new_page()
        page.goto(f"{address}/outer.html" if hosted else outer.as_uri())
        frame = page.frame_locator("iframe")
        frame.locator(FIELD).first.fill("dog")
        tokens = frame.locator(".aw-page-run").first.locator(TOKENS)
        if hosted:
            expect(tokens).to_have_text(["[CLS]", "dog", "[SEP]"])
        else:
            expect(frame.locator(ERROR).first).to_contain_text("cannot be loaded")
            expect(tokens).to_have_count(5)
        page.close()


@contextmanager
def host(folder: Path) -> Generator[str]:
    """A server of static files, as of any site."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_model_that_is_missing_is_named_and_may_come_later(
    browser: Browser, copied: Path
) -> None:
    script = script_in(copied)
    away = script.rename(copied / "away")
    with offline(browser, copied / "two.html") as opened:
        page = opened.page
        typed(page, "the dog sat")
        expect(page.locator(ERROR).first).to_contain_text(
            f"{script.name}, which belongs to this page"
        )
        assert shown(page) == ["[CLS]", "the", "cat", "sat", "[SEP]"]
        away.rename(script)
        typed(page, "the dog")
        expect(page.locator(".aw-page-run").first.locator(TOKENS)).to_have_count(4)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "is cut off, damaged, or of another page"),
        (lambda text: text.replace('= "', '= "9', 1), "cut off or damaged"),
        (lambda text: text[:20_000] + "A" * 40 + text[20_040:], "damaged"),
    ],
)
def test_a_damaged_model_is_named_and_the_picture_stays(
    browser: Browser, copied: Path, damage: Callable[[str], str], message: str
) -> None:
    script = script_in(copied)
    script.write_text(damage(script.read_text()))
    with offline(browser, copied / "two.html") as opened:
        page = opened.page
        typed(page, "the dog sat down")
        expect(page.locator(ERROR).first).to_contain_text(message)
        assert shown(page) == ["[CLS]", "the", "cat", "sat", "[SEP]"]


def test_the_model_of_another_page_is_refused(browser: Browser, copied: Path) -> None:
    script = script_in(copied)
    key = script.name.removesuffix(".engine.js").rsplit("-", 1)[1]
    other = aw.show(
        "a dog", model=tiny_models.build("bert", "ForMaskedLM", seed=9), tagger=None, progress=False
    )
    (copied / "other").mkdir()
    aw.to_html(other, copied / "other" / "p.html", engine=True, assets="beside")
    strange = script_in(copied / "other").read_text()
    strange_key = strange.split('["')[1].split('"]')[0]
    assert strange_key != key
    script.write_text(strange.replace(strange_key, key, 1))
    with offline(browser, copied / "two.html") as opened:
        page = opened.page
        typed(page, "the dog sat")
        expect(page.locator(ERROR).first).to_contain_text(
            "not the one that this page was made with"
        )
        assert shown(page) == ["[CLS]", "the", "cat", "sat", "[SEP]"]
