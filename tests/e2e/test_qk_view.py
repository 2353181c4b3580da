"""Why a head looks there, in Chromium: what is on screen is Python's, a head leads to its cell and back, and no kernel is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from scripts.page import mount
from scripts.widget_parts import agree
from tests.e2e.sources import opened
from tests.e2e.test_accessibility import violations
from tests.e2e.views import FLOAT32, part
from tests.unit.needs import needs_smollm2

TEXT = "The man lost his keys because he was tired."
LAYER, HEAD, QUERY, KEY = 3, 1, 4, 2


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1220, "height": 1000})
    yield page
    page.close()


def pinned(page: Page, **options: Any) -> Any:
    """A widget with a pinned pair whose sum is open."""
    chosen = {"layer": LAYER, "head": HEAD, "token": QUERY, "pair": [QUERY, KEY], **options}
    widget = aw.show(TEXT, progress=False, **chosen)
    mount(page, widget, width=1200)
    part(page, "why-here").click()
    return widget


def rows(page: Page, side: str) -> Locator:
    return page.locator(f'[data-aw-part="qk-{side}"] tr[data-part]')


def listed(page: Page, side: str, values: Any) -> list[int]:
    """The parts that a side lists, each with Python's number."""
    shown = [int(at) for at in rows(page, side).evaluate_all("all => all.map(e => e.dataset.part)")]
    first = page.locator(f'[data-aw-part="qk-{side}"] tr[data-part] > td:nth-child(2)')
    agree(first, np.asarray(values)[shown], rtol=FLOAT32)
    return shown


def test_every_number_is_pythons(page: Page) -> None:
    widget = pinned(page)
    analysis = widget.analysis
    found = analysis.qk_attribution(LAYER, HEAD, QUERY, KEY)
    expect(part(page, "qk-line")).to_contain_text("above the mean of the other words")
    for side, sums in (("key", found.key_sums), ("query", found.query_sums)):
        assert listed(page, side, sums) == list(np.argsort(-np.abs(sums), kind="stable")[:5])
        agree(part(page, f"qk-{side}-total"), np.array([found.contrast]), rtol=1e-5)
    expect(page.locator("body")).not_to_contain_text(" because of ")
    part(page, "qk-without").click()
    expect(part(page, "qk-verdict")).to_be_visible()
    chosen = list(np.argsort(-np.abs(found.key_sums), kind="stable")[:5])
    effects = found.total_effects(side="key", parts=[int(at) for at in chosen]).effects
    assert len(effects) == len(chosen)
    for effect in effects:
        row = page.locator(f'[data-aw-part="qk-key"] tr[data-part="{effect.part}"] [data-aw-value]')
        value = found.key_sums[effect.part]
        agree(row, np.array([value, effect.direct, effect.total, effect.weight]), rtol=1e-4)
    part(page, "qk-show-pairs").click()
    expect(part(page, "qk-texts").locator("[data-unit]")).to_have_count(2 * analysis.trace.n_tokens)
    assert violations(page) == []
    widget.close()


def test_a_head_leads_to_the_cell_at_which_it_read_and_back(page: Page) -> None:
    widget = pinned(page)
    page.locator('[data-by="parts"]').click()
    found = widget.analysis.qk_attribution(LAYER, HEAD, QUERY, KEY, by="parts")
    expect(rows(page, "key").first).to_be_visible()
    listed(page, "key", found.key_sums)
    heads = [each for each in found.key_parts if each.kind == "head"]
    button = page.locator('[data-aw-part="qk-key"] button[data-head]').first
    layer, head = (int(button.get_attribute(f"data-{name}") or -1) for name in ("layer", "head"))
    (source,) = [each.source for each in heads if (each.layer, each.head) == (layer, head)]
    page.set_viewport_size({"width": 1220, "height": 300})
    button.click()
    expect(part(page, "qk-back")).to_be_in_viewport()
    expect(part(page, "qk-back")).to_have_text(f"← back to L{LAYER} · H{HEAD}, his4 → man2")
    expect(part(page, "qk-line")).to_be_visible()
    assert (widget.layer, widget.head, list(widget.pair)) == (layer, head, [KEY, source])
    part(page, "qk-back").click()
    expect(part(page, "qk-back")).to_have_count(0)
    expect(part(page, "qk-line")).to_be_visible()
    assert (widget.layer, widget.head, list(widget.pair)) == (LAYER, HEAD, [QUERY, KEY])
    widget.close()


def test_the_sums_come_into_sight_and_both_sides_have_one_set_of_columns(page: Page) -> None:
    page.set_viewport_size({"width": 1220, "height": 600})
    widget = pinned(page)
    expect(part(page, "qk-key")).to_be_in_viewport(ratio=1)
    part(page, "qk-without").click()
    expect(part(page, "qk-verdict")).to_be_visible()
    for by in ("tokens", "parts"):
        page.locator(f'[data-by="{by}"]').click()
        expect(page.locator(f'[data-by="{by}"]')).to_have_attribute("aria-pressed", "true")
        heads = page.locator(".aw-qk-sum thead th").filter(has_text="total, by a run")
        expect(heads).to_have_count(2, timeout=30_000)
        left, other = heads.evaluate_all("all => all.map(e => e.getBoundingClientRect().left)")
        assert left == other, by
    widget.close()


