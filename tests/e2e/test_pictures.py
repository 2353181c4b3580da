"""Pictures of every view, compared with those that were looked at and stored.

``ATTN_WIDGET_NEW_PICTURES=1 pytest -n 0 tests/e2e/test_pictures.py`` writes them anew: look at them before you commit.
The models are seeded and random, the texts and the typeface fixed, so that only a change of the page changes a picture.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps
from playwright.sync_api import Browser, Locator, Page, expect
from scipy.ndimage import maximum_filter, minimum_filter

import attn_widget as aw
from attn_widget.widget.base import SourceWidget
from scripts.gallery import open_view
from scripts.page import mount
from scripts.widget_parts import STEP_MS
from tests.e2e.compared import open_panel
from tests.e2e.random_models import WORDS, bert, classifier, modernbert
from tests.e2e.views import OF_TEXTS, setting, settle_in, unfold

STORED = Path(__file__).with_name("pictures")
NEW = bool(os.environ.get("ATTN_WIDGET_NEW_PICTURES"))
TEXT = "The cats sat on the mat. It was tired, and the river bank was closed!"
OTHER = "The cats slept on the sofa. It was tired, and the river bank was open!"
JUDGED = "The film was long but never boring."
PLAIN = """
* { font-family: "DejaVu Sans", sans-serif !important; caret-color: transparent !important;
    transition: none !important; animation: none !important; }
"""
# A saved page rounds; where the last digit falls depends on the processor that computed the run.
WITHOUT_DIGITS = r"""
() => {
  const even = () => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode.data.replace(/\d+(\.\d+)?×10[⁻⁰¹²³⁴-⁹]+|\d+\.\d+/g, "0.00");
      if (text !== texts.currentNode.data) texts.currentNode.data = text;
    }
  };
  const changes = { subtree: true, childList: true, characterData: true };
  new MutationObserver(even).observe(document.body, changes);
  even();
}
"""
BITS = 4  # of each channel that a stored picture keeps
# Antialiasing: an edge may lie a pixel farther, and a pixel of it differ by this much (of 255, per channel).
EDGE = 40
FAR = 25  # pixels that may differ by more: a letter that another machine smooths otherwise
LOOKS = 40  # at a page that draws late

Shown = SourceWidget


def long_text() -> str:
    """1,200 words drawn alike, in sentences."""
    rng = np.random.default_rng(0)
    words = [word for word in WORDS if word.isalpha()]
    return " ".join(f"{' '.join(rng.choice(words, 9))}." for _ in range(120))


def similar(other: str | list[str]) -> Any:
    return aw.similarity(TEXT, other, bert(), pooling="mean", tagger=None, progress=False)


def run(theme: str) -> Shown:
    return aw.show(TEXT, model=bert(), layer=1, head=2, token=3, theme=theme, progress=False)


WIDGETS: dict[str, Callable[[str], Shown]] = {
    "run": run,
    "classes": lambda theme: aw.show(
        JUDGED, model=classifier(), layer=1, head=2, theme=theme, progress=False
    ),
    "long": lambda theme: aw.show(
        long_text(), model=modernbert(), layer=0, head=1, token=700, theme=theme, progress=False
    ),
    "profile": lambda theme: aw.show(
        aw.profile([TEXT, OTHER, JUDGED], model=bert(), progress=False, seed=3),
        layer=1, head=2, theme=theme,
    ),
    "pair": lambda theme: similar(JUDGED).show(theme=theme),
    "ranking": lambda theme: similar([JUDGED, OTHER, "It was cold."]).show(theme=theme),
}  # fmt: skip


def shots() -> Iterator[tuple[str, str, str, int]]:
    """Of each picture the widget, the view, the theme and the width."""
    for theme, width in (("light", 1040), ("dark", 1040), ("light", 700)):
        for view in OF_TEXTS:
            yield "classes" if view == "task" else "run", view, theme, width
    yield "long", "attention", "light", 1040
    yield "profile", "heads", "light", 1040
    for theme, width in (("light", 1040), ("dark", 1040), ("light", 390)):
        yield "pair", "similarity", theme, width
    yield "ranking", "similarity", "light", 1040


@pytest.fixture(scope="module")
def opened(browser: Browser) -> Iterator[Callable[[str, str, int], Page]]:
    """A page for each widget, theme and width; those that follow each other share it."""
    known: dict[tuple[str, str, int], tuple[Page, Shown]] = {}

    def close() -> None:
        for page, widget in known.values():
            page.close()
            widget.close()
        known.clear()

    def page_of(widget: str, theme: str, width: int) -> Page:
        key = (widget, theme, width)
        if key not in known:
            close()
            page = browser.new_page(
                viewport={"width": width, "height": 1100}, reduced_motion="reduce"
            )
            known[key] = page, WIDGETS[widget](theme)
            mount(page, known[key][1], width=width)
            page.add_style_tag(content=PLAIN)
        return known[key][0]

    yield page_of
    close()


def pixels(picture: bytes | Path) -> NDArray[np.int16]:
    with Image.open(BytesIO(picture) if isinstance(picture, bytes) else picture) as image:
        return np.asarray(image.convert("RGB"), dtype=np.int16)


def differing(new: NDArray[np.int16], old: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Pixels of one picture that lie outside of what the 3 x 3 pixels around them span in the other, by more than `EDGE`."""
    size = (3, 3, 1)
    outside = [
        np.maximum(a - maximum_filter(b, size), minimum_filter(b, size) - a)
        for a, b in ((new, old), (old, new))
    ]
    return np.any(np.maximum(*outside) > EDGE, axis=-1)


