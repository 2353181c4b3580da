"""Pictures of the views whose drawing is the point, beside those that were looked at and kept.

``ATTN_WIDGET_NEW_PICTURES=1 pytest tests/e2e/test_pictures.py`` writes them anew: look at them before you commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from scripts.page import mount
from tests.e2e.views import choose

KEPT = Path(__file__).with_name("pictures")
TEXT = "The cat sat on the mat. It was tired, and the bank was closed!"
# Text of one family on every machine, and unseen: the smoothing of letters is not what is tested.
PLAIN = """
* { font-family: "DejaVu Sans", sans-serif !important; caret-color: transparent !important;
    transition: none !important; animation: none !important; }
.attn-widget text, .attn-widget bdi { fill: transparent !important; color: transparent !important; }
"""
SHRINK = 4  # a pixel of the comparison is 4 x 4 of the screen: a hair's shift of an edge is no difference
MEAN, FAR, FAR_SHARE = (
    2.0,
    40,
    0.01,
)  # of 255: the mean difference, and how many pixels may differ by much
PICTURES = (
    ("attention", ".aw-map", "light"),
    ("attention", '[data-aw-part="flow"]', "dark"),
    ("heads", '[data-aw-part="radar"]', "light"),
    ("heads", '[data-aw-part="roles-map"]', "dark"),
    ("tree", '[data-aw-part="tree"]', "light"),
    ("tree", '[data-aw-part="tree"]', "dark"),
    ("sentences", '[data-aw-part="sentence-matrix"]', "light"),
    ("inside", '[data-aw-part="inside-map"]', "light"),
)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1200, "height": 1100}, reduced_motion="reduce")
    yield opened
    opened.close()


def gray(png: bytes) -> NDArray[np.float64]:
    with Image.open(BytesIO(png)) as image:
        flat = image.convert("L")
        size = (max(1, flat.width // SHRINK), max(1, flat.height // SHRINK))
        return np.asarray(flat.resize(size, Image.Resampling.BOX), dtype=np.float64)


@pytest.mark.parametrize(("view", "selector", "theme"), PICTURES)
def test_is_drawn_as_it_was(page: Page, view: str, selector: str, theme: str) -> None:
    widget = aw.show(TEXT, layer=3, head=5, token=3, theme=theme, progress=False)
    mount(page, widget, width=1200)
    page.add_style_tag(content=PLAIN)
    choose(page, view)
    if view == "heads":  # the map of roles is asked for when it is looked at
        page.locator('[data-aw-part="roles"]').scroll_into_view_if_needed()
    target = page.locator(f"[data-aw-part=view] {selector}").first
    target.scroll_into_view_if_needed()
    expect(target).to_be_visible(timeout=60_000)
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    found = target.screenshot(animations="disabled")
    name = selector.strip(".[]").replace('data-aw-part="', "").strip('"')
    path = KEPT / f"{view}-{name}-{theme}.png"
    if os.environ.get("ATTN_WIDGET_NEW_PICTURES"):
        path.write_bytes(found)
    new, old = gray(found), gray(path.read_bytes())
    assert abs(new.shape[0] - old.shape[0]) <= 2
    assert abs(new.shape[1] - old.shape[1]) <= 2
    rows, columns = np.minimum(new.shape, old.shape)
    apart = np.abs(new[:rows, :columns] - old[:rows, :columns])
    assert apart.mean() < MEAN
    assert (apart > FAR).mean() < FAR_SHARE
    widget.close()
