"""What the menu "Save" gives away: the tables of Python byte for byte, pictures that are pictures."""

from __future__ import annotations

import asyncio
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.errors import NotAvailableError
from attn_widget.protocol.selection import VIEWS
from scripts.page import mount
from scripts.probe import sentiment
from tests.golden.make import analysis as masked_analysis

TEXT = 'The unbelievably big trophy, =1+1 "it" fell. -5 </script> It was late.'
DRAWN_IN_LINES = ("attention", "heads", "tree", "inside")
QUIET_MS = 400

pytestmark = pytest.mark.timeout(600)

Chosen = Callable[..., aw.AttentionWidget]


@pytest.fixture(scope="module")
def runs() -> Iterator[Chosen]:
    """A widget for a selection; the runs are shared, and what the page changed is set back."""
    plain = aw.analyze(TEXT, progress=False)
    classes = aw.analyze(TEXT, model=sentiment(), progress=False)
    masked = masked_analysis()
    opened: list[aw.AttentionWidget] = []

    def of(view: str, *, forbids: bool = False, **traits: object) -> aw.AttentionWidget:
        run = masked if forbids else classes if view == "task" else plain
        widget = aw.AttentionWidget(run, view=view, **{"layer": 0, "head": 0, **traits})
        opened.append(widget)
        return widget

    yield of
    for widget in opened:
        widget.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": 1100, "height": 1400}, accept_downloads=True, reduced_motion="reduce"
    )
    opened = context.new_page()
    asked: list[str] = []
    failed: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: failed.append(str(error)))
    yield opened
    context.close()
    assert [url for url in asked if not url.startswith(("about:", "blob:", "data:"))] == []
    assert failed == []


def show(page: Page, widget: aw.AttentionWidget) -> None:
    """Draw a widget and wait until its view asks for nothing any more."""
    mount(page, widget)
    panel = page.locator('[data-aw-part="view"]')
    expect(panel.locator(f'> [data-view="{widget.view}"]')).to_be_visible()
    page.wait_for_timeout(QUIET_MS)
    expect(panel.locator('[aria-busy="true"]')).to_have_count(0)


