"""The attention view on a bare page: quantities, groups, level of detail, two questions that users bring."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from scripts.page import mount
from scripts.widget_parts import agree
from tests.e2e.views import FLOAT32, part, setting

TEXT = "The trophy does not fit into the suitcase because it is too large. It is red."
# The map of one link is all but white (above 240 in each channel) besides that link (35, 25, 67). Where a
# device pixel is no whole part of a CSS pixel the browser may share the link between neighbors.
DARK = 150

TWO_FRAMES = (
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1200, "height": 1000})
    failed: list[str] = []
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    opened.close()
    assert failed == []


def quantity(page: Page, name: str) -> Locator:
    return part(page, "quantity").locator(f'[data-quantity="{name}"]')


def cells(page: Page) -> Locator:
    """The table twin, row by row; all of a short text."""
    table = part(page, "table")
    if table.get_attribute("open") is None:
        table.locator("summary").click()
    return table.locator("tbody [data-aw-value]")


def test_shows_weights_scores_and_rollout_as_python_has_them(page: Page) -> None:
    widget = aw.show(TEXT, layer=3, head=5, theme="light", progress=False)
    analysis = widget.analysis
    mount(page, widget, width=1200)
    agree(cells(page), analysis.attention(3, 5), rtol=FLOAT32)

    quantity(page, "scores").click()
    expect(part(page, "score-legend")).to_be_visible()
    expect(part(page, "table").locator("caption")).to_contain_text("Scaled scores")
    agree(cells(page), analysis.scores(3, 5), rtol=FLOAT32)
    most = np.abs(analysis.scores(3, 5)).max()
    agree(part(page, "score-legend").locator("[data-aw-value]"), most, rtol=FLOAT32)

    quantity(page, "rollout").click()
    expect(part(page, "head-name")).to_have_text("rollout, layers 0–3")
    agree(cells(page), analysis.rollout(3), rtol=FLOAT32)
    part(page, "ribbon").locator('[data-token="9"]').click()
    row = np.sort(analysis.rollout(3)[9])[::-1]
    agree(part(page, "focus-keys").locator("[data-aw-value]"), row, rtol=FLOAT32, head=True)
    part(page, "focus-flow").get_by_role("button").click()
    flows = part(page, "focus-keys").locator(".aw-rowkey")
    expect(flows.first.locator("[data-aw-value]")).to_have_count(2)
    expected = analysis.heads.flow(9)
    for button in flows.all():
        token = int(button.get_attribute("data-token") or -1)
        agree(button.locator("[data-aw-value]").nth(1), expected[token], rtol=FLOAT32)
    widget.close()


def test_a_long_word_is_cut_before_its_position_in_the_list_of_keys(page: Page) -> None:
    text = " ".join(["a misunderstanding"] * 60)
    widget = aw.show(text, layer=0, head=0, progress=False)
    mount(page, widget, width=700)
    names = part(page, "focus-keys").locator(".aw-rowkey-name")
    repeated = names.filter(has_text="misunderstanding").filter(has=page.locator(".aw-nth"))
    expect(repeated).not_to_have_count(0)
    for name in repeated.all():
        name_box, position = name.bounding_box(), name.locator(".aw-nth").bounding_box()
        assert name_box is not None and position is not None
        assert position["x"] + position["width"] <= name_box["x"] + name_box["width"] + 0.5
        assert name_box["height"] <= 24  # of its row: one line
        assert name.locator("bdi").evaluate("word => word.scrollWidth > word.clientWidth")
    widget.close()


def test_the_smallest_weights_fit_into_the_list_of_keys(page: Page) -> None:
    widget = aw.show("Time flies like an arrow.", progress=False)
    a = widget.analysis
    weights = np.array(
        [[a.attention(i, j) for j in range(a.trace.n_heads)] for i in range(a.trace.n_layers)]
    )
    widget.layer, widget.head, widget.token, _ = map(
        int, np.unravel_index(weights.argmin(), weights.shape)
    )
    mount(page, widget, width=700)
    numbers = part(page, "focus-keys").locator(".aw-rowkey .aw-number")
    expect(numbers.filter(has_text="×10")).not_to_have_count(0)
    for number in numbers.all():
        assert number.evaluate("number => number.scrollWidth <= number.clientWidth")
    widget.close()


def test_scores_step_back_visibly_for_the_mean_head(page: Page) -> None:
    widget = aw.show(TEXT, layer=3, head=5, progress=False)
    widget.quantity = "scores"
    mount(page, widget, width=1200)
    expect(part(page, "score-legend")).to_be_visible()
    setting(page, "mean").click()
    expect(quantity(page, "scores")).to_have_attribute("aria-disabled", "true")
    expect(part(page, "quantity-note")).to_contain_text("Weights are shown; scores are N/A")
    expect(part(page, "score-legend")).to_be_hidden()
    widget.close()


def test_adds_up_tokens_gathered_by_pointer_and_by_keyboard(page: Page) -> None:
    widget = aw.show(TEXT, layer=3, head=5, token=4, progress=False)
    weights = widget.analysis.attention(3, 5).astype(np.float64)
    n = len(weights)
    mount(page, widget, width=1200)
    pane = page.locator(".aw-map-pane").bounding_box()
    assert pane is not None
    # The label of column 2, above the plot.
    page.keyboard.down("Control")
    page.mouse.click(pane["x"] + 2.5 * pane["width"] / n, pane["y"] - 14)
    page.keyboard.up("Control")
    group = part(page, "group")
    expect(group).to_contain_text("1 token: trophy")
    part(page, "heatmap").focus()
    page.mouse.move(5, 5)
    page.keyboard.press("Home")
    for _ in range(8):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+Space")
    expect(group).to_contain_text("2 tokens: trophy, suitcase")
    sums = group.locator("[data-aw-value]")
    agree(sums.nth(0), weights[4, [2, 8]].sum(), rtol=FLOAT32)
    agree(sums.nth(1), weights[:, [2, 8]].sum(axis=1).mean(), rtol=FLOAT32)
    page.keyboard.press("Escape")  # the cursor
    page.keyboard.press("Escape")  # the group
    expect(group).to_be_empty()
    widget.close()


def test_what_it_attends_to_in_layer_4_takes_two_actions(page: Page) -> None:
    widget = aw.show(TEXT, layer=3, head=5, progress=False)
    mount(page, widget, width=1200)
    part(page, "ribbon").locator('[data-token="10"]').click()
    part(page, "heads").locator('[data-layer="4"][data-head="0"]').click()
    expect(part(page, "focus")).to_contain_text("it attends to")
    expect(part(page, "head-name")).to_contain_text("L4")
    row = np.sort(widget.analysis.attention(4, 0)[10])[::-1]
    agree(part(page, "focus-keys").locator("[data-aw-value]"), row, rtol=FLOAT32, head=True)
    widget.close()


def test_who_gets_the_most_attention_in_the_last_layer_takes_four_actions(page: Page) -> None:
    widget = aw.show(TEXT, progress=False)
    analysis = widget.analysis
    mount(page, widget, width=1200)
    last = analysis.trace.n_layers - 1
    part(page, "heads").locator(f'[data-layer="{last}"][data-head="0"]').click()
    setting(page, "mean").click()
    expect(part(page, "head-name")).to_have_text(f"L{last} · mean")
    part(page, "ribbon").locator('[data-token][aria-pressed="true"]').click()
    expect(part(page, "focus")).to_contain_text("Most received")
    means = analysis.attention(last, "mean").astype(np.float64).mean(axis=0)
    listed = part(page, "focus-keys").locator("[data-aw-value]")
    agree(listed, np.sort(means)[::-1], rtol=FLOAT32, head=True)
    first = part(page, "focus-keys").locator("button").first
    expect(first).to_have_attribute("data-token", str(means.argmax()))
    widget.close()


@pytest.mark.parametrize(
    ("width", "ratio"), [(700, 1), (940, 1), (1200, 1), (1200, 1.25), (861, 2)]
)
def test_one_strong_link_of_512_tokens_is_seen(browser: Browser, width: int, ratio: float) -> None:
    n, query, key = 512, 77, 301
    # Eight keys a row: the flow beside a wide map would draw all 262,144 links of even rows at every move.
    weights = np.zeros((1, 1, n, n), dtype=np.float32)
    for row in range(n):
        weights[0, 0, row, (row * 37 + 61 * np.arange(8)) % n] = 1 / 8
    weights[0, 0, query] = 0
    weights[0, 0, query, key] = 1
    tokens = [f"t{i}" for i in range(n)]
    analysis = aw.from_attentions(weights, tokens, tagger=None)
    widget = aw.AttentionWidget(analysis, layer=0, head=0, theme="light")
    page = browser.new_page(viewport={"width": width, "height": 1300}, device_scale_factor=ratio)
    mount(page, widget, width=width)
    pane = page.locator(".aw-map-pane").bounding_box()
    assert pane is not None

    def seen() -> list[tuple[float, float]]:
        """Where the map is dark, in shares of its sides."""
        shot = np.asarray(Image.open(io.BytesIO(page.screenshot(clip=pane))).convert("RGB"))  # pyright: ignore[reportArgumentType]
        near = (shot < DARK).all(axis=-1)
        height, across = len(near), len(near[0])
        return [(y / height, x / across) for y, x in np.argwhere(near)]

    found = seen()
    assert found, "the link has vanished"
    for y, x in found:
        assert y == pytest.approx((query + 0.5) / n, abs=2 / n)
        assert x == pytest.approx((key + 0.5) / n, abs=2 / n)
    # Between two levels of detail, and moved by parts of a pixel.
    page.mouse.move(pane["x"] + pane["width"] * key / n, pane["y"] + pane["height"] * query / n)
    page.keyboard.down("Control")
    for _ in range(3):
        page.mouse.wheel(0, -13)
        page.mouse.move(5, 5)
        page.evaluate(TWO_FRAMES)
        assert seen(), "the link has vanished while zooming"
        page.mouse.move(pane["x"] + pane["width"] * key / n, pane["y"] + pane["height"] * query / n)
    page.keyboard.up("Control")
    page.close()
    widget.close()
