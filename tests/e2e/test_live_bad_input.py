"""A page that runs the model says what is wrong in a sentence, and the last good picture stays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.features.engine.live import packed
from attn_widget.features.engine.text import as_text
from tests.e2e.saved import offline
from tests.unit import tiny_models

READY = 'html[data-aw-engine="ready"]'
FIELD = '[data-aw-part="run-text"]'
TOKENS = "[data-aw-part=ribbon] [data-token]"
ERROR = '[data-aw-part="error"]'
NO_SIMD = "WebAssembly.validate = () => false; delete window.Worker;"
CLS_CAT_SEP = ["[CLS]", "cat", "[SEP]"]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = tiny_models.build("bert", "ForMaskedLM")
    widget = aw.show("the cat sat", model=model, tagger=None, progress=False)
    return aw.to_html(widget, tmp_path_factory.mktemp("live") / "live.html", engine=True)


def runs(page: Page) -> None:
    """The page runs what is typed."""
    page.wait_for_selector(READY)
    page.locator(FIELD).fill("cat")
    expect(page.locator(TOKENS)).to_have_text(CLS_CAT_SEP)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat " * 250_000, "more than 128 tokens"),
        ("x" * 1_000_000, None),  # one word that the vocabulary lacks
        (" \n ", "text is empty"),
    ],
)
def test_what_is_pasted_is_run_or_refused_in_words(
    browser: Browser, page_file: Path, text: str, message: str | None
) -> None:
    with offline(browser, page_file) as opened:
        page = opened.page
        runs(page)
        page.evaluate(
            """([selector, text]) => {
              const field = document.querySelector(selector);
              field.value = text;
              field.dispatchEvent(new InputEvent("input", { bubbles: true }));
            }""",
            [FIELD, text],
        )
        if message is None:
            expect(page.locator(TOKENS)).to_have_text(["[CLS]", re.compile("."), "[SEP]"])
        else:
            expect(page.locator(ERROR)).to_contain_text(message)
            expect(page.locator(TOKENS)).to_have_text(CLS_CAT_SEP)
        runs(page)
        expect(page.locator(ERROR)).to_be_hidden()
        assert opened.errors == []


@pytest.mark.parametrize(
    "text", ["the 😀👩‍👩‍👧 sat", "שלום the cat", "مرحبا بالعالم", "e\u0301 \u200d\u202e cat"]
)
def test_other_scripts_are_cut_as_the_kernel_cuts_them(
    browser: Browser, page_file: Path, text: str
) -> None:
    model = tiny_models.build("bert", "ForMaskedLM")
    expected = aw.analyze(text, model=model, tagger=None, progress=False)
    with offline(browser, page_file) as opened:
        page = opened.page
        page.wait_for_selector(READY)
        page.locator(FIELD).fill(text)
        expect(page.locator(TOKENS)).to_have_count(expected.trace.n_tokens)
        assert opened.errors == []


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_page_that_was_cut_off_says_so(
    browser: Browser, page_file: Path, tmp_path: Path, share: float
) -> None:
    text = page_file.read_text(encoding="utf-8")
    cut = tmp_path / "cut.html"
    cut.write_text(text[: int(len(text) * share)], encoding="utf-8")
    with offline(browser, cut) as opened:
        page = opened.page
        if 'id="aw-lazy"' in cut.read_text(encoding="utf-8"):  # what draws the page is whole
            expect(page.locator(ERROR)).to_contain_text(
                re.compile("cut off (or damaged|before its model)")
            )
            expect(page.locator(TOKENS)).to_have_count(5)
        else:
            notice = page.locator(".aw-page-cut")
            expect(notice).to_have_css("visibility", "visible")
            expect(notice).to_contain_text("This page is not complete")


def test_weights_whose_checksum_differs_are_refused(
    browser: Browser, page_file: Path, tmp_path: Path
) -> None:
    encoder = aw.load(tiny_models.build("bert", "ForMaskedLM"), progress=False)
    file = bytearray(packed(encoder))
    file[-5000] ^= 1
    damaged = tmp_path / "damaged.html"
    before, rest = page_file.read_text(encoding="utf-8").split('class="aw-weights">')
    damaged.write_text(f'{before}class="aw-weights">{as_text(bytes(file)).decode()}{rest[rest.index("<"):]}')  # fmt: skip
    with offline(browser, damaged) as opened:
        expect(opened.page.locator(ERROR)).to_contain_text("checksum differs")
        expect(opened.page.locator(TOKENS)).to_have_count(5)


def test_a_browser_without_simd_is_told_which_ones_have_it(
    browser: Browser, page_file: Path
) -> None:
    page = browser.new_page()
    page.add_init_script(NO_SIMD)
    page.goto(page_file.as_uri())
    expect(page.locator(ERROR)).to_contain_text("WebAssembly without SIMD")
    expect(page.locator(TOKENS)).to_have_count(5)
    page.close()


def test_a_browser_without_webassembly_shows_the_saved_run(
    browser: Browser, page_file: Path
) -> None:
    page = browser.new_page()
    page.add_init_script("delete window.WebAssembly; delete window.Worker;")
    page.goto(page_file.as_uri())
    expect(page.locator(ERROR)).to_contain_text("no WebAssembly")
    expect(page.locator(TOKENS)).to_have_count(5)
    page.close()


def test_without_workers_the_main_thread_runs_the_model(
    browser: Browser, page_file: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "page.html"
    text = page_file.read_text(encoding="utf-8").replace("worker-src blob:", "worker-src &#x27;none&#x27;")  # fmt: skip
    changed.write_text(text, encoding="utf-8")
    with offline(browser, changed) as opened:
        runs(opened.page)


def test_it_runs_in_a_sandboxed_frame_and_in_two_pages_at_once(
    browser: Browser, page_file: Path, tmp_path: Path
) -> None:
    outer = tmp_path / "outer.html"
    address = page_file.as_uri()
    outer.write_text(
        f'<iframe sandbox="allow-scripts" src="{address}" width=900 height=900></iframe>'
    )
    first, second = browser.new_page(), browser.new_page()
    first.goto(outer.as_uri())
    second.goto(address)
    runs(second)
    frame = first.frame_locator("iframe")
    frame.locator(FIELD).fill("cat")
    expect(frame.locator(TOKENS)).to_have_text(CLS_CAT_SEP)
    second.locator(FIELD).fill("the dog")
    expect(second.locator(TOKENS)).to_have_count(4)
    for page in (first, second):
        page.close()
