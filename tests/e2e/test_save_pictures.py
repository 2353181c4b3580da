"""Pictures that the menu "Save" and Python give: sharp, whole, and honest about parts."""

from __future__ import annotations

import asyncio
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Error, Page, expect

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.features.exports.browser import wait_settled
from tests.e2e.saving import TEXT, Chosen, chosen, save, saving_page, show
from tests.e2e.views import OF_TEXTS, settle

pytestmark = pytest.mark.timeout(600)
DRAWN_IN_LINES = ("attention", "heads", "tree", "inside")


@pytest.fixture
def runs() -> Iterator[Chosen]:
    with chosen() as of:
        yield of


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with saving_page(browser) as opened:
        yield opened


def pixels(data: bytes) -> NDArray[np.uint8]:
    """The pixels of a PNG, ``[h, w, channels]``."""
    image = Image.open(BytesIO(data))
    assert image.format == "PNG" and image.mode in ("RGB", "RGBA")
    return np.asarray(image)


def count_colors(image: NDArray[np.uint8]) -> int:
    """Number of different colors; a set of rows (``np.unique(axis=0)``) takes six times as long."""
    red, green, blue = (image[..., i].astype(np.uint32) for i in range(3))
    return len(np.unique(red << 16 | green << 8 | blue))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_is_the_view_at_twice_its_size_and_crisp(
    page: Page, runs: Chosen, theme: str, tmp_path: Path
) -> None:
    widget = runs("attention", layer=2, head=3, token=4, theme=theme, scale="sqrt")
    show(page, widget)
    panel = page.locator('[data-aw-part="view"]').bounding_box()
    image = pixels(save(page, "png", tmp_path).read_bytes())[..., :3]
    assert panel is not None
    assert image.shape[1] == 2 * (round(panel["width"]) + 24)
    assert image.shape[0] > 2 * panel["height"] * 0.8
    ground = image[-1, 0]
    assert (ground > 250).all() if theme == "light" else (ground < 40).all()
    assert count_colors(image) > 100
    # Cells have sharp edges: drawn on a grid of single pixels, not enlarged from a coarser one.
    steps = np.abs(np.diff(image.astype(int).sum(axis=2), axis=1))
    same = (image[:, 0::2] == image[:, 1::2]).all()
    assert steps.max() > 200 and not same


@pytest.mark.parametrize("view", OF_TEXTS)
def test_python_saves_a_picture_of_every_view(runs: Chosen, view: str, tmp_path: Path) -> None:
    # Why takes all methods and their test: a minute for the longer text.
    text = "The cat sat." if view == "why" else TEXT
    widget = runs(view, layer=2, head=3, token=4, text=text)
    path = tmp_path / "view.png"
    widget.save_png(path, width=800, scale=1.5)
    image = pixels(path.read_bytes())
    assert image.shape[1] == 1200 and image.shape[0] > 300
    assert count_colors(image) > 50


def test_a_picture_of_a_profile_is_as_wide_as_asked(tmp_path: Path) -> None:
    widget = aw.show(aw.profile(["The cat sat.", "It rains, again."], progress=False), layer=1)
    # A narrower picture would be as wide as its table of all heads needs.
    widget.save_png(tmp_path / "heads.png", width=1200, scale=1)
    assert pixels((tmp_path / "heads.png").read_bytes()).shape[1] == 1200
    widget.close()


@pytest.mark.parametrize("view", DRAWN_IN_LINES)
def test_an_svg_is_xml_that_opens_by_itself(
    page: Page, runs: Chosen, view: str, tmp_path: Path
) -> None:
    widget = runs(view, layer=2, head=3, token=4)
    show(page, widget)
    path = save(page, "svg", tmp_path)
    text = path.read_text("utf-8")
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in text and "<script" not in text
    assert {element.tag.rpartition("}")[2] for element in root.iter()}.isdisjoint(
        {"script", "foreignObject", "image", "a"}
    )
    caption = " ".join(
        "".join(element.itertext()) for element in root.iter() if element.get("data-aw-caption")
    )
    assert "attn_widget/mini" in caption and "big trophy" in caption
    size = page.evaluate(
        """async text => {
          const image = new Image();
          image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
          await image.decode();
          const canvas = Object.assign(document.createElement("canvas"),
            {width: image.naturalWidth, height: image.naturalHeight});
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
          return {width: canvas.width, colors: new Set(new Uint32Array(data.buffer)).size};
        }""",
        text,
    )
    assert size["width"] == int(root.get("width") or 0) > 300
    assert size["colors"] > 20


