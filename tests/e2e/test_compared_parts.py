"""A page of two runs of cross-attention in Chromium: a rectangle of matched outputs by matched sources."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import attn_widget as aw
from tests.e2e.compared import open_panel
from tests.e2e.views import part

A, B = ("the 8th of November 1987", "1987-11-08"), ("March 8th, 1987", "1987-03-08")


def test_cross_attention_of_two_runs_is_compared_in_every_panel(
    browser: Browser, tmp_path: Path
) -> None:
    c = aw.compare(A, B, model="dates", tagger=None, progress=False)
    path = aw.to_html(c, tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    asked: list[str] = []
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    panel = part(page, "difference")
    layer, head = c.heads()[0]
    expect(panel).to_contain_text(f"L{layer} · H{head}")
    expect(panel).to_contain_text(
        "Changed in the sources: “the … of November” → “March … ,”; in the outputs: “11” → “03”."
    )
    drawn = part(page, "alignment").locator("line[data-a]")
    lines = drawn.evaluate_all("all => all.map(one => [+one.dataset.a, +one.dataset.b])")
    expected = [*c.key_alignment.tokens, *c.alignment.tokens]
    assert [tuple(pair) for pair in lines] == expected
    change = c.difference(layer, head).difference
    value = part(page, "reading").get_attribute("data-aw-value")
    assert float(str(value)) == pytest.approx(change.flat[np.abs(change).argmax()], abs=1e-3)
    flow = part(page, "difference-flow")
    expect(flow.locator("text:not(.aw-compare-axis)")).to_have_count(sum(change.shape))
    part(page, "alignment").locator('[data-side="a"][data-token="4"]').first.click()
    expect(part(page, "alignment").locator(".aw-chosen[data-token]").first).to_be_visible()
    open_panel(page, "heads")
    expect(page.locator('[data-panel="heads"]')).to_contain_text("tokens of two texts")
    row = page.locator('[data-metric="monotony"] td')
    shown = [float(str(one.get_attribute("data-aw-value"))) for one in row.all()]
    both = [
        float(of[layer, head]) for of in (c.a.heads.monotony.monotony, c.b.heads.monotony.monotony)
    ]
    assert shown == pytest.approx([*both, both[1] - both[0]], abs=1e-4)
    open_panel(page, "tree")
    expect(page.locator('[data-panel="tree"] .aw-tree')).to_have_count(2)
    open_panel(page, "predictions")
    expect(part(page, "guesses")).to_contain_text("→")
    open_panel(page, "inside")
    expect(page.locator('[data-panel="inside"]')).to_contain_text("no hidden states of its own")
    open_panel(page, "sentences")
    page.keyboard.press("c")
    first = page.locator(".aw-page-run").first
    expect(first).to_contain_text("1987-11-08")
    expect(first.locator('[data-aw-part="part"]')).to_have_count(0)
    page.close()
    assert asked == [path.as_uri()]
