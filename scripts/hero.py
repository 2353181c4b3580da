"""The pictures at the top of the README, light and dark, into docs/images/."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

import attn_widget as aw
from scripts.gallery import shrink
from scripts.lab import ROOT, chromium
from scripts.page import mount
from scripts.widget_parts import STEP_MS

OUT = ROOT / "docs" / "images"
TEXT = "The trophy does not fit into the brown suitcase because it is too large."


WHY_TEXT = "The keys to the cabinet [MASK] here."
TESTED = re.compile("than random|cannot be tested")


def draw_hero(browser: Browser, theme: str) -> None:
    """A sentence, its heads, and one pair of words with its arithmetic."""
    widget = aw.show(TEXT, layer=3, head=1, token=11, pair=[11, 2], theme=theme, progress=False)
    page = browser.new_page(viewport={"width": 1160, "height": 900}, device_scale_factor=1.5)
    mount(page, widget, width=1160)
    page.wait_for_load_state("networkidle")
    # The strips of q and k come in their own reply, after the arithmetic.
    page.wait_for_selector("[data-aw-part=pair] [data-aw-part=vectors]")
    page.evaluate("document.activeElement?.blur()")
    path = OUT / f"hero-{theme}.png"
    page.locator(".attn-widget").screenshot(path=path)
    print(f"[hero] wrote {path.relative_to(ROOT)}, {path.stat().st_size // 1000} kB")
    page.close()
    widget.close()


def draw_why(browser: Browser, theme: str) -> None:
    """The part that each word adds to one word rather than another, and the heads that matter for it."""
    target = aw.target(position=6, token="are", against="is")
    widget = aw.show(WHY_TEXT, token=6, view="why", target=target, theme=theme, progress=False)
    page = browser.new_page(viewport={"width": 1100, "height": 1300}, device_scale_factor=1.5)
    mount(page, widget, width=1100)
    tested = page.locator('[data-aw-part="why-said"]')
    expect(tested).to_contain_text(TESTED, timeout=STEP_MS)
    expect(page.locator('[data-aw-part="why-heads"]')).to_be_visible(timeout=STEP_MS)
    page.get_by_text("Shade the grid of heads by this").click()
    page.get_by_text(re.compile("^most: L")).click()
    page.wait_for_timeout(500)
    page.evaluate("document.activeElement?.blur()")
    page.mouse.move(0, 0)
    path = OUT / f"why-{theme}.png"
    shrink(page.locator(".attn-widget").screenshot(animations="disabled"), path)
    print(f"[hero] wrote {path.relative_to(ROOT)}, {path.stat().st_size // 1000} kB")
    page.close()
    widget.close()


def main() -> None:
    """Draw each picture at one and a half times the resolution of the page."""
    OUT.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for theme in ("light", "dark"):
            draw_hero(browser, theme)
            draw_why(browser, theme)


if __name__ == "__main__":
    main()
