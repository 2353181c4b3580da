"""A saved page of a long text: its numbers, at every distance, and that no matrix of it is ever whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from tests.e2e.saved import select_head
from tests.e2e.test_long_text import side_of_blocks, value_at
from tests.e2e.views import choose, draw_frame, eventually, setting, settle
from tests.unit import tiny_models

TOKENS = 2048
DIFFERENCE = 0.005  # of a weight in this page
# The longest array of floats that the page makes, in `longest`.
COUNTING = """
window.longest = 0;
for (const name of ['Float32Array', 'Float64Array']) {
  const Plain = window[name];
  window[name] = new Proxy(Plain, {
    construct(target, args, made) {
      const array = Reflect.construct(target, args, made === window[name] ? target : made);
      // A view of what is there takes no room of its own.
      if (!(args[0] instanceof ArrayBuffer)) window.longest = Math.max(window.longest, array.length);
      return array;
    },
  });
}
"""


@cache
def analysis() -> aw.Analysis:
    model, reader = tiny_models.build("modernbert", max_position_embeddings=TOKENS)
    reader.model_max_length = TOKENS
    text = "The cat sat on the mat. The dog looked at the bird. " * 170
    return aw.analyze(text, model=(model, reader), tagger=None, truncation=True)


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    found = analysis()
    assert found.trace.n_tokens == TOKENS
    path = tmp_path_factory.mktemp("long") / "page.html"
    views = ["attention", "heads", "tree"]
    aw.AttentionWidget(found, layer=0, head=1, theme="light").to_html(path, views=views)
    context = browser.new_context()
    context.add_init_script(COUNTING)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".aw-long-map").wait_for()
    yield page
    assert errors == []
    context.close()


def exact(layer: int, head: int | str) -> NDArray[np.float64]:
    found = analysis()
    weights = found.attention(layer, head).astype(np.float64)  # pyright: ignore[reportArgumentType]
    mask = found.trace.allowed(layer)
    return weights if mask is None else np.where(mask, weights, np.nan)


@pytest.mark.parametrize("layer", [0, 1])
def test_blocks_and_cells_are_those_of_the_matrix_at_every_distance(
    opened: Page, layer: int
) -> None:
    select_head(opened, layer, 1)
    matrix = exact(layer, 1)
    opened.locator(".aw-long-map").focus()
    opened.keyboard.press("0")

    def middle() -> int:
        """Side of the blocks, once the one in the middle has the number of its cells."""
        draw_frame(opened)
        side = side_of_blocks(opened)
        # On the diagonal, where no window forbids a cell.
        opened.mouse.move(1, 1)
        query, key, value = value_at(opened, 0.5, 0.5)
        block = matrix[query : query + side, key : key + side]
        if not np.isnan(block).all():
            np.testing.assert_allclose(value, np.nanmax(block), atol=DIFFERENCE)
        return side

    sides: set[int] = set()
    for _ in range(8):
        sides.add(eventually(opened, middle))
        opened.keyboard.press("+")
    assert {1, 2, 4} <= sides


def test_a_row_and_the_strongest_links_are_those_of_the_matrix(opened: Page) -> None:
    select_head(opened, 0, 1)
    first = opened.locator(".aw-long-link").first
    matrix = exact(0, 1)
    words = np.array([not token.special for token in analysis().tokens])
    apart = np.abs(np.subtract.outer(np.arange(TOKENS), np.arange(TOKENS))) > 1
    chosen = np.where(apart & np.outer(words, words), matrix, 0)

    def strongest() -> tuple[int, int]:
        query, key = map(int, (first.get_attribute("data-link") or "").split())
        assert matrix[query, key] == pytest.approx(chosen.max(), abs=DIFFERENCE)
        return query, key

    query, key = eventually(opened, strongest)
    first.click()
    number = opened.locator(
        '[data-aw-part="sentence"] .aw-number, [data-aw-part="pair"] .aw-number'
    ).first
    expect(number).to_be_visible()
    assert float(number.get_attribute("data-aw-value") or "nan") == pytest.approx(
        matrix[query, key], abs=DIFFERENCE
    )


def test_no_matrix_is_ever_whole(opened: Page) -> None:
    setting(opened, "mean").click()
    expect(opened.locator(".aw-view")).to_contain_text(re.compile("mean", re.IGNORECASE))
    opened.locator('[data-aw-part="pooling"] [data-name="mean"]').click()
    expect(choose(opened, "tree").locator('[data-aw-part="tree-node"]').first).to_be_visible()
    settle(opened)
    opened.get_by_role("tab", name="Attention").click()
    longest = opened.evaluate("window.longest")
    assert 0 < longest < TOKENS**2 / 8
