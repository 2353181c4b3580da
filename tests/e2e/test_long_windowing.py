"""What a page of a long text keeps in it: the rows and columns near what is in sight, and no others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from tests.e2e.views import eventually
from tests.unit import tiny_models

TOKENS = 2048
NODES = "document.querySelectorAll('*').length"
SENTENCES = 220  # of five tokens each: above 1,024 tokens

MIDDLE = """selector => {
  const box = document.querySelector(selector);
  box.scrollTop = box.scrollHeight / 2;
  box.scrollLeft = box.scrollWidth / 2;
}"""
AT = """([selector, x, y]) => {
  const box = document.querySelector(selector).getBoundingClientRect();
  const { dataset } = document.elementFromPoint(box.left + x * box.width, box.top + y * box.height);
  return [Number(dataset.a), Number(dataset.b), Number(dataset.awValue)];
}"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    model, reader = tiny_models.build(
        "bert", max_position_embeddings=TOKENS, num_hidden_layers=1, num_attention_heads=1
    )
    reader.model_max_length = TOKENS
    text = "The cat sat on the mat. The dog looked at the bird. " * 160
    analysis = aw.analyze(text, model=(model, reader), tagger=None, truncation=True)
    assert 2000 < analysis.trace.n_tokens <= TOKENS
    path = tmp_path_factory.mktemp("long") / "page.html"
    aw.AttentionWidget(analysis, layer=0, head=0).to_html(path)
    return path, [token.text for token in analysis.tokens]


def test_a_saved_page_of_two_thousand_tokens_has_the_rows_in_sight(
    browser: Browser, saved: tuple[Path, list[str]]
) -> None:
    path, names = saved
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".aw-long-map").wait_for()
    assert page.evaluate(NODES) < 2500
    page.get_by_role("tab", name="Predictions").click()
    rows = page.locator(".aw-position")
    rows.first.wait_for()
    total = rows.count()
    assert total > 2000
    # An empty row is one element; with cells each would have some 75.
    assert page.evaluate(NODES) < 6000
    middle = rows.nth(total // 2)
    assert middle.locator("*").count() < 3
    middle.scroll_into_view_if_needed()
    expect(middle.locator(".aw-position-token")).to_be_visible()
    position = int(middle.get_attribute("data-position") or -1)
    assert abs(position - total / 2) <= 1
    expect(middle.locator(".aw-position-token")).to_contain_text(names[position].removeprefix("##"))
    assert page.evaluate(NODES) < 6000
    assert errors == []
    page.close()


@pytest.fixture
def sentences(browser: Browser) -> Page:
    rng = np.random.default_rng(0)
    n = 5 * SENTENCES
    weights = rng.random((1, 1, n, n)).astype(np.float32)
    weights /= weights.sum(axis=-1, keepdims=True)
    names = ["." if i % 5 == 4 else f"W{i}" for i in range(n)]
    text = " ".join(names).replace(" .", ".")
    analysis = aw.from_attentions(list(weights), names, text=text, tagger=None)
    widget = aw.AttentionWidget(analysis, layer=0, head=0)
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    mount(page, widget, width=1200)
    page.get_by_role("tab", name="Sentences").click()
    page.locator(".aw-isa-cell").first.wait_for()
    return page


def test_of_many_sentences_the_cells_in_sight_are_in_the_page(sentences: Page) -> None:
    page = sentences
    cells, columns = page.locator(".aw-isa-cell"), page.locator(".aw-isa-column")
    assert page.locator(".aw-isa-row").count() == SENTENCES + 1
    assert cells.count() < 3000  # 48,400 of all
    assert columns.count() < 60
    page.evaluate(MIDDLE, ".aw-isa")

    def in_the_middle() -> tuple[int, int]:
        row, column, _ = page.evaluate(AT, [".aw-isa", 0.7, 0.5])
        assert abs(row - SENTENCES / 2) < 20
        assert abs(column - SENTENCES / 2) < 20
        return row, column

    row, column = eventually(page, in_the_middle)
    assert cells.count() < 3000
    # Each cell stands below the head of its own column.
    boxes = [
        page.locator(f'{kind}[data-b="{column}"]').first.bounding_box()
        for kind in (".aw-isa-column", ".aw-isa-cell")
    ]
    assert boxes[0] is not None and boxes[1] is not None
    assert boxes[0]["x"] == pytest.approx(boxes[1]["x"], abs=2)
    # By keyboard to the last column and back: the cell that has the focus is always there.
    page.locator(f'.aw-isa-cell[data-a="{row}"][data-b="{column}"]').click()
    page.keyboard.press("End")
    expect(page.locator(f'.aw-isa-cell[data-a="{row}"][data-b="{SENTENCES - 1}"]')).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator(f'.aw-isa-cell[data-a="{row}"][data-b="0"]')).to_be_focused()
    expect(page.locator('.aw-isa-column[data-b="0"]')).to_be_visible()
    page.close()
