"""A long text in Chromium: numbers of blocks and cells, a walk by keyboard alone, the find box, hard documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.model.tokens import Token
from scripts.page import mount
from tests.e2e.saving import save
from tests.e2e.sources import SOURCES, opened
from tests.e2e.views import settle

N = 1100  # above 1,024 a text is drawn by tiles; the coarsest level has blocks of 8 x 8
PLANTED = {(40, 900): 0.9, (40, 300): 0.05, (700, 20): 0.8, (1050, 1049): 0.7}


def weights() -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    found = rng.random((1, 2, N, N)).astype(np.float32)
    for query in {query for query, _ in PLANTED}:
        links = {key: weight for (q, key), weight in PLANTED.items() if q == query}
        row = found[0, 0, query]
        row[list(links)] = 0
        row *= (1 - sum(links.values())) / row.sum()
        row[list(links)] = list(links.values())
    return found / found.sum(axis=-1, keepdims=True)


def tokens() -> list[str]:
    names = [f"w{i}" for i in range(N)]
    names[40] = "needle"
    return names


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Iterator[tuple[Page, aw.AttentionWidget]]:
    names = tokens()
    analysis = aw.from_attentions(list(weights()), names, text=" ".join(names), tagger=None)
    widget = aw.AttentionWidget(analysis, theme="light", layer=0, head=0)
    page = browser.new_page(viewport={"width": 1200, "height": 1100})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    mount(page, widget, width=1200)
    page.locator(".aw-long-map").wait_for()
    yield page, widget
    assert errors == []
    page.close()
    widget.close()


@pytest.fixture
def page(shown: tuple[Page, aw.AttentionWidget]) -> Page:
    opened, widget = shown
    widget.token = None
    widget.set_trait("pair", None)
    opened.locator(".aw-long-map").focus()
    opened.keyboard.press("0")
    settle(opened)
    return opened


def pinned(page: Page, widget: aw.AttentionWidget, pair: list[int]) -> None:
    expect(page.locator(f'.aw-long-link[data-link="{pair[0]} {pair[1]}"]')).to_have_attribute(
        "aria-pressed", "true"
    )
    assert widget.pair == pair


def test_by_keyboard_alone_to_the_strongest_link_of_a_word(
    page: Page, shown: tuple[Page, aw.AttentionWidget]
) -> None:
    widget = shown[1]
    page.keyboard.press("/")
    expect(page.locator('[data-aw-part="find"]')).to_be_focused()
    page.keyboard.type("needle")
    page.keyboard.press("Enter")
    expect(page.locator('.aw-ribbon-token[data-token="40"]')).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.locator('[data-aw-part="sentence"]')).to_contain_text("w900")
    page.keyboard.press("Tab")
    page.keyboard.press("m")
    pinned(page, widget, [40, 900])
    # Near enough that the two have their labels, with the row as the exact cells have it.
    expect(page.locator('[data-aw-part="block"]')).to_contain_text("every cell")
    page.keyboard.press("m")
    expect(page.locator('[data-aw-part="pair"]')).to_contain_text("w300")
    assert widget.pair == [40, 300]


def side_of_blocks(page: Page) -> int:
    """Cells in a row of each block that is drawn."""
    text = page.locator('[data-aw-part="block"]').inner_text()
    return 1 if "every cell" in text else int(text.split("×")[1].split()[0])


def value_at(page: Page, share_x: float, share_y: float) -> tuple[int, int, float]:
    """First query and key of the block under a point of the plot, and its number."""
    box = page.locator(".aw-long-map .aw-map-pane").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + share_x * box["width"], box["y"] + share_y * box["height"])
    card = page.locator('[data-aw-part="link"]')
    number = card.locator(".aw-number")
    number.wait_for()
    value = float(number.get_attribute("data-aw-value") or "nan")
    return (
        int(card.get_attribute("data-aw-row") or -1),
        int(card.get_attribute("data-aw-column") or -1),
        value,
    )


def test_a_block_has_the_largest_and_the_mean_of_its_cells(page: Page) -> None:
    matrix = weights()[0, 0]
    for press, pool in (("max", np.max), ("mean", np.mean)):
        page.locator(f'[data-aw-part="pooling"] [data-name="{press}"]').click()
        text = page.locator('[data-aw-part="block"]').inner_text()
        side = int(text.split("×")[1].split()[0])
        assert side > 1, text
        for x, y in ((0.3, 0.6), (0.81, 0.04), (0.5, 0.5)):
            query, key, value = value_at(page, x, y)
            assert query % side == key % side == 0
            block = matrix[query : query + side, key : key + side].astype(np.float64)
            np.testing.assert_allclose(value, pool(block), rtol=1e-6)
    page.locator('[data-aw-part="pooling"] [data-name="max"]').click()


def test_near_enough_every_cell_is_the_weight_itself(page: Page) -> None:
    for _ in range(8):
        page.keyboard.press("+")
    expect(page.locator('[data-aw-part="block"]')).to_contain_text("every cell, tokens")
    query, key, value = value_at(page, 0.5, 0.5)
    assert value == pytest.approx(float(weights()[0, 0, query, key]), rel=1e-6)


def test_a_weight_that_is_asked_for_is_a_list_that_goes_there(
    page: Page, shown: tuple[Page, aw.AttentionWidget]
) -> None:
    page.keyboard.press("/")
    page.keyboard.type("weight > 0.5")
    page.keyboard.press("Enter")
    links = page.locator(".aw-long-link")
    # The link to the token before is left out until neighbors count.
    expect(links).to_have_count(2)
    page.get_by_role("button", name="neighbors").click()
    expect(links).to_have_count(3)
    found = [link.get_attribute("data-link") for link in links.all()]
    assert found == ["40 900", "700 20", "1050 1049"]
    links.nth(1).click()
    pinned(page, shown[1], [700, 20])
    expect(page.locator('.aw-ribbon-token[data-token="700"]')).to_be_visible()
    page.get_by_role("button", name="neighbors").click()
    page.get_by_role("button", name="show the strongest").click()
    expect(links).to_have_count(50)


ACCENT = """(() => {
  const box = document.querySelector('.aw-long-map'), pane = box.querySelector('.aw-map-pane');
  const canvas = box.querySelector('.aw-map-base'), scale = canvas.width / canvas.clientWidth;
  const probe = document.createElement('i');
  probe.style.color = getComputedStyle(box).getPropertyValue('--aw-accent');
  box.append(probe);
  const rgb = getComputedStyle(probe).color.match(/[0-9.]+/g).map(Number);
  probe.remove();
  const left = Math.round((pane.offsetLeft - 3) * scale), top = Math.round(pane.offsetTop * scale);
  const tall = Math.round(pane.clientHeight * scale);
  const { data } = canvas.getContext('2d').getImageData(left, top, 1, tall);
  const rows = [];
  for (let i = 0; i < tall; i++)
    if (rgb.slice(0, 3).every((c, k) => Math.abs(c - data[4 * i + k]) < 12)) rows.push(i / tall);
  return rows;
})()"""


def test_hits_stand_in_a_list_and_beside_the_axes(
    page: Page, shown: tuple[Page, aw.AttentionWidget]
) -> None:
    assert page.evaluate(ACCENT) == []
    page.keyboard.press("/")
    page.keyboard.type("w10")  # w10, w100 to w109, w1000 to w1099
    hits = page.locator(".aw-long-hit")
    expect(hits).to_have_count(111)
    expect(hits.nth(1)).to_have_text("100 w95 w96 w97 w98 w99 w100 w101 w102 w103 w104 w105")
    marked = page.evaluate(ACCENT)
    for share in (10 / N, 105 / N, 1005 / N, 1090 / N):
        assert min(abs(share - place) for place in marked) < 0.01
    assert not [place for place in marked if 0.12 < place < 0.9]
    hits.nth(4).click()
    expect(hits.nth(4)).to_have_attribute("aria-current", "true")
    expect(page.locator('.aw-ribbon-token[data-token="103"]')).to_be_visible()
    assert shown[1].token == 103
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    expect(hits).to_have_count(0)


def test_a_brush_on_the_minimap_zooms_and_the_ribbon_is_windowed(page: Page) -> None:
    box = page.locator(".aw-long > .aw-minimap").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 8, steps=4)
    page.mouse.up()
    minimap = page.locator(".aw-long > .aw-minimap")
    expect(minimap).to_have_attribute("aria-valuetext", "tokens 550 to 660 of 1100")
    assert page.locator(".aw-ribbon-token").count() <= 5 * 128
    assert page.evaluate("document.querySelectorAll('*').length") < 3000


HARD = {
    "one word repeated": (["the"] * N, " ".join(["the"] * N)),
    "line breaks": ([Token("Ċ", 0, i, i + 1, "\n") for i in range(N)], "\n" * N),
    "a word a line": (["word"] * N, "word\n\n" * N),
    "without spaces": (["ab"] * N, "ab" * N),
}


@pytest.mark.parametrize("kind", HARD)
def test_hard_documents_are_drawn(browser: Browser, kind: str) -> None:
    names, text = HARD[kind]
    analysis = aw.from_attentions(list(weights()), names, text=text, tagger=None)
    widget = aw.AttentionWidget(analysis, layer=0, head=0, token=40)
    page = browser.new_page(viewport={"width": 700, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    mount(page, widget, width=700)
    expect(page.locator('.aw-ribbon-token[data-token="40"]')).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.locator(".aw-long-link")).to_have_count(50)
    page.locator(".aw-long-map").focus()
    for key in ("m", "+", "Shift+ArrowRight", "ArrowDown", "0"):
        page.keyboard.press(key)
    settle(page)
    assert errors == []
    expect(page.locator('[data-aw-part="error"]')).to_be_hidden()
    page.close()
    widget.close()


# Colors of the narrow column beside the plot, as many times the plot's height below its top.
COLORS_BESIDE = """(element, places) => {
    const canvas = element.querySelector('.aw-map-base');
    const [all, plot] = [canvas, element.querySelector('.aw-map-pane')].map(
        part => part.getBoundingClientRect());
    const ratio = canvas.width / all.width;
    const [x, y] = [plot.right - all.left + 12, plot.top - all.top];
    const { data } = canvas.getContext('2d')
        .getImageData(x * ratio, y * ratio, 1, plot.height * ratio);
    return places.map(place => [...data.slice(4 * Math.floor(place * data.length / 4)).slice(0, 4)]);
}"""


@pytest.mark.parametrize("source", SOURCES)
def test_a_long_matrix_has_the_rest_of_its_rows_beside_it(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    sums = np.where(np.arange(N) < N / 2, 0.125, 0.75).astype(np.float32)
    given = weights()[:, :1] * sums[:, None]
    names = [f"w{i}" for i in range(N)]
    a = aw.from_attentions(list(given), names, text=" ".join(names), rest=True, tagger=None)
    widget = aw.AttentionWidget(a, theme="light", layer=0, head=0, token=40, scale="unit")
    with opened(browser, widget, source, tmp_path) as one:
        page = one.page
        page.locator(".aw-long-map").wait_for()
        settle(page)
        sentence = page.locator('[data-aw-part="sentence"]')
        expect(sentence).to_contain_text("; rest 0.875")
        above, more, below, less = page.locator(".aw-long-map").evaluate(
            COLORS_BESIDE, [0.1, 0.4, 0.6, 0.9]
        )
        assert above == more and below == less and above != below
        rows = save(page, "csv", tmp_path).read_text(encoding="utf-8-sig").splitlines()
        assert rows[0].endswith("query,key,query_text,key_text,weight,rest")
        (planted,) = [row for row in rows if row.startswith("700,20,")]
        assert float(planted.split(",")[-1]) == pytest.approx(0.25, abs=1e-5)
    widget.close()
