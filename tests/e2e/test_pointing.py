"""What is under the pointer and the keyboard's cursor is what is painted there."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from scripts.page import mount
from scripts.widget_parts import POLL_S, STEP_MS
from tests.e2e.views import eventually

N = 9
QUERY, KEY = 2, 6
TOKENS = [f"t{i}" for i in range(N)]
DARK = 150  # of 255 in each channel; the strongest cell is darker, everything else lighter


def one_link() -> np.ndarray:
    """Uniform weights but for one query that looks at one key alone."""
    weights = np.full((1, 1, N, N), 1 / N, dtype=np.float32)
    weights[0, 0, QUERY] = 0
    weights[0, 0, QUERY, KEY] = 1
    return weights


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1200, "height": 1000})
    yield opened
    opened.close()


@pytest.fixture
def shown(page: Page) -> Iterator[aw.AttentionWidget]:
    analysis = aw.from_attentions(one_link(), TOKENS, tagger=None)
    widget = aw.AttentionWidget(analysis, theme="light", layer=0, head=0)
    mount(page, widget, width=1200)
    yield widget
    widget.close()


def link_of(page: Page, row: int, column: int) -> Locator:
    """The card of a pair of tokens."""
    return page.locator(f'[data-aw-part="link"][data-aw-row="{row}"][data-aw-column="{column}"]')


def pinned(page: Page, widget: aw.AttentionWidget, row: int, column: int) -> None:
    """Wait until Python hears of the pair."""
    deadline = time.monotonic() + STEP_MS / 1000
    while widget.pair != [row, column]:
        assert time.monotonic() < deadline, widget.pair
        page.wait_for_timeout(1000 * POLL_S)


def darkest(element: Locator) -> tuple[float, float]:
    """Center of the dark cell of an element, px of the page."""
    box = element.bounding_box()
    assert box is not None
    shot = np.asarray(Image.open(io.BytesIO(element.screenshot())).convert("RGB"))
    rows, columns = np.nonzero((shot < DARK).all(axis=-1))
    scale = shot.shape[1] / box["width"]
    return box["x"] + float(columns.mean()) / scale, box["y"] + float(rows.mean()) / scale


def test_the_pointer_finds_the_cell_that_is_painted_under_it(
    page: Page, shown: aw.AttentionWidget
) -> None:
    x, y = darkest(page.locator(".aw-map-pane"))
    page.mouse.move(x, y)
    expect(link_of(page, QUERY, KEY).first).to_contain_text("1.00")
    page.mouse.click(x, y)
    expect(page.locator('[data-aw-part="pair"]')).to_contain_text(f"t{QUERY}")
    expect(page.locator('[data-aw-part="pair"]')).to_contain_text(f"t{KEY}")
    pinned(page, shown, QUERY, KEY)


def test_arrow_keys_move_the_cursor_where_they_point(page: Page, shown: aw.AttentionWidget) -> None:
    x, y = darkest(page.locator(".aw-map-pane"))
    page.mouse.click(x, y)
    for key, (row, column) in {
        "ArrowRight": (QUERY, KEY + 1),
        "ArrowDown": (QUERY + 1, KEY + 1),
        "ArrowLeft": (QUERY + 1, KEY),
        "ArrowUp": (QUERY, KEY),
        "Home": (QUERY, 0),
        "m": (QUERY, KEY),
        "End": (QUERY, N - 1),
    }.items():
        page.keyboard.press(key)
        page.keyboard.press("Enter")
        expect(link_of(page, row, column).first).to_be_visible()
        pinned(page, shown, row, column)
        page.keyboard.press("Enter")


def test_the_grid_is_darkest_at_the_head_with_the_largest_figure(page: Page) -> None:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(N), size=(3, 4, N)).astype(np.float32)
    weights[1, 2] = np.eye(N, dtype=np.float32)
    analysis = aw.from_attentions(weights, TOKENS, tagger=None)
    assert analysis.metrics.uniformity.argmax() == 1 * 4 + 2
    widget = aw.AttentionWidget(analysis, theme="light", metric="uniformity", layer=0, head=0)
    mount(page, widget, width=1200)
    shades = {}
    for layer in range(3):
        for head in range(4):
            cell = page.locator(f'.aw-grid-head[data-layer="{layer}"][data-head="{head}"]')
            box = cell.bounding_box()
            assert box is not None
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            shot = page.screenshot(clip={"x": x - 2, "y": y - 2, "width": 4, "height": 4})
            shades[layer, head] = float(
                np.asarray(Image.open(io.BytesIO(shot)).convert("L")).mean()
            )
    figures = analysis.metrics.uniformity
    ranked = sorted(shades, key=lambda place: figures[place])
    assert min(shades, key=shades.__getitem__) == ranked[-1]
    assert max(shades, key=shades.__getitem__) == ranked[0]
    widget.close()


def test_labels_and_bars_have_cards_and_a_second_click_of_two_takes_nothing_back(
    page: Page, shown: aw.AttentionWidget
) -> None:
    pane = page.locator(".aw-map-pane").bounding_box()
    assert pane is not None
    row, column = pane["height"] / N, pane["width"] / N
    card = page.locator('[data-aw-part="label-card"]')
    page.mouse.move(pane["x"] - 14, pane["y"] + (QUERY + 0.5) * row)
    expect(card).to_contain_text(f"t{QUERY} attends most to")
    expect(card.locator("dd").first).to_have_text("1.00")
    received = one_link()[0, 0].mean(axis=0)[KEY]
    for y in (pane["y"] - 10, pane["y"] + pane["height"] + 12):
        page.mouse.move(pane["x"] + (KEY + 0.5) * column, y)
        expect(card).to_contain_text(f"t{KEY} receives {received:.3f} on average, most from")
        expect(card.locator("dt").first).to_have_text(f"t{QUERY}")
        page.mouse.move(5, 5)
        expect(card).to_be_hidden()
    page.mouse.dblclick(pane["x"] + (KEY + 0.5) * column, pane["y"] + (QUERY + 0.5) * row)
    pinned(page, shown, QUERY, KEY)
    page.mouse.move(5, 5)
    page.locator(".aw-ribbon").locator('[data-token="4"]').dblclick()
    expect(page.locator('[data-token="4"][aria-pressed="true"]')).to_have_count(1)


def test_a_line_of_the_flow_is_under_the_pointer_and_a_word_of_the_sentence_is_chosen(
    page: Page, shown: aw.AttentionWidget
) -> None:
    flow = page.locator(".aw-flow").bounding_box()
    pane = page.locator(".aw-map-pane").bounding_box()
    assert flow is not None and pane is not None
    # The middle of the only strong line is half-way between its ends.
    y = pane["y"] + pane["height"] * (QUERY + KEY + 1) / 2 / N
    at = flow["x"] + flow["width"] / 2

    def line() -> None:
        """Lines are found by code that comes after the first picture."""
        page.mouse.move(at, 5)
        page.mouse.move(at, y)
        assert link_of(page, QUERY, KEY).count() > 0

    eventually(page, line)
    expect(link_of(page, QUERY, KEY).first).to_contain_text("1.00")
    page.mouse.click(at, y)
    pinned(page, shown, QUERY, KEY)
    sentence = page.locator('[data-aw-part="sentence"]')
    expect(sentence).to_contain_text(f"t{QUERY} attends to t{KEY}")
    sentence.get_by_role("button", name=f"t{KEY}").click()
    expect(page.locator(f'[data-token="{KEY}"][aria-pressed="true"]')).to_have_count(1)


def test_the_numbers_of_the_grid_choose_the_mean_of_a_layer_and_a_head(
    page: Page, shown: aw.AttentionWidget
) -> None:
    name = page.locator('[data-aw-part="head-name"]')
    page.locator(".aw-grid-layer", has_text="0").click()
    expect(name).to_have_text("L0 · mean")
    page.locator(".aw-grid-number", has_text="0").click()
    expect(name).to_have_text("L0 · H0")


def test_a_word_in_the_sentence_of_a_view_is_chosen(page: Page) -> None:
    widget = aw.show("She said that the tickets he bought are still valid.", progress=False)
    mount(page, widget, width=1200)
    spoken: list[str] = []
    for view in ("heads", "tree", "sentences", "predictions", "inside", "why"):
        page.locator(f'[role="tab"][data-view="{view}"]').click()
        panel = page.locator(f'[data-aw-part="view"] > [data-view="{view}"]')
        line = panel.locator('[data-aw-part="sentence"]')
        word = line.locator(".aw-focus-word").last
        silent = panel.locator('[data-aw-part="sentence"][data-aw-silent]')
        expect(word.or_(silent)).to_be_attached(timeout=STEP_MS)
        if silent.count() > 0:  # it has no more to say than the Attention view
            continue
        spoken.append(view)
        name = word.locator("bdi").inner_text().strip("“”")
        word.click()
        eventually(page, lambda name=name: chosen(widget, name))
    assert len(spoken) >= 3, spoken
    widget.close()


def chosen(widget: aw.AttentionWidget, name: str) -> None:
    assert widget.token is not None
    assert widget.analysis.tokens[widget.token].text == name
