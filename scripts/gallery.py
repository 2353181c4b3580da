"""`make gallery`: a picture of every view in docs/gallery/, with an index to look through.

Every view in light and dark, narrow and wide, and over texts that are short, long, Chinese or Hebrew.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

import attn_widget as aw
from attn_widget.widget.widget import VIEWS
from scripts.lab import ROOT, chromium
from scripts.page import mount
from scripts.probe import sentiment

OUT = ROOT / "docs" / "gallery"
COLOURS = (
    200  # of the palette: flat drawings lose nothing, and a picture takes a third of the bytes
)
SETTLE_MS = 400  # for what is drawn after the view's first answer; motion is under 250 ms

NINE = "Time flies like an arrow."
SIXTY = (
    "The trophy does not fit into the brown suitcase because it is too large. Maria bought the "
    "suitcase in Paris last year, and she still likes it. Her brother, who lives near the river "
    "bank, thinks that it was too expensive for a student. Both of them laughed."
)
LONG = " ".join(
    [
        SIXTY,
        "When the museum opened its new wing in April, the director invited two hundred guests from "
        "the city and from abroad. They walked slowly through the bright rooms, looked at the old "
        "maps and asked many questions about the painters, whose names nobody had heard before.",
        "In the afternoon the weather changed: clouds came over the harbour, the wind grew stronger, "
        "and the small boats went back to the beach. The children who had played there all day ran "
        "home, while their parents folded the chairs and carried the baskets to the cars.",
        "Nobody knew why the letter had arrived so late. It had been written in London in the winter "
        "of 1987, posted twice, opened once, and read by at least three people. The judge said that "
        "it proved nothing, but the lawyers argued about every word of it for the rest of the week.",
        "The train to the mountains leaves at nine, stops in four villages and reaches the lake before "
        "noon. From there a narrow path leads through the forest to an old stone bridge, where, as the "
        "people of the valley say, a king once waited three days for his enemies. They never came.",
        "Scientists have measured how the glacier above it moves: in summer it loses more ice than in "
        "winter it gains, and the river carries the difference down to the sea.",
    ]
)
CHINESE = "猫坐在垫子上。小狗在花园里睡觉。"
HEBREW = "החתול ישב על המחצלת. הכלב ישן בגן."


@dataclass(frozen=True)
class Shot:
    """One state of the screen: which text, how wide, in which theme."""

    name: str
    text: str
    width: int
    theme: str
    token: int


SHOTS = (
    Shot("60-light-1200", SIXTY, 1200, "light", 13),
    Shot("60-dark-1200", SIXTY, 1200, "dark", 13),
    Shot("60-light-700", SIXTY, 700, "light", 13),
    Shot("60-dark-700", SIXTY, 700, "dark", 13),
    Shot("9-light-700", NINE, 700, "light", 2),
    Shot("9-dark-1200", NINE, 1200, "dark", 2),
    Shot("300-light-1200", LONG, 1200, "light", 13),
    Shot("300-dark-700", LONG, 700, "dark", 13),
    Shot("chinese-light-1200", CHINESE, 1200, "light", 2),
    Shot("hebrew-dark-1200", HEBREW, 1200, "dark", 2),
)


def shrink(png: bytes, path: Path) -> None:
    """Write a screenshot with a palette of its own."""
    with Image.open(BytesIO(png)) as image:
        flat = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        flat.save(path, optimize=True)


def take(browser: Browser, shot: Shot, views: list[str], model: object) -> None:
    """Write one picture a view."""
    page = browser.new_page(viewport={"width": shot.width, "height": 1000})
    widget = aw.show(
        shot.text, layer=3, head=5, token=shot.token, theme=shot.theme, model=model, progress=False
    )
    mount(page, widget, width=shot.width)
    for view in views:
        page.locator(f'[role="tab"][data-view="{view}"]').click()
        panel = page.locator(f'[data-aw-part="view"] > [data-view="{view}"]')
        panel.wait_for()
        page.wait_for_function(
            "() => document.querySelector('[data-aw-part=view]').ariaBusy !== 'true'"
            " && !document.querySelector('[data-aw-part=view] [aria-busy=true]')"
        )
        if view == "heads":  # the map of roles is asked for when it is looked at
            page.locator('[data-aw-part="roles"]').scroll_into_view_if_needed()
            page.locator('[data-aw-part="roles-map"] [data-role]').first.wait_for()
        page.wait_for_timeout(SETTLE_MS)
        page.mouse.move(0, 0)
        path = OUT / f"{view}-{shot.name}.png"
        shrink(page.locator(".attn-widget").screenshot(animations="disabled"), path)
        print(f"[gallery] {path.relative_to(ROOT)}", flush=True)
    page.close()
    widget.close()


def index(names: list[str]) -> str:
    """The page of the gallery, in Markdown."""
    lines = [
        "# Gallery",
        "",
        "Written by `make gallery`; all pictures are of the embedded model.",
        "",
    ]
    for view in VIEWS:
        shown = [shot for shot in SHOTS if f"{view}-{shot.name}" in names]
        if shown:
            lines += [f"## {view.capitalize()}", ""]
            lines += [f"![{view}, {shot.name}]({view}-{shot.name}.png)\n" for shot in shown]
    return "\n".join(lines).rstrip() + "\n"


def main(wanted: list[str]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for shot in SHOTS:
            if wanted and shot.name not in wanted:
                continue
            take(browser, shot, [view for view in VIEWS if view != "task"], None)
            take(browser, shot, ["task"], sentiment())
    names = [path.stem for path in OUT.glob("*.png")]
    (OUT / "README.md").write_text(index(names), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