def test_an_svg_of_a_text_in_windows_marks_where_they_overlap(page: Page, tmp_path: Path) -> None:
    analysis = aw.analyze("The cat sat on the mat and slept. " * 6, tagger=None, windows=(24, 6))
    widget = aw.AttentionWidget(analysis, layer=0, head=1)
    show(page, widget)
    bars = page.locator(".aw-overlaps > .aw-overlap")
    root = ET.fromstring(save(page, "svg", tmp_path).read_text("utf-8"))
    titles = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    marked = [title for title in titles if title.startswith("read in two windows")]
    assert len(marked) == bars.count() > 2
    assert "Bars along the axes: read in two windows" in " ".join(root.itertext())
    widget.close()


# Keeps the markup that a picture is made of: an image with the address of an SVG.
KEEP_MARKUP = """() => {
  const source = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
  Object.defineProperty(HTMLImageElement.prototype, "src", {
    ...source,
    set(address) {
      if (address.startsWith("data:image/svg+xml")) window.markup = decodeURIComponent(address.split(/,(.*)/s)[1]);
      source.set.call(this, address);
    },
  });
}"""
# What lies wholly inside the picture and is not covered by an edge that clips, of what a selector matches.
INSIDE = """([markup, selector]) => {
  document.body.innerHTML = markup;
  const picture = document.querySelector("svg").getBoundingClientRect();
  const inside = ([a, b]) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  return [...document.querySelectorAll(selector)].filter((element) => {
    const box = element.getBoundingClientRect();
    if (box.height === 0 || !inside([box, picture])) return false;
    for (let outer = element.parentElement; outer !== null && outer.tagName !== "svg"; outer = outer.parentElement) {
      const clips = /auto|scroll|hidden/.test(getComputedStyle(outer).overflow);
      if (clips && !inside([box, outer.getBoundingClientRect()])) return false;
    }
    return element.textContent !== "";
  }).length;
}"""


def picture_of(page: Page, folder: Path) -> tuple[bytes, str]:
    """The PNG of what is open, and the markup that it is drawn from."""
    page.evaluate(KEEP_MARKUP)
    data = save(page, "png", folder).read_bytes()
    return data, page.evaluate("window.markup")


@pytest.fixture(scope="module")
def long_run() -> aw.Analysis:
    text = "The cat sat on the mat, and then the dog looked at the bird in the old tree. " * 3
    return aw.analyze(text, progress=False)


