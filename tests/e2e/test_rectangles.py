"""A matrix of two texts: 5 target tokens by 9 source tokens, and 300 by 200, by pointer, by keys, in files and saved pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.widget_parts import STEP_MS, agree
from tests.e2e.saved import offline
from tests.e2e.saving import save, saving_page, show
from tests.e2e.test_save import same_table
from tests.e2e.views import FLOAT32, part
from tests.golden.make_parts import analysis

ROOT = Path(__file__).parents[2]
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
SMALL, LARGE = (5, 9), (300, 200)


@cache
def diagonal() -> aw.Analysis:
    """300 tokens that look at 200 others in their order."""
    rows, keys = LARGE
    at, of = np.mgrid[:rows, :keys]
    weights = np.exp(-(((of + 0.5) / keys - (at + 0.5) / rows) ** 2) * np.float32(2e4)) + 1e-3
    weights /= weights.sum(-1, keepdims=True)
    heads = np.stack([weights, weights[:, ::-1]])[None].astype(np.float32)
    names = [f"t{i}" for i in range(rows)], [f"s{j}" for j in range(keys)]
    return aw.from_attentions(heads, names[0], keys=names[1])


@pytest.fixture(scope="module")
def cross() -> Iterator[aw.AttentionWidget]:
    widget = aw.AttentionWidget(analysis(), view="attention")
    widget.part = "cross"
    yield widget
    widget.close()


@pytest.fixture(scope="module")
def large() -> Iterator[aw.AttentionWidget]:
    widget = aw.AttentionWidget(diagonal(), view="attention", layer=0, head=0)
    yield widget
    widget.close()


@pytest.fixture(scope="module")
def pages(
    cross: aw.AttentionWidget, large: aw.AttentionWidget, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("rectangles")
    return (
        aw.to_html(cross, folder / "small.html"),
        aw.to_html(large, folder / "large.html"),
    )


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with saving_page(browser) as opened:
        yield opened


def point(page: Page, size: tuple[int, int], row: int, column: int) -> None:
    """Move the pointer to the middle of a cell of the matrix."""
    pane, card = page.locator(".aw-map-pane"), part(page, "link")
    there = card.and_(page.locator(f'[data-aw-row="{row}"][data-aw-column="{column}"]'))
    deadline = time.monotonic() + STEP_MS / 1000
    # Until it has found its place: what was drawn late, or for another width, moves it.
    while there.count() == 0:
        assert time.monotonic() < deadline, card.evaluate_all("all => all.map(x => x.outerHTML)")
        box = pane.bounding_box()
        assert box is not None
        x = box["x"] + (column + 0.5) * box["width"] / size[1]
        y = box["y"] + (row + 0.5) * box["height"] / size[0]
        page.mouse.move(x, y)
        page.wait_for_timeout(100)


def test_every_cell_is_reached_by_pointer_and_by_keys(
    page: Page, cross: aw.AttentionWidget
) -> None:
    show(page, cross)
    weights = cross.analysis.of("cross").attention(cross.layer, cross.head)
    assert weights.shape == SMALL
    point(page, SMALL, 2, 7)
    card = part(page, "link")
    expect(card.locator(".aw-link-end").first).to_contain_text("readsAwritesbrown")
    agree(card.locator("[data-aw-value]").first, weights[2, 7], rtol=FLOAT32)

    page.mouse.down()
    page.mouse.up()
    expect(part(page, "pair")).to_contain_text("sum of the row")
    assert (cross.token, list(cross.pair or ())) == (2, [2, 7])
    agree(part(page, "pair").locator("[data-aw-value]").last, weights[2, 7], rtol=FLOAT32)

    part(page, "heatmap").focus()
    for key in ("End", *["ArrowDown"] * 4, "ArrowRight"):
        page.keyboard.press(key)
    expect(card).to_have_attribute("data-aw-row", "4")
    expect(card).to_have_attribute("data-aw-column", "8")
    expect(part(page, "live")).to_contain_text("reads fox, writes")
    page.keyboard.press("m")
    expect(card).to_have_attribute("data-aw-column", str(weights[4].argmax()))

    # A source token has no row of its own: its label gathers it.
    page.locator(".aw-map-pane").evaluate("pane => pane.scrollIntoView({block: 'center'})")
    box = page.locator(".aw-map-pane").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 8.5 * box["width"] / 9, box["y"] - 16)
    expect(part(page, "group")).to_contain_text("it receives")
    agree(part(page, "group").locator("[data-aw-value]").nth(1), weights[:, 8].mean(), rtol=1e-5)
    assert (cross.token, list(cross.group)) == (2, [8])
    part(page, "group").get_by_role("button", name="Clear").click()


def test_a_rectangle_is_saved_as_table_and_pictures(
    page: Page, cross: aw.AttentionWidget, tmp_path: Path
) -> None:
    show(page, cross)
    same_table(save(page, "csv", tmp_path), cross.to_dataframe())
    drawing = save(page, "svg", tmp_path).read_text(encoding="utf-8")
    assert "brown → fox" in drawing
    cells = re.findall(r'fill="rgb\((\d+) (\d+) (\d+)\)"', drawing)
    assert len(cells) == 45
    picture = np.asarray(Image.open(save(page, "png", tmp_path)).convert("RGB"))
    drawn = {tuple(color) for color in np.unique(picture.reshape(-1, 3), axis=0).tolist()}
    assert {tuple(map(int, color)) for color in cells} <= drawn


def test_300_by_200_tokens_fit_and_are_zoomed(page: Page, large: aw.AttentionWidget) -> None:
    show(page, large)
    weights = large.analysis.attention(0, 0)
    point(page, LARGE, 290, 193)
    card = part(page, "link")
    agree(card.locator("[data-aw-value]").first, weights[290, 193], rtol=FLOAT32)
    part(page, "heatmap").focus()
    for key in ("+", "+", "+", "PageUp", "End", "m"):
        page.keyboard.press(key)
    expect(card).to_have_attribute("data-aw-row", "260")
    expect(card).to_have_attribute("data-aw-column", str(weights[260].argmax()))
    expect(part(page, "table").locator("caption")).to_have_count(0)
    part(page, "table").locator("summary").click()
    expect(part(page, "table").locator("caption")).to_contain_text("of 300; columns")


def test_saved_rectangles_ask_for_nothing(browser: Browser, pages: tuple[Path, Path]) -> None:
    for path, size, at in zip(pages, (SMALL, LARGE), ((4, 8), (299, 100)), strict=True):
        with offline(browser, path) as opened:
            expect(opened.page.locator(".aw-map-pane")).to_be_visible()
            opened.page.set_viewport_size({"width": 1100, "height": 1300})
            point(opened.page, size, *at)
            opened.page.mouse.down()
            opened.page.mouse.up()
            expect(part(opened.page, "pair").locator(".aw-pinned")).to_be_visible()
        assert (opened.asked, opened.errors) == ([], [])


@pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox")
def test_firefox_points_pins_and_moves_by_keys(pages: tuple[Path, Path], tmp_path: Path) -> None:
    def job(path: Path, size: tuple[int, int], row: int, column: int) -> dict[str, Any]:
        at = [(column + 0.5) / size[1], (row + 0.5) / size[0]]
        return {"address": path.as_uri(), "matrix": [{"click": at}, {"key": "End"}]}

    jobs = tmp_path / "job.json"
    jobs.write_text(json.dumps([job(pages[0], SMALL, 2, 4), job(pages[1], LARGE, 290, 100)]))
    done = subprocess.run(
        ["node", "js/dev/firefox.mjs", str(FIREFOX), str(jobs)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    small, large = json.loads(done.stdout)
    assert [one["cell"] for one in small["matrix"]] == [["2", "4"], ["2", "8"]]
    assert "readsAwritesbrown" in small["matrix"][0]["pinned"]
    assert [one["cell"] for one in large["matrix"]] == [["290", "100"], ["290", "199"]]
    assert "t290" in large["matrix"][0]["pinned"]
    assert small["errors"] == large["errors"] == []
