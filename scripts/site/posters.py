"""Pictures of the playground before its script has run: the widget itself, drawn in light and dark, wide and narrow."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from playwright.sync_api import Browser

import attn_widget as aw
from attn_widget.analysis.opening import opening
from attn_widget.protocol.built import bundle
from scripts.gallery import shrink
from scripts.lab import chromium
from scripts.page import mount
from scripts.sentence import SENTENCE
from scripts.site.front import POSTERS
from scripts.site.places import ASSETS, KEPT

# Name of a picture by its width, and the width of the widget in a window of that width.
WIDTHS = {1200: 1152, 390: 358}


def write_posters() -> None:
    """Write the four pictures among the site's assets; drawn once."""
    code = "".join(map(bundle, ("widget.css", "standalone.js", "saved-lazy.js")))
    found = opening(aw.analyze(SENTENCE, tagger=None, progress=False))
    made_from = hashlib.sha256(f"{SENTENCE}{found}{code}".encode())
    folder = KEPT / f"posters-{made_from.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    names = {
        (theme, name): f"playground-{theme}-{name}.png" for theme in POSTERS for name in WIDTHS
    }
    if not all((folder / name).exists() for name in names.values()):
        for other in KEPT.glob("posters-*"):
            if other != folder:
                shutil.rmtree(other)
        with chromium() as browser:
            for (theme, name), file in names.items():
                take(browser, theme, WIDTHS[name], folder / file)
    for name in names.values():
        shutil.copyfile(folder / name, ASSETS / name)


def take(browser: Browser, theme: str, width: int, path: Path) -> None:
    """Write the picture of the widget in one theme and width."""
    page = browser.new_page(
        viewport={"width": width, "height": 1000}, device_scale_factor=2 if width < 700 else 1.5
    )
    widget = aw.show(SENTENCE, theme=theme, progress=False)
    mount(page, widget, width=width)
    page.wait_for_timeout(600)
    shrink(page.locator(".attn-widget").screenshot(animations="disabled"), path)
    page.close()
    widget.close()