def save(page: Page, name: str, folder: Path) -> Path:
    """Choose an item of the menu; the file that comes, under the name that it has."""
    page.locator('[data-aw-part="save"]').click()
    with page.expect_download() as started:
        page.locator(f'[data-aw-save="{name}"]').click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def pixels(data: bytes) -> NDArray[np.uint8]:
    """The pixels of a PNG as browsers write it (8 bits, RGB or RGBA, not interlaced), ``[h, w, channels]``."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, packed, header = 8, b"", ()
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height, depth, color, _, _, interlaced = header
    channels = {2: 3, 6: 4}[color]
    assert (depth, interlaced) == (8, 0)
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    image = np.zeros((height, width * channels), np.uint8)
    for i, row in enumerate(rows):
        above = image[i - 1].astype(int) if i else np.zeros(width * channels, int)
        image[i] = unfiltered(int(row[0]), row[1:].astype(int), above, channels)
    return image.reshape(height, width, channels)


def unfiltered(
    kind: int, row: NDArray[np.int_], above: NDArray[np.int_], step: int
) -> NDArray[np.int_]:
    """One scan line without its filter (PNG specification, section 9)."""
    if kind == 0:
        return row
    if kind == 2:
        return (row + above) % 256
    out = row.reshape(-1, step).copy()
    up = above.reshape(-1, step)
    left = corner = np.zeros(step, int)
    for x in range(len(out)):
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up[x]) // 2
        else:
            estimate = left + up[x] - corner
            near = np.abs(np.stack([estimate - left, estimate - up[x], estimate - corner]))
            guess = np.choose(near.argmin(axis=0), [left, up[x], corner])
        out[x] = (out[x] + guess) % 256
        left, corner = out[x], up[x]
    return out.ravel()


@pytest.mark.parametrize("view", VIEWS)
def test_csv_and_json_of_a_view_are_those_of_python_byte_for_byte(
    page: Page, runs: Chosen, view: str, tmp_path: Path
) -> None:
    widget = runs(view, layer=2, head=3, token=4)
    show(page, widget)
    csv, json = save(page, "csv", tmp_path), save(page, "json", tmp_path)
    assert csv.read_bytes().decode("utf-8") == widget.to_csv()
    assert json.read_bytes().decode("utf-8") == widget.to_json()
    place = "-L2H3" if view in ("attention", "heads", "tree") else ""
    assert csv.name == f"attn_widget-{view}{place}.csv"


@pytest.mark.parametrize("view", ["attention", "tree", "predictions"])
@pytest.mark.parametrize(
    "traits",
    [
        {"words": True},
        {"special": False, "words": True},
        {"quantity": "rollout"},
        {"quantity": "scores"},
        {"head": "mean", "special": False},
        {"top_k": 5, "depth": 2, "token": None},
    ],
    ids=str,
)
def test_tables_follow_the_selection_in_the_page_as_in_python(
    page: Page, runs: Chosen, view: str, traits: dict[str, object], tmp_path: Path
) -> None:
    widget = runs(view, **{"layer": 1, "head": 2, "token": 3, **traits})
    show(page, widget)
    assert save(page, "csv", tmp_path).read_bytes().decode("utf-8") == widget.to_csv()
    assert save(page, "json", tmp_path).read_bytes().decode("utf-8") == widget.to_json()


@pytest.mark.parametrize("view", ["attention", "heads", "tree"])
def test_tables_of_a_masked_model_agree(
    page: Page, runs: Chosen, view: str, tmp_path: Path
) -> None:
    widget = runs(view, forbids=True, layer=1, head=0, token=2)
    show(page, widget)
    assert save(page, "csv", tmp_path).read_bytes().decode("utf-8") == widget.to_csv()


def test_a_profile_saves_its_heads_alike(page: Page, tmp_path: Path) -> None:
    widget = aw.show(aw.profile(["The cat sat.", "It rains, again."], progress=False), layer=1)
    mount(page, widget)
    page.wait_for_timeout(QUIET_MS)
    assert save(page, "csv", tmp_path).read_bytes().decode("utf-8") == widget.to_csv()
    assert save(page, "json", tmp_path).read_bytes().decode("utf-8") == widget.to_json()
    with pytest.raises(NotAvailableError, match="no view 'tree'"):
        widget.to_csv(view="tree")
    with pytest.raises(NotAvailableError, match="no matrix"):
        widget.to_numpy()
    # A narrower picture would be as wide as its table of all heads needs.
    widget.save_png(tmp_path / "heads.png", width=1200, scale=1)
    assert pixels((tmp_path / "heads.png").read_bytes()).shape[1] == 1200
    widget.close()


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
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 100
    # Cells have sharp edges: drawn on a grid of single pixels, not enlarged from a coarser one.
    steps = np.abs(np.diff(image.astype(int).sum(axis=2), axis=1))
    same = (image[:, 0::2] == image[:, 1::2]).all()
    assert steps.max() > 200 and not same


@pytest.mark.parametrize("view", VIEWS)
def test_python_saves_a_picture_of_every_view(runs: Chosen, view: str, tmp_path: Path) -> None:
    widget = runs(view, layer=2, head=3, token=4)
    path = tmp_path / "view.png"
    widget.save_png(path, width=800, scale=1.5)
    image = pixels(path.read_bytes())
    assert image.shape[1] == 1200 and image.shape[0] > 300
    assert len(np.unique(image[..., :3].reshape(-1, 3), axis=0)) > 50


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
    # Far below what is in sight: not drawn until somebody looks.
    expect(page.locator('[data-aw-part="roles-map"]')).to_have_count(0)
    data, markup = picture_of(page, tmp_path)
    assert page.evaluate(INSIDE, [markup, ".aw-heads-table tbody > tr"]) == 72
    # The last column, too.
    assert page.evaluate(INSIDE, [markup, ".aw-heads-table tbody > tr > :last-child"]) == 72
    assert page.evaluate("document.querySelectorAll('.aw-roles-plane > *').length") > 72
    assert pixels(data).shape[1] <= 2 * width


def test_a_picture_of_a_long_list_of_predictions_has_every_row(
    page: Page, long_run: aw.Analysis, tmp_path: Path
) -> None:
    widget = aw.AttentionWidget(long_run, view="predictions")
    show(page, widget)
    assert long_run.n_tokens > 48  # rows that come with the first frame
    page.locator(".aw-predictions-list").evaluate("list => { list.scrollTop = 400; }")
    data, markup = picture_of(page, tmp_path)
    rows = page.evaluate(INSIDE, [markup, ".aw-position"])
    assert rows == long_run.n_tokens
    assert pixels(data).shape[0] > 2 * 20 * rows
    widget.close()


def test_a_picture_that_would_be_too_high_says_which_rows_it_has(
    page: Page, long_run: aw.Analysis, tmp_path: Path
) -> None:
    widget = aw.AttentionWidget(long_run, view="predictions")
    show(page, widget)
    page.add_style_tag(content=".aw-position { min-height: 300px; }")
    _, markup = picture_of(page, tmp_path)
    said = re.search(rf"Rows (\d+) to (\d+) of {long_run.n_tokens}\.", markup)
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
    page.wait_for_timeout(QUIET_MS)
    n = widget.analysis.n_tokens
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


def test_the_menu_is_worked_by_keys_alone(page: Page, runs: Chosen) -> None:
    show(page, runs("tree", layer=2, head=3, token=4))
    button, menu = page.locator('[data-aw-part="save"]'), page.locator('[data-aw-part="save-menu"]')
    button.focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(menu.locator('[data-aw-save="png"]')).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(menu.locator('[data-aw-save="print"]')).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(menu.locator('[data-aw-save="svg"]')).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    with page.expect_download() as started:
        page.keyboard.press("Enter")
    assert started.value.suggested_filename == "attn_widget-tree-L2H3.png"
    expect(button).to_be_focused()
    expect(page.locator('[data-aw-part="live"]')).to_have_text("Saved attn_widget-tree-L2H3.png")


def test_csv_is_copied_as_it_is_saved(page: Page, runs: Chosen) -> None:
    widget = runs("sentences")
    show(page, widget)
    page.locator('[data-aw-part="save"]').click()
    page.locator('[data-aw-save="copy-csv"]').click()
    expect(page.locator('[data-aw-part="live"]')).to_have_text("CSV copied")
    page.evaluate("document.body.append(document.createElement('textarea'))")
    page.locator("body > textarea").focus()
    page.keyboard.press("Control+V")
    pasted = page.locator("body > textarea").input_value()
    assert pasted == (widget.to_csv() or "").replace("\r\n", "\n")


def test_a_frame_that_forbids_downloads_is_noticed(page: Page, runs: Chosen) -> None:
    show(page, runs("sentences"))
    page.evaluate(
        """() => {
          const frame = document.createElement("iframe");
          frame.sandbox.add("allow-scripts", "allow-same-origin");
          Object.defineProperty(window, "frameElement", {value: frame});
          Object.defineProperty(window, "parent", {value: frame});
        }"""
    )
    page.locator('[data-aw-part="save"]').click()
    page.locator('[data-aw-save="csv"]').click()
    expect(page.locator('[data-aw-part="error"]')).to_contain_text("does not allow downloads")
