"""`make gallery`: a picture of every view in build/gallery/, with an index to look through.

Every view in light and dark, narrow and wide, and over texts that are short, long, Chinese or Hebrew.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

import attn_widget as aw
from attn_widget.figures.catalog.choices import VIEWS
from scripts.gallery_long import LONG_SHOTS, take_long
from scripts.lab import ROOT, Lab, chromium, jupyterlab
from scripts.page import mount
from scripts.probe import sentiment
from scripts.widget_parts import STEP_MS

OUT = ROOT / "build" / "gallery"
COLOURS = (
    200  # of the palette: flat drawings lose nothing, and a picture takes a third of the bytes
)
SAID = re.compile("than random|cannot be tested|takes seconds")
HOSTS = {"lab": "doc/tree", "notebook": "notebooks"}  # the address of a notebook in each
MARGINS = 320  # px beside a widget in JupyterLab
LAB_HEIGHT = 3600  # px of its window: what lies below would be cut off
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
COMPARED = (
    "The keys to the cabinet are here. They are old.",
    "The key to the cabinet is here. It is old.",
)
JUDGED = ("The film was long but never boring.", "The film was long and really boring.")
CHINESE = "猫坐在垫子上。小狗在花园里睡觉。"
HEBREW = "החתול ישב על המחצלת. הכלב ישן בגן."


@dataclass(frozen=True)
class Shot:
    """One state of the screen: which text, how wide, in which theme; of every view, or of `views`."""

    name: str
    text: str
    width: int
    theme: str
    views: tuple[str, ...] = tuple(name for name in VIEWS if name != "images")  # of texts


SHOTS = (
    Shot("60-light-1200", SIXTY, 1200, "light"),
    Shot("60-dark-1200", SIXTY, 1200, "dark"),
    Shot("60-light-700", SIXTY, 700, "light"),
    Shot("60-dark-700", SIXTY, 700, "dark"),
    Shot("9-light-700", NINE, 700, "light"),
    Shot("9-dark-1200", NINE, 1200, "dark"),
    Shot("300-light-1200", LONG, 1200, "light"),
    Shot("300-dark-700", LONG, 700, "dark"),
    Shot("chinese-light-1200", CHINESE, 1200, "light"),
    Shot("hebrew-dark-1200", HEBREW, 1200, "dark"),
    # Its strips and panels depend on length, width and theme more than other views do.
    Shot("9-light-1200", NINE, 1200, "light", ("why",)),
    Shot("9-dark-700", NINE, 700, "dark", ("why",)),
    Shot("300-light-700", LONG, 700, "light", ("why",)),
    Shot("300-dark-1200", LONG, 1200, "dark", ("why",)),
)


def shrink(png: bytes, path: Path, colors: int = COLOURS) -> None:
    """Write a screenshot with a palette of its own."""
    with Image.open(BytesIO(png)) as image:
        flat = image.convert("RGB").quantize(colors, dither=Image.Dither.NONE)
        flat.save(path, optimize=True)


def write(root: Locator, path: Path) -> None:
    """A picture of a widget as it stands."""
    shrink(root.screenshot(animations="disabled"), path)
    print(f"[gallery] {path.relative_to(ROOT)}", flush=True)


def open_view(root: Locator, view: str) -> None:
    """Choose a view by its tab and wait for all that it asks for."""
    panel = root.locator('[data-aw-part="view"]')
    tab = root.locator(f'[role="tab"][data-view="{view}"]')
    if tab.is_visible():  # one view alone has no tabs
        tab.click()
    panel.locator(f'> [data-view="{view}"]').wait_for()
    if view == "why":  # one method after the other; the test comes late, or is offered
        said = panel.locator('[data-aw-part="why-said"]')
        expect(said).to_contain_text(SAID, timeout=STEP_MS)
        if "seconds" not in said.inner_text():
            expect(panel.locator('[data-aw-part="why-heads"]')).to_be_visible(timeout=STEP_MS)
    expect(panel).not_to_have_attribute("aria-busy", "true", timeout=STEP_MS)
    expect(panel.locator("[aria-busy=true]")).to_have_count(0, timeout=STEP_MS)


def take_views(page: Page, root: Locator, shot: Shot, views: list[str], folder: Path) -> None:
    """Write one picture a view of the widget ``root``."""
    for view in views:
        open_view(root, view)
        page.wait_for_timeout(SETTLE_MS)
        page.mouse.move(0, 0)
        path = folder / f"{view}-{shot.name}.png"
        write(root, path)


def take(browser: Browser, shot: Shot, views: list[str], model: object) -> None:
    """The pictures of one shot on a page of its own."""
    page = browser.new_page(viewport={"width": shot.width, "height": 1000})
    widget = aw.show(shot.text, theme=shot.theme, model=model, progress=False)
    mount(page, widget, width=shot.width)
    take_views(page, page.locator(".attn-widget"), shot, views, OUT)
    page.close()
    widget.close()


def take_in(browser: Browser, lab: Lab, shot: Shot, host: str) -> None:
    """The pictures of one shot in a notebook: in JupyterLab or Notebook 7."""
    cells = [
        f"import attn_widget as aw\naw.show({shot.text!r}, theme={shot.theme!r}, progress=False)"
    ]
    name = lab.write(f"{shot.name}.ipynb", cells)
    opened = lab.open(browser, name, shot.width + MARGINS, LAB_HEIGHT, host=HOSTS[host])
    opened.theme(f"JupyterLab {shot.theme.capitalize()}")
    opened.run_all()
    widget = opened.widget(0)
    widget.wait_drawn()
    folder = OUT / host
    folder.mkdir(parents=True, exist_ok=True)
    take_views(opened.page, widget.element, shot, [v for v in shot.views if v != "task"], folder)
    opened.close()


def comparisons() -> Iterator[tuple[str, aw.Comparison, tuple[str, ...]]]:
    """What is compared in the gallery: name, comparison, panels (none: all)."""
    short = aw.compare(*COMPARED, progress=False)
    yield "compared", short.align([(2, 2), (6, 6)]), ()
    other = LONG.replace("glacier", "lake").replace("bridge", "tower")
    long = aw.compare(LONG, other, progress=False)
    yield "compared-long", long, ("attention", "heads", "sentences", "predictions", "inside")
    judged = aw.compare(*JUDGED, model=sentiment(), progress=False)
    yield "compared-class", judged, ("task", "patching")


def take_compared(
    browser: Browser, name: str, comparison: aw.Comparison, panels: tuple[str, ...], theme: str
) -> None:
    """The pictures of two runs in difference mode, a panel each."""
    with tempfile.TemporaryDirectory() as folder:
        path = aw.to_html(comparison, Path(folder) / "compared.html")
        page = browser.new_page(
            viewport={"width": 1200, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
        )
        page.goto(path.as_uri())
        tabs = page.locator('.aw-difference [role="tab"]')
        tabs.first.wait_for()
        for tab in tabs.all():
            panel = tab.get_attribute("data-view")
            if panels and panel not in panels:
                continue
            tab.click()
            expect(page.locator("[data-panel] [aria-busy=true]")).to_have_count(0, timeout=STEP_MS)
            page.wait_for_timeout(2 * SETTLE_MS)
            picture = OUT / f"{name}-{panel}-{theme}.png"
            shrink(page.screenshot(full_page=True, animations="disabled"), picture)
            print(f"[gallery] {picture.relative_to(ROOT)}", flush=True)
        page.close()


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
    long = [
        name
        for shot in LONG_SHOTS
        for name in (f"attention-{shot.name}", f"attention-{shot.name}-near")
        if name in names
    ]
    if long:
        lines += ["## Long texts", "", "By random weights of ModernBERT's kind of layers.", ""]
        lines += [f"![{name}]({name}.png)\n" for name in long]
    compared = sorted(name for name in names if name.startswith("compared-"))
    if compared:
        lines += ["## Two runs, B − A", "", *(f"![{name}]({name}.png)\n" for name in compared)]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.gallery", description=__doc__)
    parser.add_argument("shots", nargs="*", help="which ones; by default all")
    parser.add_argument(
        "--host", choices=HOSTS, help="draw in a notebook, into a folder of its own"
    )
    asked = parser.parse_args(arguments)
    shots = [shot for shot in SHOTS if not asked.shots or shot.name in asked.shots]
    OUT.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        if asked.host is not None:
            with jupyterlab() as lab:
                for shot in shots:
                    take_in(browser, lab, shot, asked.host)
            return
        for shot in shots:
            take(browser, shot, [view for view in shot.views if view != "task"], None)
            if "task" in shot.views:
                take(browser, shot, ["task"], sentiment())
        for compared in comparisons() if not asked.shots or "compared" in asked.shots else ():
            for theme in ("light", "dark"):
                take_compared(browser, *compared, theme)
        for long in LONG_SHOTS:
            if not asked.shots or long.name in asked.shots:
                take_long(browser, long, OUT, write)
    names = [path.stem for path in OUT.glob("*.png")]
    (OUT / "README.md").write_text(index(names), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
