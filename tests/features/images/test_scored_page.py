"""Pages of similarities with pictures in Chromium: CLIP's score, two images, rankings; and two images that are compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from scripts.page import mount
from tests.e2e.sources import SOURCES, opened
from tests.e2e.test_accessibility import violations
from tests.e2e.views import draw_frame, part, settle
from tests.features.images.image_models import build, drawn, large
from tests.features.images.test_image_page import COLORFUL, MOVES
from tests.features.images.test_image_text import TEXT, clip

pytestmark = pytest.mark.timeout(600)
FIRST, SIDE = 1, 4  # [CLS], then 4 x 4 patches
SIZES = {"a": (60, 44), "b": (50, 70)}


def of_text() -> aw.Similarity:
    return aw.similarity(drawn(), TEXT, model=clip(), progress=False)


def of_two() -> aw.Similarity:
    return aw.similarity(drawn(), drawn(50, 70), model=build("dinov2"), progress=False)


def of_texts() -> Any:
    return aw.similarity(drawn(), [TEXT, "a flag", "the mat"], model=clip(), progress=False)


def of_images() -> Any:
    images = [drawn(), drawn(50, 70), drawn(90, 40)]
    return aw.similarity("the cat sat", images, model=clip(), progress=False)


def of_runs() -> Any:
    runs = [aw.analyze(drawn(*size), model=build("dinov2"), progress=False) for size in SIZES.values()]  # fmt: skip
    return aw.compare(*runs)


PAGES: dict[str, Callable[[], Any]] = {
    "text": of_text,
    "two": of_two,
    "texts": of_texts,
    "images": of_images,
    "runs": of_runs,
}


def shown(result: Any) -> Any:
    """Its widget."""
    return aw.show(result)


def pictures(page: Page) -> Locator:
    return part(page, "scored")


def at(page: Page, row: int, column: int, picture: int = 0) -> tuple[float, float]:
    """Middle of a patch on the page."""
    box = pictures(page).nth(picture).bounding_box()
    assert box is not None
    return box["x"] + (column + 0.5) / SIDE * box["width"], box["y"] + (row + 0.5) / SIDE * box["height"]  # fmt: skip


def word(page: Page, name: str) -> Locator:
    return page.locator(".aw-sim-word", has_text=name).first


@pytest.mark.parametrize("source", SOURCES)
def test_a_picture_stands_where_its_text_would_and_the_sum_closes(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    s = of_text()
    with opened(browser, shown(s), source, tmp_path) as one:
        page = one.page
        settle(page)
        expect(pictures(page)).to_have_count(1)
        expect(page.locator(".aw-sim-word")).to_have_count(6)
        for gone in ("edit-a", "mask-a", "mask-b", "masking", "switches"):
            expect(part(page, gone)).to_have_count(0)
        headline = part(page, "headline")
        expect(headline).to_contain_text("patches around r")
        expect(headline).to_contain_text("it changes most without")
        # Each word's row is its contribution, and all of them are the score.
        rows = part(page, "similarity-sum").locator("tr")
        named = rows.locator("th").all_inner_texts()
        assert named[-3:] == ["special tokens", "biases", "cosine"] and "text" not in named
        values = [float(v) for v in rows.locator("td.aw-change").evaluate_all("all => all.map(one => one.dataset.awValue)")]  # fmt: skip
        assert sum(values) == pytest.approx(s.score, abs=1e-5)
        words = s.contributions("b").values
        assert sorted(values[:6]) == pytest.approx(sorted(words[1:-1]), abs=1e-5)
        one.agree(part(page, "scored-special"), s.contributions("a").values[:1], 1e-5)
        top = np.abs(s.contributions("a").values[FIRST:]).max()
        one.agree(part(page, "scored-legend").locator("[data-aw-value]"), top, 1e-5)
        expect(part(page, "similarity-matrix")).to_have_count(0)
        page.locator("[data-aw-part=similarity-pairs] summary").click()
        expect(part(page, "similarity-matrix")).to_be_visible()
        expect(part(page, "matrix-note")).to_contain_text("a word and a patch")


@pytest.mark.parametrize("source", SOURCES)
def test_a_word_paints_the_picture_and_a_patch_the_words(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    s = of_text()
    matrix, names = s.matrix(), TEXT.split()
    with opened(browser, shown(s), source, tmp_path) as one:
        page = one.page
        settle(page)
        word(page, "cat").hover()
        expect(part(page, "scored-title")).to_have_text("What each patch adds with “cat”")
        column = matrix[:, 1 + names.index("cat")]
        one.agree(part(page, "scored-legend").locator("[data-aw-value]"), np.abs(column[FIRST:]).max(), 1e-5)  # fmt: skip
        one.agree(part(page, "scored-special"), column[:1], 1e-5)
        reading = part(page, "reading").locator("[data-aw-value]")
        rest = [column[FIRST:].sum(), column[0], s.biases[17 + 1 + names.index("cat")]]
        one.agree(reading, [s.contributions("b").values[2], *rest], 1e-5)
        page.mouse.move(*at(page, 2, 1))
        token = FIRST + 2 * SIDE + 1
        expect(part(page, "reading")).to_contain_text("r3 c2")
        given = page.locator(".aw-sim-word")
        one.agree(given, matrix[token, 1:-1], 1e-5)
        # A click keeps it; pointing elsewhere changes nothing.
        page.mouse.click(*at(page, 2, 1))
        expect(part(page, "scored-patch")).to_have_attribute("aria-pressed", "true")
        word(page, "mat").hover()
        one.agree(given, matrix[token, 1:-1], 1e-5)
        page.mouse.click(*at(page, 2, 1))
        part(page, "place").first.hover()
        expect(part(page, "scored-title")).to_contain_text("with “")
        draw_frame(page)
        found = np.array(page.locator(".aw-picture-canvas").evaluate(COLORFUL, SIDE))
        assert found.max() > 40


@pytest.mark.parametrize("source", SOURCES)
def test_patches_by_keys(browser: Browser, tmp_path: Path, source: str) -> None:
    with opened(browser, shown(of_text()), source, tmp_path) as one:
        page = one.page
        settle(page)
        patch = part(page, "scored-patch")
        patch.focus()
        expect(part(page, "reading")).to_contain_text("r3 c3")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Home")
        expect(part(page, "reading")).to_contain_text("r2 c1")
        page.keyboard.press("Enter")
        expect(patch).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("Escape")
        expect(patch).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("source", SOURCES)
def test_a_patch_of_one_picture_paints_the_other(
    browser: Browser, tmp_path: Path, source: str
) -> None:
    s = of_two()
    with opened(browser, shown(s), source, tmp_path) as one:
        page = one.page
        settle(page)
        expect(pictures(page)).to_have_count(2)
        expect(part(page, "words")).to_have_count(0)
        expect(part(page, "headline")).to_contain_text("of the second picture")
        rows = part(page, "similarity-sum").locator("th").all_inner_texts()
        assert rows[:3] == ["top left", "top", "top right"] and rows[-1] == "cosine"
        total = part(page, "similarity-total")
        one.agree(total, s.score, 1e-4)
        page.mouse.move(*at(page, 1, 2))
        titles = part(page, "scored-title")
        expect(titles.nth(1)).to_have_text("What each patch adds with r2 c3 of the first picture")
        expect(titles.nth(0)).to_have_text("What each patch adds to the score")
        row = s.matrix()[FIRST + SIDE + 2]
        one.agree(part(page, "scored-legend").nth(1).locator("[data-aw-value]"), np.abs(row[FIRST:]).max(), 1e-5)  # fmt: skip
        page.mouse.move(*at(page, 0, 0, 1))
        expect(titles.nth(0)).to_have_text("What each patch adds with r1 c1 of the second picture")
        part(page, "place").first.hover()
        expect(titles.nth(1)).to_contain_text("What each patch adds with the patches around")


def test_two_large_pictures_have_rows_before_their_matrix(browser: Browser, tmp_path: Path) -> None:
    s = aw.similarity(drawn(224, 224), drawn(300, 224), model=large(), progress=False)
    with opened(browser, shown(s), "live", tmp_path) as one:
        page = one.page
        settle(page)
        page.mouse.move(*at(page, 1, 1))
        expect(part(page, "scored-title").nth(1)).to_contain_text("of the first picture")
        assert not s._sums  # pyright: ignore[reportPrivateUsage]
        pictures(page).first.evaluate(MOVES)
        times = pictures(page).first.evaluate(MOVES)
        assert times[len(times) // 2] < 16, times
        page.locator("[data-aw-part=similarity-pairs] summary").click()
        expect(page.get_by_role("button", name="Compute the matrix")).to_be_visible()


@pytest.mark.parametrize("source", SOURCES)
def test_rankings_have_thumbnails(browser: Browser, tmp_path: Path, source: str) -> None:
    for ranking, small in ((of_texts(), 1), (of_images(), 3)):
        with opened(browser, shown(ranking), source, tmp_path) as one:
            page = one.page
            settle(page)
            canvases = page.locator(".aw-picture-small")
            expect(canvases).to_have_count(small)
            page.wait_for_function(
                "[...document.querySelectorAll('.aw-picture-small')].every(one => one.width > 0)"
            )
            expect(pictures(page)).to_have_count(1)
            page.locator("[data-passage]").nth(1).click()
            index = ranking.order[1]
            one.agree(part(page, "score"), ranking.scores[index], 1e-5)
            expect(pictures(page)).to_have_count(1)
            page.locator("[data-against]").first.click()
            difference = part(page, "difference")
            of_picture = small == 1
            expect(difference).to_contain_text("what each area" if of_picture else "what each word")
            expect(difference).to_contain_text("top left" if of_picture else "cat")
            expected = ranking.scores[index] - ranking.scores[ranking.order[0]]
            one.agree(part(page, "difference-total"), expected, 1e-4)


def test_two_images_that_are_compared_show_their_pictures(browser: Browser, tmp_path: Path) -> None:
    comparison = of_runs()
    with opened(browser, comparison, "saved", tmp_path) as one:
        page = one.page
        panel = part(page, "difference")
        expect(panel.locator("[data-aw-part=scored]")).to_have_count(2)
        bar = part(page, "compare")
        expect(bar).to_contain_text("60 × 44 px")
        expect(bar).to_contain_text("50 × 70 px")
        page.mouse.move(*at(page, 2, 3))
        for side in range(2):
            expect(part(page, "scored-title").nth(side)).to_contain_text("What r3 c4 looks at · L")
        page.mouse.click(*at(page, 2, 3))
        page.mouse.move(0, 0)
        expect(part(page, "scored-title").nth(1)).to_contain_text("What r3 c4 looks at")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_that_axe_finds_and_nothing_wider_than_the_page(
    browser: Browser, tmp_path: Path, theme: Literal["light", "dark"], width: int, name: str
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=theme)
    if name == "runs":
        page.goto(aw.to_html(of_runs(), tmp_path / "page.html").as_uri())
        page.wait_for_selector("[data-aw-part=scored]")
    else:
        widget = aw.show(PAGES[name](), theme=theme)
        mount(page, widget, width=width)
        settle(page)
    expect(part(page, "scored-legend").first).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.parametrize("source", SOURCES)
def test_a_finger_keeps_a_patch(browser: Browser, tmp_path: Path, source: str) -> None:
    widget = shown(of_text())
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)  # fmt: skip
    page = context.new_page()
    if source == "live":
        mount(page, widget, width=390)
    else:
        page.goto(widget.to_html(tmp_path / "page.html").as_uri())
    expect(part(page, "scored-legend")).to_be_visible()
    pictures(page).scroll_into_view_if_needed()
    page.touchscreen.tap(*at(page, 1, 1))
    expect(part(page, "scored-patch")).to_have_attribute("aria-pressed", "true")
    expect(part(page, "reading")).to_contain_text("r2 c2")
    context.close()


def test_a_text_is_edited_beside_its_picture(browser: Browser, tmp_path: Path) -> None:
    s = of_text()
    with opened(browser, shown(s), "live", tmp_path) as one:
        page = one.page
        settle(page)
        part(page, "edit-b").click()
        part(page, "text-b").fill("a flag")
        part(page, "run-b").click()
        expected = aw.similarity(drawn(), "a flag", model=clip(), progress=False).score
        one.agree(part(page, "score"), expected, 1e-5)
        expect(pictures(page)).to_have_count(1)
