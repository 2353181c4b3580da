"""Pictures of texts of 300 to 8,192 tokens for the gallery: the documentation itself, read by ModernBERT's kind of layers.

The weights are random (no model that reads so much comes along): what is to be seen is the page, not what heads do.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.trace.base import LONG_TOKENS
from benchmarks.long_page import encoder
from scripts.lab import ROOT
from scripts.page import mount

SETTLE_MS = 2500
FILL_MS = 600_000  # until all heads of the grid are there
LAYERS, HEADS = 3, 8
TINY = 2, 4  # for more tokens than this shape reads in a minute
# Code and tables are no prose.
CODE = re.compile(r"```.*?```", re.DOTALL)
TABLE = re.compile(r"^[|<].*$", re.MULTILINE)


@dataclass(frozen=True)
class LongShot:
    """A picture of so many tokens; of a text drawn by levels, also one near a link of a word."""

    tokens: int
    theme: str
    width: int

    @property
    def name(self) -> str:
        return f"{self.tokens}-{self.theme}-{self.width}"

    @property
    def shape(self) -> tuple[int, int]:
        return (LAYERS, HEADS) if self.tokens <= 2048 else TINY


LONG_SHOTS = (
    LongShot(300, "light", 1200),
    LongShot(300, "dark", 700),
    LongShot(2048, "light", 1200),
    LongShot(2048, "dark", 700),
    LongShot(8192, "light", 700),
    LongShot(8192, "dark", 1200),
)


def document(tokens: int, reader: Any) -> str:
    """The prose of the documentation, cut to a number of tokens, the special ones included."""
    pages = sorted((ROOT / "docs").glob("*.md"))
    text = "\n\n".join(page.read_text(encoding="utf-8") for page in pages)
    text = re.sub(r"\n{3,}", "\n\n", TABLE.sub("", CODE.sub("", text)))
    text = re.sub(r"(?<!\n)\n(?![\n#-])", " ", text)  # lines of a paragraph
    # Eight characters a token are more than enough.
    text = text[: 8 * tokens]
    offsets = reader(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"]
    return text[: offsets[min(tokens - 2, len(offsets)) - 1][1]]


def take_long(
    browser: Browser, shot: LongShot, folder: Path, write: Callable[[Locator, Path], None]
) -> None:
    """The whole of a text, and the exact cells around a link."""
    pair = encoder(*shot.shape)
    page = browser.new_page(viewport={"width": shot.width, "height": 1200})
    widget = aw.show(
        document(shot.tokens, pair[1]),
        model=pair,
        layer=0,
        head=1,
        token=min(700, shot.tokens // 2),
        theme=shot.theme,
        progress=False,
    )
    mount(page, widget, width=shot.width)
    levels = shot.tokens > LONG_TOKENS
    page.locator(".aw-long-link" if levels else ".aw-map").first.wait_for()
    expect(page.locator('[data-aw-part="layer-progress"]')).to_be_hidden(timeout=FILL_MS)
    page.wait_for_timeout(SETTLE_MS)
    root = page.locator(".attn-widget")
    write(root, folder / f"attention-{shot.name}.png")
    if levels:
        _take_near(page, root, folder / f"attention-{shot.name}-near.png", write)
    page.close()
    widget.close()


def _take_near(
    page: Page, root: Locator, path: Path, write: Callable[[Locator, Path], None]
) -> None:
    page.locator('[data-aw-part="find"]').fill("attention")
    page.keyboard.press("Enter")
    page.wait_for_timeout(SETTLE_MS)
    page.locator(".aw-long-map").focus()
    page.keyboard.press("m")
    page.wait_for_timeout(SETTLE_MS)
    write(root, path)
