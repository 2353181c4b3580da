"""The frame on a bare page: a text typed and run, masks, the compact form, a kernel that is gone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget import AttentionWidget
from attn_widget.errors import SliceError
from scripts.page import mount
from scripts.widget_parts import STEP_MS
from tests.unit.tiny_models import build

CAT = "the cat sat on the mat"
LONG = "The committee met in Paris, and nobody expected that the vote would be unanimous. " * 6


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 720, "height": 900})
    failed: list[str] = []
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    opened.close()
    assert failed == []


def shown(page: Page, text: str, **options: Any) -> AttentionWidget:
    widget = aw.show(text, progress=False, **options)
    mount(page, widget, width=700)
    return widget


def part(page: Page, name: str) -> Locator:
    return page.locator(f'[data-aw-part="{name}"]')


def token(page: Page, index: int) -> Locator:
    return part(page, "ribbon").locator(f'[data-token="{index}"]')


def run(page: Page, text: str) -> None:
    part(page, "run-text").fill(text)
    part(page, "run-text").press("Enter")


def test_a_typed_text_is_run_and_an_earlier_one_run_again(page: Page) -> None:
    widget = shown(page, CAT, layer=0, head=0, token=2)
    expect(part(page, "run-text")).to_have_value(CAT)
    run(page, "Paris is the capital of France.")
    expect(token(page, 4)).to_contain_text("capital")
    assert (widget.text, widget.token) == ("Paris is the capital of France.", None)
    part(page, "history-button").click()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(token(page, 3)).to_contain_text("sat")
    expect(part(page, "run-text")).to_have_value(CAT)
    widget.close()


def test_a_text_that_is_refused_stays_typed_and_the_picture_stays(page: Page) -> None:
    widget = shown(page, CAT)
    run(page, "   ")
    expect(part(page, "error")).to_contain_text("only white space")
    expect(part(page, "run-text")).to_have_value("   ")
    expect(token(page, 3)).to_have_text("sat")
    assert widget.text == CAT
    widget.close()


def test_a_text_that_is_too_long_can_be_cut_from_its_error(page: Page) -> None:
    widget = shown(page, CAT)
    run(page, "word " * 600)
    error = part(page, "error")
    expect(error).to_contain_text("602 tokens")
    error.get_by_role("checkbox").check()
    part(page, "run-cut").click()
    expect(part(page, "truncated")).to_have_text(
        "Cut: the model reads 512 tokens, the text has 602."
    )
    expect(error).to_be_hidden()
    assert widget.analysis.trace.n_tokens == 512
    widget.close()


def test_masking_by_key_changes_the_run_and_keeps_the_reader_in_place(page: Page) -> None:
    widget = shown(page, LONG, token=60, height=240)
    ribbon = part(page, "ribbon").locator(".aw-ribbon-line")
    token(page, 60).focus()
    part(page, "view").evaluate("panel => { panel.scrollTop = 90; }")
    before = ribbon.evaluate("line => line.scrollTop")
    assert before > 0
    word = token(page, 60).inner_text()
    page.keyboard.press("x")
    expect(token(page, 60)).to_have_attribute("data-aw-masked", "")
    expect(token(page, 60)).to_have_text(f"[MASK] {word}")
    expect(token(page, 60)).to_be_focused()
    assert widget.masked == [60]
    page.wait_for_function("document.querySelector('.aw-view').scrollTop === 90")
    assert ribbon.evaluate("line => line.scrollTop") == before
    part(page, "unmask").click()
    expect(token(page, 60)).to_have_text(word)
    assert widget.masked == []
    widget.close()


def test_with_the_tool_a_click_masks_instead_of_choosing(page: Page) -> None:
    widget = shown(page, CAT, layer=0, head=0)
    part(page, "mask").click()
    token(page, 2).click()
    expect(token(page, 2)).to_have_text("[MASK] cat")
    # The tool stays in hand.
    token(page, 3).click()
    expect(token(page, 3)).to_have_text("[MASK] sat")
    assert (widget.masked, widget.token) == ([2, 3], None)
    widget.close()


def test_the_compact_form_is_the_view_and_one_line(page: Page) -> None:
    widget = shown(page, CAT, chrome=False, layer=3, head=5, view="attention")
    expect(part(page, "caption")).to_have_text(f"attn_widget/miniL3 · H5{CAT}")
    expect(part(page, "heatmap")).to_be_visible()
    for name in ("run", "ribbon", "heads", "tabs", "bar", "save"):
        expect(part(page, name)).to_be_hidden()
    widget.chrome = True
    for name in ("run", "ribbon", "heads", "tabs", "bar", "save"):
        expect(part(page, name)).to_be_visible()
    expect(part(page, "caption")).to_be_hidden()
    widget.close()


def test_numbers_open_views_except_where_somebody_types(page: Page) -> None:
    widget = shown(page, CAT)
    token(page, 2).focus()
    page.keyboard.press("3")
    expect(page.locator('[role="tab"][data-view="tree"]')).to_have_attribute(
        "aria-selected", "true"
    )
    part(page, "run-text").focus()
    page.keyboard.press("End")
    page.keyboard.type("1?")
    expect(part(page, "run-text")).to_have_value(f"{CAT}1?")
    assert widget.view == "tree"
    expect(part(page, "keys")).to_be_hidden()
    widget.close()


def test_a_lost_kernel_is_said_until_it_answers_again(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = shown(page, LONG, layer=3, head=5)

    def gone(*_: Any) -> Any:
        raise SliceError("no kernel")

    answer = type(widget)._slice  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(AttentionWidget, "_slice", gone)
    page.locator('[data-layer="0"][data-head="9"]').click()
    expect(part(page, "kernel")).to_contain_text("The kernel is gone")
    expect(part(page, "missing")).to_contain_text(
        "L0 · H9 is not loaded. The picture shows L3 · H5."
    )
    expect(part(page, "error")).to_be_hidden()
    page.locator('[data-layer="3"][data-head="5"]').click()
    expect(part(page, "missing")).to_be_hidden()
    monkeypatch.setattr(AttentionWidget, "_slice", answer)
    page.locator('[data-layer="1"][data-head="2"]').click()
    expect(part(page, "head-name")).to_have_text("L1 · H2")
    expect(part(page, "kernel")).to_be_hidden()
    widget.close()


def test_a_view_whose_code_does_not_come_says_so_and_is_drawn_when_it_does(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> Any:
        raise SliceError("no kernel")

    answer = AttentionWidget._slice  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(AttentionWidget, "_slice", gone)
    widget = shown(page, CAT, layer=3, head=5)
    page.locator('[role="tab"][data-view="tree"]').click()
    expect(part(page, "kernel")).to_contain_text("The kernel is gone")
    panel = page.locator('[data-aw-part="view"]')
    expect(panel).to_have_text(re.compile(r"^Tree is not loaded\. The kernel is gone.*Try again$"))
    expect(part(page, "error")).to_be_hidden()
    page.locator('[role="tab"][data-view="attention"]').click()
    expect(part(page, "heatmap")).to_be_visible()  # what is loaded stays usable
    page.locator('[role="tab"][data-view="tree"]').click()
    monkeypatch.setattr(AttentionWidget, "_slice", answer)
    panel.get_by_role("button", name="Try again").click()
    expect(panel.locator("svg").first).to_be_visible()
    expect(part(page, "kernel")).to_be_hidden()
    widget.close()


def test_the_code_of_all_views_comes_by_itself_after_the_first_picture(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    answer = AttentionWidget._slice  # pyright: ignore[reportPrivateUsage]

    def note(self: AttentionWidget, request: Any, buffers: list[bytes]) -> Any:
        asked.append(request["kind"])
        return answer(self, request, buffers)

    monkeypatch.setattr(AttentionWidget, "_slice", note)
    widget = shown(page, CAT)
    end = time.monotonic() + STEP_MS / 1000
    while "code" not in asked and time.monotonic() < end:
        page.wait_for_timeout(100)
    assert asked.count("code") == 1
    page.wait_for_function("() => window.aw.asking === 0")
    before = len(asked)
    page.locator('[role="tab"][data-view="tree"]').click()
    expect(page.locator('[data-aw-part="view"] svg').first).to_be_visible()
    assert "code" not in asked[before:]
    widget.close()


def test_the_left_column_is_hardly_longer_than_a_short_view(browser: Browser) -> None:
    widget = aw.show("Time flies like an arrow.", view="sentences", progress=False)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    mount(page, widget, width=1200)
    side, view = page.locator(".aw-side").bounding_box(), part(page, "view").bounding_box()
    assert side is not None and view is not None and side["height"] <= view["height"] + 100
    # What has no space scrolls.
    assert part(page, "focus").evaluate("keys => keys.scrollHeight > keys.clientHeight")
    page.close()
    widget.close()


def test_the_grid_of_many_layers_lies_on_its_side(browser: Browser) -> None:
    """Thirty layers of nine heads, as SmolLM2 has: cells of the largest size would take 900 px upright."""
    model = build(
        "llama",
        num_hidden_layers=30,
        hidden_size=72,
        num_attention_heads=9,
        num_key_value_heads=3,
    )
    widget = aw.show("hello world", model=model, tagger=None, progress=False)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    mount(page, widget, width=1200)
    ends = [
        part(page, "heads").locator(f'[data-layer="{layer}"][data-head="0"]') for layer in (0, 29)
    ]
    expect(ends[1]).to_have_css(
        "width", "9px"
    )  # cells have their size once the widget has its width
    first, last = (end.bounding_box() for end in ends)
    assert first is not None and last is not None
    assert first["width"] == first["height"] == 9
    assert last["y"] == first["y"] and last["x"] - first["x"] == 29 * 11
    grid = part(page, "heads").locator(".aw-grid")
    box = grid.bounding_box()
    assert box is not None and box["height"] <= 140
    # Arrows go where they point; the pointer shows a head larger than its cell.
    part(page, "heads").locator('[data-layer="2"][data-head="1"]').click()
    for key, place in (("ArrowRight", (3, 1)), ("ArrowDown", (3, 2)), ("End", (29, 2))):
        page.keyboard.press(key)
        focused = part(page, "heads").locator("button:focus")
        expect(focused).to_have_attribute("data-layer", str(place[0]))
        expect(focused).to_have_attribute("data-head", str(place[1]))
    lens = part(page, "heads").locator(".aw-grid-lens")
    lens.wait_for(state="attached")
    part(page, "heads").locator('[data-layer="7"][data-head="4"]').hover()
    expect(lens).to_contain_text("L7 · H4")
    picture, card = lens.locator("canvas").bounding_box(), lens.bounding_box()
    assert picture is not None and card is not None
    assert picture["width"] >= 100 and card["y"] >= box["y"] + box["height"]
    page.mouse.move(0, 0)
    expect(lens).to_be_hidden()
    page.close()
    widget.close()