def test_another_key_of_the_row_is_compared(page: Page) -> None:
    widget = pinned(page)
    page.locator('[data-against="key"]').click()
    page.locator('[data-aw-part="qk-keys"] [data-key="5"]').click()
    expect(part(page, "qk-line")).to_contain_text("keys")
    found = widget.analysis.qk_attribution(LAYER, HEAD, QUERY, KEY, against=5)
    agree(part(page, "qk-key-total"), np.array([found.contrast]), rtol=1e-4)
    widget.close()


def test_says_why_there_is_none(page: Page, browser: Browser, tmp_path: Path) -> None:
    widget = pinned(page, head="mean")
    expect(part(page, "qk-absent")).to_contain_text("A mean of heads has no query and key")
    widget.close()
    unasked = aw.show(TEXT, progress=False, layer=LAYER, head=HEAD, token=QUERY, pair=[QUERY, KEY])
    with opened(browser, unasked, "saved", tmp_path) as saved:
        part(saved.page, "why-here").click()
        expect(part(saved.page, "qk-absent")).to_contain_text("It needs a kernel")
    unasked.close()


def test_a_saved_page_opens_on_the_sums_that_were_open(
    page: Page, browser: Browser, tmp_path: Path
) -> None:
    widget = pinned(page)
    found = widget.analysis.qk_attribution(LAYER, HEAD, QUERY, KEY)
    expect(part(page, "qk-line")).to_be_visible()
    part(page, "qk-without").click()
    expect(part(page, "qk-verdict")).to_be_visible()
    verdict = part(page, "qk-verdict").inner_text()
    with opened(browser, widget, "saved", tmp_path) as saved:
        there = saved.page
        expect(part(there, "qk-line")).to_be_visible()
        for side, sums in (("key", found.key_sums), ("query", found.query_sums)):
            listed(there, side, sums)
        part(there, "qk-without").click()
        expect(part(there, "qk-verdict")).to_have_text(verdict)
        part(there, "qk-show-pairs").click()
        expect(part(there, "qk-texts")).to_be_visible()
        assert violations(there) == []
    widget.close()


def test_the_same_cell_of_two_runs(page: Page) -> None:
    widget = aw.show("The keys to the cabinet are here.", progress=False, layer=LAYER, head=HEAD)
    mount(page, widget, width=1200)
    part(page, "compare-button").click()
    text = part(page, "compare-text")
    text.fill("The key to the old cabinet are here.")
    text.press("Enter")
    expect(part(page, "difference")).to_be_visible()
    b = aw.analyze("The key to the old cabinet are here.", progress=False)
    c = aw.compare(widget.analysis, b, progress=False)
    row, column = 5, 4  # are, cabinet: of the tokens that both runs have
    (query, query_b), (key, key_b) = c.alignment.tokens[row], c.alignment.tokens[column]
    assert (query, query_b, key, key_b) == (6, 7, 5, 6)
    where = part(page, "difference-map")
    where.focus()
    for name in ["ArrowDown", *["ArrowDown"] * row, *["ArrowRight"] * column, "Enter"]:
        where.press(name)
    part(page, "why-here").locator("visible=true").click()
    found = [
        run.qk_attribution(LAYER, HEAD, *cell)
        for run, cell in ((widget.analysis, (query, key)), (b, (query_b, key_b)))
    ]
    change = found[1].contrast - found[0].contrast
    expect(part(page, "qk-change")).to_contain_text("In B the contrast is", timeout=30_000)
    agree(
        page.locator('[data-aw-part="qk-change"] > [data-aw-value]'), np.array([change]), rtol=1e-4
    )
    assert list(widget.pair) == [query, key]
    for side in ("key", "query"):
        total = page.locator(f'[data-aw-part="qk-compared-{side}"] tfoot [data-aw-value]')
        agree(total, np.array([found[0].contrast, found[1].contrast, change]), rtol=1e-4)
    of_key = page.locator(f'[data-aw-part="qk-compared-key"] tr[data-part="{key}"] [data-aw-value]')
    before, after = found[0].key_sums[key], found[1].key_sums[key_b]
    agree(of_key, np.array([before, after, after - before]), rtol=1e-4)
    page.locator('[data-by="parts"]').locator("visible=true").click()
    expect(part(page, "qk-compared-key")).to_contain_text("L0 FFN")
    assert violations(page) == []
    widget.close()


@needs_smollm2
def test_the_heads_that_feed_induction_are_found_by_clicking(page: Page) -> None:
    """By what is written on the page, in four clicks from the text alone."""
    text = "The cat sat near a big red barn. Later on, the cat sat near"
    widget = aw.show(text, model="smollm2", progress=False)
    mount(page, widget, width=1200)
    expect(part(page, "pair")).to_contain_text(
        "click a cell to pin it and open its arithmetic and “Why here?”"
    )
    page.get_by_role("button", name="layer 18, head 6").click()
    page.get_by_role("group", name="Tokens: choose").get_by_role("button", name="near").last.click()
    page.get_by_role("list").get_by_role("button", name="a 0.676").click()
    page.get_by_role("button", name="Why here?").click()
    table = page.get_by_role("table", name="Key side: what a")
    expect(table).to_be_visible(timeout=60_000)
    first, second = table.get_by_role("button").all()[:2]
    expect(first).to_have_text("L16 · H0")
    expect(second).to_have_text("L17 · H8")
    first.click()
    expect(page.get_by_role("button", name="back to L18 · H6")).to_be_visible(timeout=60_000)
    assert (widget.layer, widget.head, list(widget.pair)) == (16, 0, [4, 3])
    widget.close()
