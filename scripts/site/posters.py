"""Pictures of the playground before its script has run: the widget itself, drawn in light and dark, wide and narrow.

One more is for links to the site: the widget under the front page's title, in the form that social networks cut to.
"""

from __future__ import annotations

import base64
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
from scripts.site.documents import title_of
from scripts.site.front import POSTERS, SOCIAL
from scripts.site.places import ASSETS, KEPT, SETTINGS

# Name of a picture by its width, and the width of the widget in a window of that width.
WIDTHS = {1200: 1152, 390: 358}


CARD = """<style>body { margin: 0; height: 630px; overflow: hidden; font: 600 44px/1.2 system-ui, sans-serif; color: #1c2127; }
h1 { font: inherit; letter-spacing: -0.02em; margin: 36px 48px 20px; } p { font: 600 26px system-ui; margin: 36px 48px 0; color: #0b5fc6; }
img { display: block; width: 1104px; margin: 0 48px; border: 1px solid #dce0e5; border-radius: 8px; }</style>
<p>attn_widget</p><h1></h1><img>"""


def write_posters() -> None:
    """Write the four pictures among the site's assets; drawn once."""
    code = "".join(map(bundle, ("widget.css", "standalone.js", "saved-lazy.js")))
    found = opening(aw.analyze(SENTENCE, tagger=None, progress=False))
    title = title_of(SETTINGS / "index.md")
    made_from = hashlib.sha256(f"{SENTENCE}{found}{code}{title}{CARD}".encode())
    folder = KEPT / f"posters-{made_from.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    names = {
        (theme, name): f"playground-{theme}-{name}.png" for theme in POSTERS for name in WIDTHS
    }
    wanted = [*names.values(), SOCIAL]
    if not all((folder / name).exists() for name in wanted):
        for other in KEPT.glob("posters-*"):
            if other != folder:
                shutil.rmtree(other)
        with chromium() as browser:
            for (theme, name), file in names.items():
                take(browser, theme, WIDTHS[name], folder / file)
            take_social(browser, folder / names["light", 1200], folder / SOCIAL)
    for name in wanted:
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


def take_social(browser: Browser, picture: Path, path: Path) -> None:
    """Write the picture of links to the site: 1,200 by 630 pixels."""
    page = browser.new_page(viewport={"width": 1200, "height": 630})
    page.set_content(CARD)
    data = base64.b64encode(picture.read_bytes()).decode()
    page.evaluate(
        "async ([title, src]) => { document.querySelector('h1').textContent = title;"
        " const image = document.querySelector('img'); image.src = src; await image.decode(); }",
        [title_of(SETTINGS / "index.md"), f"data:image/png;base64,{data}"],
    )
    shrink(page.screenshot(), path)
    page.close()
