"""The film strip of the README: five moments of typing a sentence into a page that runs the model, into docs/images/.

With ``python -m scripts.film phone FOLDER`` the page is drawn 390 px wide, light and dark, for a look.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

import attn_widget as aw
from scripts.lab import ROOT, chromium

OUT = ROOT / "docs" / "images"
SENTENCE = "The keys to the car are here."
PARTS = ("The keys", " to", " the", " car", " are here.")  # a picture after each
SIDE = 24  # CSS px around a picture
WIDTH, HEIGHT = 390, 820  # of the page, CSS px: that of a phone
SCALE = 0.8  # pixels of a picture to a CSS pixel
FIELD = '[data-aw-part="run-text"]'
READY = 'html[data-aw-engine="ready"]'
GROUND = {"light": "#ffffff", "dark": "#111317"}


def opened(browser: Browser, path: Path, theme: str, width: int, height: int) -> Page:
    page = browser.new_page(
        viewport={"width": width, "height": height},
        device_scale_factor=2,
        color_scheme="dark" if theme == "dark" else "light",
    )
    page.goto(path.as_uri())
    page.wait_for_selector(READY, timeout=120_000)
    return page


def moments(page: Page) -> list[Image.Image]:
    """A picture after each part of the sentence."""
    field = page.locator(FIELD)
    field.fill("")
    pictures: list[Image.Image] = []
    text = ""
    for part in PARTS:
        field.press_sequentially(part)
        text += part
        page.wait_for_function(
            """(text) => {
              const tokens = [...document.querySelectorAll("[data-aw-part=ribbon] [data-token]")];
              const shown = tokens.map((one) => one.textContent).join("").replaceAll(" ", "");
              return shown.includes(text.replaceAll(" ", ""));
            }""",
            arg=text,
            timeout=60_000,
        )
        page.wait_for_timeout(1500)
        pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    return pictures


def strip(pictures: list[Image.Image], theme: str) -> Image.Image:
    """The pictures in a row."""
    size = (round(WIDTH * SCALE), round(HEIGHT * SCALE))
    gap = round(SIDE * SCALE)
    width = len(pictures) * size[0] + (len(pictures) - 1) * gap
    joined = Image.new("RGB", (width, size[1]), GROUND[theme])
    for i, picture in enumerate(pictures):
        joined.paste(picture.resize(size, Image.Resampling.LANCZOS), (i * (size[0] + gap), 0))
    return joined


def main() -> None:
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        widget = aw.show(SENTENCE, layer=2, head=3, progress=False)
        path = widget.to_html(Path(name) / "page.html", engine=True)
        for theme in ("light", "dark"):
            if sys.argv[1:2] == ["phone"]:
                page = opened(browser, path, theme, 390, 844)
                page.locator(FIELD).fill(SENTENCE)
                page.wait_for_timeout(2000)
                page.screenshot(path=Path(sys.argv[2]) / f"phone-{theme}.png", full_page=True)
            else:
                page = opened(browser, path, theme, WIDTH, HEIGHT)
                target = OUT / f"typing-{theme}.png"
                made = strip(moments(page), theme)
                made.quantize(128).save(target, optimize=True)
                print(
                    f"[film] wrote {target.relative_to(ROOT)}, {target.stat().st_size // 1000} kB"
                )
            page.close()


if __name__ == "__main__":
    main()
