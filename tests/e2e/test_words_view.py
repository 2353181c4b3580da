"""Words in the view Predictions in Chromium, live and saved: Python's surprisals, the picture, the ribbon."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from scripts.widget_parts import agree
from tests.e2e.saved import offline
from tests.e2e.saving import save
from tests.e2e.test_accessibility import violations
from tests.e2e.views import choose, part
from tests.unit import tiny_models

TEXT = "The cat sat on the mat, unbelievably."


def open_words(page: Page) -> None:
    choose(page, "predictions")
    button = page.locator('[data-unit="words"]')
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(part(page, "words").locator("tbody tr")).to_have_count(len(TEXT.split()))


def test_a_saved_page_has_the_words_of_python(browser: Browser, tmp_path: Path) -> None:
    pair = tiny_models.build("llama")
    widget = aw.show(TEXT, model=pair, view="predictions", tagger=None, progress=False)
    path = widget.to_html(tmp_path / "words.html")
    words = aw.surprisals([TEXT], model=pair, progress=False)
    with offline(browser, path, width=420) as one:
        page = one.page
        open_words(page)
        table = part(page, "words")
        expect(table.locator("tbody th")).to_have_text(words["word"].tolist())
        agree(table.locator("td:nth-child(2) [data-aw-value]"), words["surprisal"], rtol=1e-4)
        agree(part(page, "surprisal").locator("g[data-aw-value]"), words["surprisal"], rtol=1e-4)
        later = words[words["position"] > 1]
        most = later["word"][later["surprisal"].idxmax()].rstrip(".,")
        expect(part(page, "sentence").first).to_have_text(
            re.compile(
                rf"\b{most}\W? surprises the model most: {later['surprisal'].max():.1f} bits"
            )
        )
        drawing = save(page, "svg", tmp_path).read_text()
        assert (
            re.findall(r"<text[^>]*>([^<]*[a-z][^<]*)</text>", drawing)[: len(words)]
            == words["word"].tolist()
        )
        listed = pd.read_csv(save(page, "csv", tmp_path), comment="#")
        assert listed["word"].tolist() == words["word"].tolist()
        np.testing.assert_allclose(listed["surprisal"], words["surprisal"], rtol=1e-4)
        table.locator("tbody button").nth(2).click()
        expect(table.locator("tr.is-focus")).to_have_text(re.compile("^sat"))
        assert violations(page) == []
        assert one.asked == [] and one.errors == []
    widget.close()


def test_an_encoder_masks_the_words_when_they_are_wanted(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1220, "height": 1000})
    widget = aw.show(TEXT, view="predictions", progress=False)
    mount(page, widget, width=1200)
    open_words(page)
    words = aw.surprisals([TEXT], progress=False)
    agree(
        part(page, "words").locator("td:nth-child(2) [data-aw-value]"),
        words["surprisal"],
        rtol=1e-3,
    )
    assert violations(page) == []
    page.locator('[data-unit="tokens"]').click()
    expect(part(page, "words")).to_have_count(0)
    expect(page.get_by_role("grid", name="Predictions by position")).to_be_visible()
    widget.close()
    page.close()
