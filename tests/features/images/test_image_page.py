"""The picture in Chromium: of a kernel and of a saved page, by pointer and by keys, in both themes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.figures.catalog.choices import Theme
from scripts.page import mount
from tests.e2e.sources import SOURCES, Opened, opened
from tests.e2e.test_accessibility import violations
from tests.e2e.views import choose, draw_frame, part, settle
from tests.features.images.image_models import build, drawn

pytestmark = pytest.mark.timeout(600)
N, FIRST, SIDE = 20, 4, 4  # [CLS] and three registers, then 4 x 4 patches

# How far from gray the canvas is at the middles of the patches, 0 to 255.
COLORFUL = """(canvas, side) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height);
    const pen = copy.getContext('2d', {willReadFrequently: true});
    pen.drawImage(canvas, 0, 0);
    return Array.from({length: side * side}, (_, i) => {
        const [x, y] = [(i % side + 0.5) / side, (Math.floor(i / side) + 0.5) / side];
        const at = [Math.round(x * copy.width), Math.round(y * copy.height)];
        const [r, g, b] = pen.getImageData(...at, 1, 1).data;
        return Math.max(r, g, b) - Math.min(r, g, b);
    });
}"""
# Of a script that moves the pointer over the picture: the work of each move, ms.
MOVES = """async stage => {
    const box = stage.getBoundingClientRect();
    const times = [];
    for (let i = 0; i < 60; i++) {
        const [x, y] = [(0.15 + 0.7 * ((i * 7) % 60) / 60), (0.1 + 0.8 * i / 60)];
        const at = {bubbles: true, clientX: box.x + x * box.width, clientY: box.y + y * box.height};
        const start = performance.now();
        stage.dispatchEvent(new PointerEvent('pointermove', at));
        times.push(performance.now() - start);
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    }
    return times.sort((a, b) => a - b);
}"""


def run(name: str = "dinov2_with_registers", **size: int) -> aw.Analysis:
    return aw.analyze(drawn(**size), model=build(name), progress=False)


@pytest.fixture(params=SOURCES)
def shown(request: Any, browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    widget = aw.show(run(), progress=False)
    with opened(browser, widget, request.param, tmp_path) as one:
        settle(one.page)
        expect(part(one.page, "thumb")).to_have_count(12)
        yield one
    widget.close()


def at(page: Page, row: int, column: int) -> tuple[float, float]:
    """Middle of a patch on the page."""
    box = part(page, "picture").bounding_box()
    assert box is not None
    return box["x"] + (column + 0.5) / SIDE * box["width"], box["y"] + (row + 0.5) / SIDE * box["height"]  # fmt: skip


def title(page: Page) -> Locator:
    return part(page, "picture-title")


def values_of(one: Opened, tokens: list[int]) -> Any:
    """What the tokens look at on average in the selected head."""
    head = one.widget.head
    assert isinstance(head, int)
    return one.widget.analysis.image.rows(tokens)[one.widget.layer, head]


def test_it_opens_on_the_picture_with_every_head(shown: Opened) -> None:
    page = shown.page
    tabs = page.get_by_role("tab").all_inner_texts()
    assert tabs[0] == "Picture"
    assert not {"Predictions", "Sentences", "Lens"} & {*tabs}
    expect(title(page)).to_contain_text("What [CLS] looks at")
    expect(part(page, "special")).to_have_count(FIRST)
    share = values_of(shown, [0])[FIRST:].sum()
    shown.agree(part(page, "picture-readout").locator("[data-aw-value]").first, share, 1e-5)
    expect(part(page, "run")).to_be_hidden()


def test_a_patch_that_is_pointed_at_shows_its_row_and_a_click_keeps_it(shown: Opened) -> None:
    page, token = shown.page, FIRST + 1 * SIDE + 2
    page.mouse.move(*at(page, 1, 2))
    expect(title(page)).to_contain_text("What r2 c3 looks at")
    top = values_of(shown, [token])[FIRST:].max()
    shown.agree(part(page, "picture-legend").locator("[data-aw-value]"), top, 1e-5)
    page.mouse.click(*at(page, 1, 2))
    expect(part(page, "patch")).to_have_attribute("aria-pressed", "true")
    page.mouse.move(*at(page, 3, 0))
    expect(title(page)).to_contain_text("What r2 c3 looks at")
    given = values_of(shown, [token])[FIRST + 12]
    shown.agree(part(page, "picture-readout").locator("[data-aw-value]"), given, 1e-5)
    if shown.source == "live":
        page.wait_for_timeout(200)
        assert shown.widget.token == token
    choose(page, "attention")
    expect(title(page)).to_contain_text("What r2 c3 looks at")


def test_the_strongest_patch_has_the_strongest_color(shown: Opened) -> None:
    page = shown.page
    values = values_of(shown, [0])[FIRST:]
    draw_frame(page)
    found = np.array(page.locator(".aw-ribbon .aw-picture-canvas").evaluate(COLORFUL, SIDE))
    assert found.max() > 40
    assert found[values.argmin()] < found.max()
    assert found[values < 0.2 * values.max()].max(initial=0) < found.max()


def test_the_mean_of_a_region_that_is_drawn(shown: Opened) -> None:
    page = shown.page
    page.mouse.move(*at(page, 0, 1))
    page.mouse.down()
    page.mouse.move(*at(page, 1, 2))
    page.mouse.move(*at(page, 2, 2))
    page.mouse.up()
    expect(title(page)).to_contain_text("Mean of 6 patches")
    tokens = [FIRST + SIDE * row + column for row in range(3) for column in (1, 2)]
    top = values_of(shown, tokens)[FIRST:].max()
    shown.agree(part(page, "picture-legend").locator("[data-aw-value]"), top, 1e-5)
    with page.expect_download() as download:
        part(page, "save").click()
        page.get_by_text("CSV", exact=False).first.click()
    rows = [*csv.DictReader(io.StringIO(Path(download.value.path()).read_text()))]
    weights = shown.widget.analysis.image.rows(tokens)
    assert len(rows) == weights.size
    found = np.array([float(each["weight"]) for each in rows]).reshape(weights.shape)
    np.testing.assert_allclose(found, weights, atol=1e-6 if shown.source == "live" else 2e-3)
    if shown.source == "live":
        assert shown.widget.group == tokens
        table = shown.widget.to_dataframe()
        np.testing.assert_allclose(table["weight"].to_numpy().reshape(weights.shape), weights)
    part(page, "patch").focus()
    page.keyboard.press("Escape")
    expect(title(page)).to_contain_text("What [CLS] looks at")


@pytest.mark.parametrize("source", SOURCES)
def test_a_region_from_python(browser: Browser, tmp_path: Path, source: Any) -> None:
    """Also one that is no rectangle; a saved page keeps it."""
    group = [FIRST + i for i in (5, 6, 9)]
    widget = aw.show(run(), group=group, progress=False)
    with opened(browser, widget, source, tmp_path) as one:
        expect(title(one.page)).to_contain_text("Mean of 3 patches")
        top = values_of(one, group)[FIRST:].max()
        one.agree(part(one.page, "picture-legend").locator("[data-aw-value]"), top, 1e-5)
        if source == "live":
            widget.group = [FIRST, FIRST + 1]
            expect(title(one.page)).to_contain_text("Mean of 2 patches")
            widget.token = FIRST
            expect(title(one.page)).to_contain_text("What r1 c1 looks at")
    widget.close()


def test_everything_by_keys(shown: Opened) -> None:
    page = shown.page
    part(page, "patch").focus()
    page.keyboard.press("Home")
    expect(title(page)).to_contain_text("c1 looks at")
    page.keyboard.press("ArrowRight")
    expect(title(page)).to_contain_text("c2 looks at")
    expect(part(page, "live")).to_contain_text("c2 chosen.")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowUp")
    expect(title(page)).to_contain_text("Mean of 4 patches")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(part(page, "special").first).to_have_attribute("aria-pressed", "true")
    thumb = page.locator('[data-aw-part=thumb][tabindex="0"]')
    thumb.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    chosen = page.locator('[data-aw-part=thumb][aria-pressed="true"]')
    expect(chosen).to_have_count(1)
    expect(title(page)).to_contain_text(f"L{chosen.get_attribute('data-layer')}")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_that_axe_finds_and_nothing_wider_than_the_page(
    browser: Browser, theme: Theme, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 1000})
    widget = aw.show(run(width=90, height=40), theme=theme, progress=False)
    mount(page, widget, width=width)
    settle(page)
    found = {}
    for view in ("images", "attention", "heads"):
        choose(page, view)
        found[view] = violations(page)
        assert page.evaluate("document.querySelector('.attn-widget').scrollWidth") <= width
    assert found == {name: [] for name in found}
    box = part(page, "picture").bounding_box()
    assert box is not None
    assert abs(box["width"] / box["height"] - 90 / 40) < 0.05
    page.close()
    widget.close()


def test_heads_have_nothing_about_words(browser: Browser, tmp_path: Path) -> None:
    widget = aw.show(run(), progress=False)
    with opened(browser, widget, "live", tmp_path) as one:
        panel = choose(one.page, "heads")
        expect(panel.locator(".aw-radar, [data-aw-part=fold-roles]")).to_have_count(0)
        shades = part(one.page, "metric").inner_text()
        assert "Entities" not in shades and "Previous token" not in shades  # fmt: skip
        panel = choose(one.page, "attention")
        expect(panel.locator("[data-aw-part=sentence]")).to_contain_text("[CLS]")
        expect(panel.locator("[data-aw-part=sentence]")).not_to_contain_text("word")
        widget.token = None
        expect(panel.locator("[data-aw-part=sentence]")).to_contain_text("the strongest link apart")
    widget.close()


def test_display_opens_below_its_button_and_asks_nothing_about_words(
    browser: Browser, tmp_path: Path
) -> None:
    widget = aw.show(run(), progress=False)
    with opened(browser, widget, "live", tmp_path) as one:
        button = part(one.page, "display")
        button.click()
        popover = one.page.locator(".aw-popover")
        expect(part(one.page, "scale")).to_be_visible()
        expect(popover).not_to_contain_text("word")
        of_button, of_popover = button.bounding_box(), popover.bounding_box()
        assert of_button is not None
        assert of_popover is not None
        assert abs(of_popover["y"] - of_button["y"] - of_button["height"]) < 20
    widget.close()


@pytest.mark.parametrize("source", SOURCES)
def test_a_finger_draws_a_region(browser: Browser, tmp_path: Path, source: str) -> None:
    widget = aw.show(run(), progress=False)
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)  # fmt: skip
    page = context.new_page()
    if source == "live":
        mount(page, widget, width=390)
    else:
        page.goto(widget.to_html(tmp_path / "page.html").as_uri())
    expect(part(page, "thumb")).to_have_count(12)
    part(page, "picture").scroll_into_view_if_needed()
    page.touchscreen.tap(*at(page, 1, 2))
    expect(title(page)).to_contain_text("What r2 c3 looks at")
    part(page, "region-button").click()
    expect(part(page, "region-button")).to_have_attribute("aria-pressed", "true")
    stage = part(page, "picture")
    for kind, place in (("pointerdown", (0, 0)), ("pointermove", (1, 1)), ("pointerup", (1, 1))):
        x, y = at(page, *place)
        stage.dispatch_event(kind, {"clientX": x, "clientY": y, "pointerType": "touch", "button": 0, "bubbles": True})  # fmt: skip
    expect(title(page)).to_contain_text("Mean of 4 patches")
    context.close()
    widget.close()


def test_a_view_alone_and_a_file_have_the_picture(browser: Browser, tmp_path: Path) -> None:
    widget = aw.show(run(), chrome=False, progress=False)
    with opened(browser, widget, "live", tmp_path) as one:
        box = part(one.page, "picture").bounding_box()
        assert box is not None
        assert box["width"] > 200
        page = one.page
        page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4)
        expect(title(page)).to_contain_text("What r2 c3 looks at")
    widget.close()


def test_a_file_has_the_picture(shown: Opened) -> None:
    from PIL import Image

    with shown.page.expect_download() as download:
        part(shown.page, "save").click()
        shown.page.get_by_text("PNG", exact=False).first.click()
    image = np.asarray(Image.open(download.value.path()).convert("RGB")).astype(int)
    left = image[60:700, 60:700]
    assert left.std() > 15  # the picture, not the ground


def test_a_pointer_is_followed_within_a_frame(browser: Browser, tmp_path: Path) -> None:
    """257 tokens, as many as DINOv2-small reads of 224 px."""
    rng = np.random.default_rng(0)
    from tests.features.images.image_models import large

    widget = aw.show(aw.analyze(rng.integers(0, 255, (224, 224, 3), np.uint8), model=large(), progress=False), progress=False)  # fmt: skip
    assert widget.analysis is not None and widget.analysis.trace.n_tokens == 257
    with opened(browser, widget, "live", tmp_path) as one:
        settle(one.page)
        stage = part(one.page, "picture")
        stage.evaluate(MOVES)
        times = stage.evaluate(MOVES)
        assert times[len(times) // 2] < 16, times
    widget.close()