def shot(target: Locator, path: Path) -> NDArray[np.int16]:
    """What is drawn, with 16 steps of each channel, and written to ``path``.

    Steps are the same for every picture; a palette of its own would give a letter another color where others change.
    """
    # It follows the selected head whenever a column arrives, in whatever order they do.
    target.locator(".aw-heads-scroll").evaluate_all(
        "all => all.forEach(table => table.scrollTo(0, 0))"
    )
    with Image.open(BytesIO(target.screenshot(animations="disabled"))) as image:
        flat = ImageOps.posterize(image.convert("RGB"), BITS)
    few = flat.getcolors(256) is not None
    (flat.quantize(256, dither=Image.Dither.NONE) if few else flat).save(path, optimize=True)
    return pixels(path)


def difference(new: NDArray[np.int16], old: NDArray[np.int16]) -> str | None:
    """How two pictures differ, in words; None where they do not."""
    if new.shape != old.shape:
        return "has another size"
    found = differing(new, old)
    if found.sum() <= FAR:
        return None
    rows, columns = np.nonzero(found)
    box = (columns.min(), rows.min(), columns.max(), rows.max())
    return f"differs in {found.sum()} pixels, in the box {box}"


def compare(target: Locator, name: str, tmp_path: Path) -> None:
    """Compare what is drawn with the picture of this name, both with few colors.

    A busy machine draws late: what differs must go on differing. A new picture is one that stays as it is.
    """
    target.page.mouse.move(0, 0)
    path = (STORED if NEW else tmp_path) / f"{name}.png"
    old = np.zeros((0, 0, 3), np.int16) if NEW else pixels(STORED / path.name)
    found = None
    for _ in range(LOOKS):
        settle_in(target)
        new = shot(target, path)
        found = difference(new, old)
        if found is None:
            return
        if NEW:
            old = new
    raise AssertionError(f"{name} {found}; the new picture is {path}")


def cases() -> Iterator[Any]:
    """Every picture; one of each view is quick."""
    seen: set[str] = set()
    for shot in shots():
        yield pytest.param(*shot, marks=[] if shot[1] in seen else pytest.mark.quick)
        seen.add(shot[1])


@pytest.mark.parametrize(("widget", "view", "theme", "width"), list(cases()))
def test_view_is_drawn_as_it_was(
    opened: Callable[[str, str, int], Page],
    widget: str,
    view: str,
    theme: str,
    width: int,
    tmp_path: Path,
) -> None:
    page = opened(widget, theme, width)
    root = page.locator(".attn-widget")
    open_view(root, view)
    if widget == "long":
        page.locator(".aw-long-map").wait_for()
        expect(page.locator('[data-aw-part="layer-progress"]')).to_be_hidden(timeout=STEP_MS)
    if widget == "profile":
        page.locator('[data-aw-part="examples"] li').first.wait_for()
    if view == "similarity":
        page.locator('[data-aw-part="pair"]').filter(has_text="·").wait_for()
    # What surrounds a view is the same for all.
    whole = view == "attention" or widget == "profile"
    target = root if whole else root.locator('[data-aw-part="view"]')
    name = (
        f"{view}-{theme}-{width}"
        if widget in ("run", "classes")
        else f"{widget}-{view}-{theme}-{width}"
    )
    compare(target, name, tmp_path)