@pytest.mark.parametrize("width", [700, 1200])
def test_a_picture_of_the_heads_has_all_of_them_and_their_map(
    page: Page, runs: Chosen, width: int, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    show(page, runs("heads", layer=2, head=3))
    folded = page.locator('.aw-fold:not([data-aw-part="fold-layers"])')
    folded.evaluate_all("all => all.forEach(one => { one.open = true; })")
    # Far below what is in sight: not drawn until somebody looks.
    expect(page.locator('[data-aw-part="roles-map"]')).to_have_count(0)
    data, markup = picture_of(page, tmp_path)
    assert page.evaluate(INSIDE, [markup, ".aw-heads-all tbody > tr"]) == 72
    # The last column, too.
    assert page.evaluate(INSIDE, [markup, ".aw-heads-all tbody > tr > :last-child"]) == 72
    assert page.evaluate("document.querySelectorAll('.aw-roles-plane > *').length") > 72
    assert pixels(data).shape[1] <= 2 * width


def test_a_picture_of_a_long_list_of_predictions_has_every_row(
    page: Page, long_run: aw.Analysis, tmp_path: Path
) -> None:
    widget = aw.AttentionWidget(long_run, view="predictions")
    show(page, widget)
    assert long_run.trace.n_tokens > 48  # rows that come with the first frame
    page.locator(".aw-predictions-list").evaluate("list => { list.scrollTop = 400; }")
    data, markup = picture_of(page, tmp_path)
    rows = page.evaluate(INSIDE, [markup, ".aw-position"])
    assert rows == long_run.trace.n_tokens
    assert pixels(data).shape[0] > 2 * 20 * rows
    widget.close()


def test_a_picture_that_would_be_too_high_says_which_rows_it_has(
    page: Page, long_run: aw.Analysis, tmp_path: Path
) -> None:
    widget = aw.AttentionWidget(long_run, view="predictions")
    show(page, widget)
    page.add_style_tag(content=".aw-position { min-height: 300px; }")
    _, markup = picture_of(page, tmp_path)
    said = re.search(rf"Rows (\d+) to (\d+) of {long_run.trace.n_tokens}\.", markup)
    assert said is not None and 0 <= int(said[2]) - int(said[1]) <= 2
    widget.close()


@pytest.mark.parametrize(
    ("view", "part"),
    [
        ("heads", "A part of the view: the radar."),
        ("inside", "A part of the view: the map"),
        ("attention", None),
        ("tree", None),
    ],
)
def test_a_drawing_of_a_part_says_so(
    page: Page, runs: Chosen, view: str, part: str | None, tmp_path: Path
) -> None:
    show(page, runs(view, layer=2, head=3, token=4))
    text = save(page, "svg", tmp_path).read_text("utf-8")
    assert "A part of" not in text if part is None else part in text


def test_a_zoomed_map_says_which_rows_and_columns_its_picture_has(
    page: Page, runs: Chosen, tmp_path: Path
) -> None:
    widget = runs("attention", layer=2, head=3)
    show(page, widget)
    box = page.locator('[data-aw-part="heatmap"]').bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    settle(page)
    n = widget.analysis.trace.n_tokens
    said = rf"A part of the matrix: rows \d+ to \d+ of {n}, columns \d+ to \d+ of {n}\."
    assert re.search(said, save(page, "svg", tmp_path).read_text("utf-8"))
    _, markup = picture_of(page, tmp_path)
    assert re.search(said, markup)


def test_a_view_in_pixels_says_so_instead_of_an_svg(runs: Chosen, tmp_path: Path) -> None:
    widget = runs("predictions")
    with pytest.raises(NotAvailableError, match=r"drawn in pixels.*PNG"):
        widget.save_svg(tmp_path / "a.svg")
    with pytest.raises(NotAvailableError, match="nothing to show for this run"):
        widget.save_png(tmp_path / "a.png", "task")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_drawn_where_an_event_loop_runs_as_in_a_notebook(
    runs: Chosen, tmp_path: Path
) -> None:
    widget = runs("tree", token=3)

    async def cell() -> None:
        widget.save_svg(tmp_path / "tree.svg")

    def loop() -> None:
        asyncio.run(cell())

    # Not in this thread: Playwright's own fixtures have left a loop running in it.
    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(loop).result()
    assert (tmp_path / "tree.svg").stat().st_size > 1000


def test_drawing_waits_as_long_as_the_page_is_answered(page: Page) -> None:
    page.set_content('<div class="aw-view"><p>A view</p></div>')
    page.evaluate(
        """() => {
            window.aw = {asking: 1, asked: -1e6};
            setTimeout(() => { window.aw.asking = 0; }, 1500);
        }"""
    )
    wait_settled(page, within=300)
    page.evaluate("document.querySelector('.aw-view').setAttribute('aria-busy', 'true')")
    with pytest.raises(Error, match="300ms exceeded"):
        wait_settled(page, within=300)
