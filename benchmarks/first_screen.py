"""Controls in the first screen of every view, and how far down its picture begins.

Run: ``python -m benchmarks.first_screen`` (the embedded model, a live widget of 1,200 px and a saved page on a phone);
``--pictures FOLDER`` writes a screenshot of each view in both themes.

A control is something to operate: a button, a menu, a field, a switch, a tab, each segment of a choice. What is shown
is counted apart although it can be clicked: tokens, heads, cells, figures, and the rows of a table with the name and
the tick of each (methods in Why, classes in Task). Buttons of a run that goes on count once it has ended.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, expect

import attn_widget as aw
from benchmarks.shapes import table
from scripts.gallery import JUDGED, SIXTY, open_view
from scripts.lab import chromium
from scripts.page import mount
from scripts.probe import sentiment
from scripts.widget_parts import STEP_MS

SCREEN = {"width": 1200, "height": 800}
PHONE = {"width": 390, "height": 844}
SETTLE_MS = 500

# The picture that a view is about: its first mark, not its headings.
PICTURES = {
    "attention": ".aw-map, .aw-flow",
    "heads": ".aw-cards-first .aw-card",
    "tree": ".aw-tree-svg",
    "sentences": ".aw-isa, .aw-empty",
    "predictions": ".aw-predictions-list",
    "inside": ".aw-inside-map",
    "task": "[data-aw-part=task] table",
    "why": ".aw-why-strips",
}

RUNNING = '[data-aw-part="masked-progress"]:not([hidden])'

COUNT = """([height, picture]) => {
    const CONTROLS = 'button, select, input, textarea, summary, [role=button], [role=tab], [role=switch], [role=slider]';
    const DATA = '[data-token], [data-head][data-layer], [role=gridcell], [role=treeitem], [role=row], li button, td button, svg *, .aw-why-method, .aw-classes *, .aw-guess, .aw-position-token, .aw-card *';
    const all = [...document.querySelectorAll('.attn-widget ' + CONTROLS.replaceAll(', ', ', .attn-widget '))]
        .filter(e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}))
        .filter(e => {
            const box = e.getBoundingClientRect();
            return box.width > 1 && box.height > 1 && box.top < height && box.right > 0 && box.left < innerWidth;
        });
    const [data, controls] = [true, false].map(is => all.filter(e => e.matches(DATA) === is));
    const drawn = document.querySelector('[data-aw-part=view]').querySelector(picture);
    return {
        controls: controls.map(e => (e.getAttribute('aria-label') || e.textContent || e.title).trim().slice(0, 24)),
        data: data.length,
        top: drawn === null ? null : Math.round(drawn.getBoundingClientRect().top),
    };
}"""


def first_screen(page: Page, view: str, height: int) -> list[str]:
    """Open a view: its controls, other targets, and where its picture begins."""
    open_view(page.locator(".attn-widget"), view)
    expect(page.locator(RUNNING)).to_have_count(0, timeout=STEP_MS)
    page.wait_for_timeout(SETTLE_MS)
    page.evaluate("() => scrollTo(0, 0)")
    found = page.evaluate(COUNT, [height, PICTURES[view]])
    print(f"{view}, {height} px: {', '.join(found['controls'])}")
    return [str(len(found["controls"])), str(found["data"]), str(found["top"])]


def measured(browser: Browser, views: list[str], theme: str, folder: Path) -> dict[str, list[str]]:
    """A row for each view: on a screen, and on a phone. Writes the pictures to ``folder``."""
    judged = views == ["task"]
    widget = aw.show(
        JUDGED[0] if judged else SIXTY,
        model=sentiment() if judged else None,
        theme=theme,
        progress=False,
    )
    rows: dict[str, list[str]] = {view: [view] for view in views}
    for size in (SCREEN, PHONE):
        phone = size is PHONE
        context = browser.new_context(
            viewport=size,  # pyright: ignore[reportArgumentType]
            has_touch=phone,
            is_mobile=phone,
            reduced_motion="reduce",
        )
        page = context.new_page()
        if phone:
            page.goto(widget.to_html(folder / "page.html").as_uri())
        else:
            mount(page, widget, width=size["width"])
        for view in views:
            rows[view] += first_screen(page, view, size["height"])
            path = folder / f"{view}-{theme}-{size['width']}.png"
            page.screenshot(path=path, full_page=True, animations="disabled")
        context.close()
    widget.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_screen", description=__doc__)
    parser.add_argument("views", nargs="*", default=[*PICTURES], help="which ones; by default all")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    themes = ("light", "dark") if asked.pictures else ("light",)
    groups = [[v for v in asked.views if (v == "task") == task] for task in (False, True)]
    rows: dict[str, list[str]] = {}
    with TemporaryDirectory() as temporary, chromium() as browser:
        folder = asked.pictures or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for theme in themes:
            for views in filter(None, groups):
                rows |= measured(browser, views, theme, folder)
    head = ["view", "controls", "data", "picture at, px", "phone: controls", "data", "picture at"]
    print(table(head, list(rows.values())))


if __name__ == "__main__":
    main()