def tree_card(panel: Locator) -> None:
    panel.locator('[role="treeitem"]').nth(2).focus()


def tree_forces(panel: Locator) -> None:
    setting(panel.page, "layout").locator('[data-layout="force"]').click()
    panel.page.keyboard.press("Escape")


def softmax(panel: Locator) -> None:
    expect(panel.locator('[data-aw-part="sentence"]')).to_contain_text("surprises")  # all have run
    panel.locator(".aw-prediction").nth(7).click()
    panel.locator(".aw-softmax").wait_for()
    # The list has scrolled to the row that the sentence speaks of, unless the click came first.
    panel.evaluate("all => all.querySelectorAll('*').forEach(one => one.scrollTo(0, 0))")


def heads_unfolded(panel: Locator) -> None:
    unfold(panel)
    panel.locator('[data-aw-part="roles"]').scroll_into_view_if_needed()
    panel.locator('[data-aw-part="roles-map"] [data-role]').first.wait_for()
    settle_in(panel)


def pinned_pair(panel: Locator) -> None:
    panel.locator(".aw-map").focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        panel.page.keyboard.press(key)
    panel.locator('[data-aw-part="pair"] summary').wait_for()  # vectors come last


@pytest.mark.parametrize(
    ("view", "act"),
    [
        ("tree", tree_card),
        ("tree", tree_forces),
        ("predictions", softmax),
        ("heads", heads_unfolded),
        ("attention", pinned_pair),
    ],
)
def test_opened_part_is_drawn_as_it_was(
    browser: Browser, tmp_path: Path, view: str, act: Callable[[Locator], None]
) -> None:
    page = browser.new_page(viewport={"width": 1040, "height": 1100}, reduced_motion="reduce")
    with closing(page), closing(run("light")) as widget:
        mount(page, widget, width=1040)
        page.add_style_tag(content=PLAIN)
        root = page.locator(".attn-widget")
        open_view(root, view)
        panel = root.locator('[data-aw-part="view"]')
        act(panel)
        compare(panel, f"opened-{act.__name__}".replace("_", "-"), tmp_path)


def test_comparison_is_drawn_as_it_was(browser: Browser, tmp_path: Path) -> None:
    path = aw.to_html(aw.compare(TEXT, OTHER, model=bert(), progress=False), tmp_path / "page.html")
    page = browser.new_page(
        viewport={"width": 1040, "height": 900},
        color_scheme="light",
        reduced_motion="reduce",
        bypass_csp=True,  # for our own style
    )
    with closing(page):
        page.goto(path.as_uri())
        page.add_style_tag(content=PLAIN)
        panels = page.locator('.aw-difference [role="tab"]')
        panels.first.wait_for()
        page.evaluate(WITHOUT_DIGITS)
        # It is laid out by the digits of its labels.
        page.add_style_tag(content=".aw-tree-legend { visibility: hidden !important }")
        for panel in [tab.get_attribute("data-view") for tab in panels.all()]:
            open_panel(page, str(panel))
            compare(page.locator(f'[data-panel="{panel}"]'), f"compared-{panel}-light", tmp_path)


def test_moved_edges_are_no_difference_and_other_colors_are() -> None:
    flat = np.full((20, 20, 3), 200, np.int16)
    edge, moved = flat.copy(), flat.copy()
    edge[:, 10:] = 0
    moved[:, 11:] = 0
    assert not differing(edge, moved).any()
    moved[:, 12:] = 0
    moved[:, 10:12] = 200
    assert differing(edge, moved).any()
    assert differing(flat, flat - EDGE - 1).all()
    assert not differing(flat, flat - EDGE).any()
