"""A phone's width and a finger: one column, targets of 24 px, and touch that does what hovering does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, CDPSession, Locator, Page, expect

import attn_widget as aw
from benchmarks.first_screen import PICTURES
from tests.e2e.boxes import blank, covered, outside, overlaps, small
from tests.e2e.pages import CASES, saved_page
from tests.e2e.views import READY, draw_frame, part, settle, unfold
from tests.unit import tiny_models

PHONE = {"width": 390, "height": 844}
TARGET = 24  # px: WCAG 2.2, success criterion 2.5.8
# A scatter plot: dots lie where they lie, and the table below has the same heads as targets of their own.
EXEMPT = ".aw-role-dot"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport=PHONE,  # pyright: ignore[reportArgumentType]
        has_touch=True,
        is_mobile=True,
        device_scale_factor=2,
        reduced_motion="reduce",
    )
    opened = context.new_page()
    failed: list[str] = []
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    context.close()
    assert failed == []


def open_page(page: Page, name: str, view: str) -> None:
    page.goto(saved_page(name).as_uri())
    page.locator(f'[role="tab"][data-view="{view}"]').tap()
    expect(page.locator(f'[data-aw-part="view"] > [data-view="{view}"]')).to_be_visible()
    settle(page)


@pytest.mark.parametrize(("name", "view"), CASES)
def test_on_a_phone_all_is_in_reach_and_nothing_is_covered(
    page: Page, name: str, view: str
) -> None:
    open_page(page, name, view)
    if view == "heads":
        unfold(page)
        part(page, "roles").scroll_into_view_if_needed()
        expect(page.locator(".aw-role-dot").first).to_be_attached()
    # The chosen tab is in sight; looking for what is covered scrolls.
    tab = page.locator(f'[role="tab"][data-view="{view}"]').bounding_box()
    save = part(page, "save").bounding_box()
    assert tab is not None and save is not None
    assert tab["x"] >= 0 and tab["x"] + tab["width"] <= save["x"] + 1
    assert page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]
    assert outside(page, 0, PHONE["width"]) == []
    assert small(page, TARGET, EXEMPT) == []
    assert covered(page, EXEMPT) == []
    assert (
        overlaps(page, ".aw-ribbon, .aw-heads, .aw-focus, .aw-tabs, .aw-save, .aw-view, .aw-bar")
        == []
    )
    assert blank(page) == []
    # One column: the heads and their keys are folded below the view.
    assert part(page, "heads").bounding_box() is None
    view_box, fold = part(page, "view").bounding_box(), part(page, "fold").bounding_box()
    assert view_box is not None and fold is not None
    assert fold["y"] >= view_box["y"] + view_box["height"]
    part(page, "fold").tap()
    heads, focus = (part(page, name).bounding_box() for name in ("heads", "focus"))
    assert heads is not None and heads["y"] >= fold["y"] + fold["height"]
    assert (focus is None) == (view in ("predictions", "inside"))
    assert focus is None or focus["y"] >= heads["y"] + heads["height"]
    assert outside(page, 0, PHONE["width"]) == []


@pytest.mark.parametrize(
    "view", ["attention", "heads", "predictions", "sentences", "tree", "inside"]
)
def test_the_first_screen_holds_the_picture_of_the_view(page: Page, view: str) -> None:
    open_page(page, "usual", view)
    picture = page.locator(PICTURES[view]).first.bounding_box()
    assert picture is not None
    assert picture["y"] + min(picture["height"], 200) <= PHONE["height"]


def test_a_phone_shows_two_levels_of_the_tree_and_three_guesses(page: Page) -> None:
    open_page(page, "usual", "tree")
    shown = page.locator(".aw-tree-scroll").evaluate("e => [e.clientWidth, e.scrollWidth]")
    assert shown[1] <= shown[0]
    expect(page.locator('[data-aw-part="tree-node"][aria-level="3"]').first).to_be_visible()
    expect(page.locator('[data-aw-part="tree-node"][aria-level="4"]')).to_have_count(0)
    expect(part(page, "tree-note")).to_contain_text("Level 3 is folded")
    open_page(page, "usual", "predictions")
    shown = page.locator(".aw-predictions-list").evaluate("e => [e.clientWidth, e.scrollWidth]")
    assert shown[1] <= shown[0]
    row = page.locator(".aw-position").filter(has=page.locator(".aw-prediction:visible")).first
    expect(row.locator(".aw-prediction:visible")).to_have_count(3)


@pytest.mark.parametrize(("width", "guesses"), [(390, 3), (360, 2)])
def test_the_guesses_of_a_decoder_are_whole(
    page: Page, tmp_path: Path, width: int, guesses: int
) -> None:
    a = aw.analyze("the cat sat on the mat", model=tiny_models.build("gpt2"), tagger=None, progress=False)  # fmt: skip
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(aw.to_html(a, tmp_path / "page.html").as_uri() + "#view=predictions")
    row = page.locator(".aw-position").filter(has=page.locator(".aw-prediction:visible")).first
    expect(row.locator(".aw-prediction:visible")).to_have_count(guesses)
    shown = page.locator(".aw-predictions-list").evaluate("e => [e.clientWidth, e.scrollWidth]")
    assert shown[1] <= shown[0]


def test_a_long_text_fades_in_the_ribbon_where_there_is_more(page: Page) -> None:
    open_page(page, "long", "attention")
    line = page.locator(".aw-ribbon-line")
    mask = "e => getComputedStyle(e).maskImage"
    line.evaluate("e => e.scrollTo(0, 0)")
    expect(line).not_to_have_class(re.compile("aw-above"))
    from_the_top = line.evaluate(mask)
    line.evaluate("e => e.scrollTo(0, 60)")
    expect(line).to_have_class(re.compile("aw-above"))
    assert "gradient" in from_the_top and line.evaluate(mask) != from_the_top


def test_bars_beside_words_have_length(page: Page) -> None:
    open_page(page, "short", "attention")
    part(page, "fold").tap()
    widths = page.locator(".aw-rowkey-track").evaluate_all(
        "tracks => tracks.map(track => track.getBoundingClientRect().width)"
    )
    assert min(widths) > 80


@pytest.mark.parametrize("view", ["attention", "sentences", "inside"])
def test_hints_speak_of_fingers(page: Page, view: str) -> None:
    # A single sentence has no cell to tap.
    open_page(page, "usual" if view == "sentences" else "short", view)
    text = part(page, "view").inner_text()
    assert "ap a" in text or "tap" in text.lower()
    for word in ("Hover", "hover", "Ctrl", "click", "Click", "Keys:"):
        assert word not in text


def cell(page: Page, row: int, column: int) -> tuple[float, float]:
    """The middle of a cell of the matrix, in the viewport."""
    pane = page.locator(".aw-map-pane")
    pane.scroll_into_view_if_needed()
    box = pane.bounding_box()
    assert box is not None
    count = page.locator(".aw-ribbon-token").count()
    size = box["width"] / count
    return box["x"] + (column + 0.5) * size, box["y"] + (row + 0.5) * size


def card(page: Page) -> Locator:
    return page.locator('.aw-tip:visible [data-aw-part="link"]')


def pinned(page: Page) -> Locator:
    return page.locator('[data-aw-part="pair"] .aw-pinned')


def test_a_tap_shows_the_card_and_a_second_one_pins(page: Page) -> None:
    open_page(page, "short", "attention")
    page.touchscreen.tap(*cell(page, 3, 4))
    expect(card(page)).to_have_attribute("data-aw-row", "3")
    expect(card(page)).to_have_attribute("data-aw-column", "4")
    expect(pinned(page)).to_have_count(0)
    tip = page.locator(".aw-tip:visible").bounding_box()
    x, y = cell(page, 3, 4)
    assert tip is not None
    assert tip["x"] >= 0 and tip["x"] + tip["width"] <= PHONE["width"]
    # Beside the finger, and not under it.
    assert not (tip["x"] < x < tip["x"] + tip["width"] and tip["y"] < y < tip["y"] + tip["height"])
    # Another cell: its card.
    page.touchscreen.tap(*cell(page, 5, 2))
    expect(card(page)).to_have_attribute("data-aw-row", "5")
    expect(pinned(page)).to_have_count(0)
    page.touchscreen.tap(*cell(page, 5, 2))
    expect(pinned(page)).to_have_count(1)
    # A tap elsewhere takes the card away, and the pair stays.
    part(page, "head-name").tap()
    expect(card(page)).to_have_count(0)
    expect(pinned(page)).to_have_count(1)


def touch(session: CDPSession, kind: str, *points: tuple[float, float]) -> None:
    session.send(
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]},
    )


def test_a_long_press_pins_once(page: Page) -> None:
    open_page(page, "short", "attention")
    session = page.context.new_cdp_session(page)
    touch(session, "touchStart", cell(page, 2, 6))
    expect(pinned(page)).to_have_count(1)
    touch(session, "touchEnd")
    settle(page)
    expect(pinned(page)).to_have_count(1)


def test_dragging_over_the_matrix_reads_one_cell_after_the_other(page: Page) -> None:
    open_page(page, "short", "attention")
    session = page.context.new_cdp_session(page)
    touch(session, "touchStart", cell(page, 4, 1))
    touch(session, "touchMove", cell(page, 4, 2))
    # The code of the card comes after the first picture.
    expect(card(page)).to_have_attribute("data-aw-column", "2")
    read: list[str | None] = []
    for column in range(3, 7):
        touch(session, "touchMove", cell(page, 4, column))
        draw_frame(page)
        if card(page).count() > 0:
            read.append(card(page).get_attribute("data-aw-column"))
    touch(session, "touchEnd")
    assert read[-1] == "6" and len(set(read)) >= 3
    # What was read last stays; nothing was pinned by it.
    expect(card(page)).to_have_attribute("data-aw-column", "6")
    expect(pinned(page)).to_have_count(0)


def test_a_long_press_on_a_word_gathers_it(page: Page) -> None:
    open_page(page, "short", "attention")
    session = page.context.new_cdp_session(page)
    word = page.locator(".aw-ribbon-token").nth(2)
    word.scroll_into_view_if_needed()
    box = word.bounding_box()
    assert box is not None
    touch(session, "touchStart", (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2))
    expect(word).to_have_attribute("data-aw-gathered", "")
    touch(session, "touchEnd")
    settle(page)
    expect(word).to_have_attribute("data-aw-gathered", "")
    expect(word).to_have_attribute("aria-pressed", "false")


def test_a_tap_on_a_node_of_the_tree_shows_its_card_and_a_second_makes_it_the_root(
    page: Page,
) -> None:
    open_page(page, "short", "tree")
    # A label with room for a finger beside the button that folds its node: "." has none.
    nodes = page.locator('[data-aw-part="tree-node"]:not(.is-root)')
    node = nodes.filter(has_text=re.compile("[a-z]{3}")).first
    name = node.get_attribute("data-token")
    label = node.locator(".aw-tree-label")
    label.tap()
    expect(page.locator(".aw-tree-pane .aw-tip:visible")).to_have_count(1)
    root = page.locator('[data-aw-part="tree-node"].is-root')
    assert root.get_attribute("data-token") != name
    label.tap()
    expect(root).to_have_attribute("data-token", str(name))


def test_a_mouse_still_pins_with_one_click(browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    page.goto(saved_page("short").as_uri())
    expect(part(page, "heatmap")).to_be_visible()
    page.wait_for_function(READY)
    page.mouse.click(*cell(page, 3, 4))
    expect(pinned(page)).to_have_count(1)
    page.mouse.move(5, 5)
    expect(card(page)).to_have_count(0)
    context.close()


def test_a_narrow_cell_of_a_wide_window_is_one_column_too(browser: Browser) -> None:
    """The container's width decides, not the window's."""
    import attn_widget as aw
    from scripts.page import mount

    page = browser.new_page(viewport={"width": 1200, "height": 900})
    widget = aw.show("the cat sat on the mat", progress=False)
    mount(page, widget, width=400)
    view, fold = part(page, "view").bounding_box(), part(page, "fold").bounding_box()
    assert view is not None and fold is not None
    assert fold["y"] >= view["y"] + view["height"]
    assert part(page, "heads").bounding_box() is None
    assert outside(page, 0, 400) == []
    page.close()
    widget.close()


def test_why_is_no_wider_than_the_phone(page: Page, tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    text = (
        "The committee met in Paris on Monday, and few expected that the vote would be unanimous."
    )
    aw.show(text, view="why", progress=False).to_html(place)
    page.goto(place.as_uri())
    strips = page.locator(".aw-why-strips")
    expect(strips).to_be_visible()
    widest = strips.bounding_box()
    assert widest is not None
    assert widest["x"] + widest["width"] <= PHONE["width"]
    cell = page.locator(".aw-why-cell").bounding_box()
    assert cell is not None
    assert cell["x"] + cell["width"] <= PHONE["width"]
