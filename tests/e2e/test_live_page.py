"""A page from a file, with the network cut, that runs what is typed: its figures are the kernel's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import attn_widget as aw
from attn_widget.page.engine.live import LIVE_VIEWS, write_live_page
from attn_widget.page.saved_run import ExportOptions, saved_run
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection
from tests.e2e.saved import offline, select_head

MINI = Path(aw.__file__).parent / "mini"
READY = 'html[data-aw-engine="ready"]'
FIELD = '[data-aw-part="run-text"]'
LENGTH = "[data-aw-part=ribbon] [data-token]"


@pytest.fixture(scope="module")
def live_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    analysis = aw.analyze("the cat sat on the mat", progress=False)
    run = saved_run(RunSource(analysis), Selection(), ExportOptions(views=LIVE_VIEWS))
    return write_live_page(tmp_path_factory.mktemp("live") / "live.html", run, MINI)


def test_a_sentence_is_typed_and_every_figure_is_the_kernels(
    browser: Browser, live_page: Path
) -> None:
    text = "a small dog runs by the old river"
    expected = aw.analyze(text, progress=False)
    with offline(browser, live_page) as opened:
        page = opened.page
        expect(page.locator(LENGTH)).to_have_count(8)  # the saved run, before the engine is there
        page.wait_for_selector(READY, timeout=60_000)
        page.locator(FIELD).fill("")
        page.locator(FIELD).press_sequentially(text)
        expect(page.locator(LENGTH)).to_have_count(expected.n_tokens)
        assert page.locator(FIELD).input_value() == text
        select_head(page, 2, 3)
        assert page.locator('[data-aw-part="heads"] [data-layer]').count() >= 72
        page.locator('[data-view="predictions"]').first.click()
        best = expected.predictions(top_k=1).tokens[3][0]
        expect(page.locator('.aw-view [data-view="predictions"]')).to_contain_text(best)
        assert opened.errors == []
        assert opened.asked == []


def test_what_cannot_run_is_said_and_the_last_picture_stays(
    browser: Browser, live_page: Path
) -> None:
    with offline(browser, live_page) as opened:
        page = opened.page
        page.wait_for_selector(READY, timeout=60_000)
        page.locator(FIELD).fill("a b c")
        expect(page.locator(LENGTH)).to_have_count(5)
        page.locator(FIELD).fill("a " * 511)
        expect(page.locator('[data-aw-part="error"]')).to_contain_text("more than 512 tokens")
        expect(page.locator(LENGTH)).to_have_count(5)
        page.locator(FIELD).fill("a b c d")
        expect(page.locator(LENGTH)).to_have_count(6)
        expect(page.locator('[data-aw-part="error"]')).to_be_hidden()
        assert opened.errors == []


def test_a_page_whose_model_is_cut_off_says_so_and_keeps_its_run(
    browser: Browser, live_page: Path, tmp_path: Path
) -> None:
    before, after = live_page.read_text().split('id="aw-weights">')
    weights, rest = after.split("</script>", 1)
    damaged = tmp_path / "damaged.html"
    damaged.write_text(f'{before}id="aw-weights">{weights[:4000]}</script>{rest}')
    with offline(browser, damaged) as opened:
        error = opened.page.locator('[data-aw-part="error"]')
        expect(error).to_contain_text("cut off or damaged")
        expect(opened.page.locator(LENGTH)).to_have_count(8)


def test_the_matrix_of_what_was_typed_is_the_kernels(browser: Browser, live_page: Path) -> None:
    text = "the doctor said no"
    expected = aw.analyze(text, progress=False).attention(2, 3)
    with offline(browser, live_page) as opened:
        page = opened.page
        page.wait_for_selector(READY, timeout=60_000)
        page.locator(FIELD).fill(text)
        expect(page.locator(LENGTH)).to_have_count(len(expected))
        select_head(page, 2, 3)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save").first.click()
            page.get_by_text("CSV", exact=False).first.click()
        rows = Path(saved.value.path()).read_text().splitlines()
        column = rows[0].split(",").index("weight")
        found = [float(row.split(",")[column]) for row in rows[1:]]
        np.testing.assert_allclose(found, expected.ravel(), atol=1e-5)
