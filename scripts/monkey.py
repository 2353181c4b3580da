"""Seeded clicks and keys on a widget in a real JupyterLab: ``python -m scripts.monkey --seconds 1800 --seed 0``.

After each action the page has reported no error; every few actions the cells are as they were, and at the end the
widget still answers. Prints the kernel's memory (`scripts.kernel_memory`) every two minutes, and how many actions were done, or the last of them before a failure.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import deque
from pathlib import Path

from playwright.sync_api import Error, Page

from scripts.lab import Notebook, chromium, jupyterlab
from scripts.widget_parts import Widget

SOURCES = (
    "import attn_widget as aw",
    "before = 1",
    "w = aw.show('The cat sat on the mat. It was tired, and it slept.', layer=3, head=5, progress=False)",
    "after = 2",
)
ASK = "w.chrome, w.view, w.quantity, w.layer, w.head, w.masked = True, 'attention', 'weights', 1, 2, []"
KEYS = (
    *"abcdefghijklmnopqrstuvwxyz0123456789?[].+-",
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"),
    *("Enter", "Escape", "Space", "Backspace", "Delete", "Tab", "Shift+Tab", "Shift+Enter"),
    *("Control+Enter", "Alt+Enter", "Shift+ArrowDown", "Control+s", "Control+Shift+ArrowUp"),
)
MEMORY = f"import sys; sys.path.append({str(Path(__file__).parents[1])!r}); from scripts.kernel_memory import said; print(said())"
MEMORY_EVERY = 120  # seconds between two looks at the memory
CHECK_EVERY = 50  # actions between two looks at the cells
LAST = 12  # actions reported with a failure
# Test for the focus; elements that a click may go to.
INSIDE = "() => document.activeElement?.closest('.attn-widget') != null"
PLACES = "button, input, textarea, select, summary, [tabindex], canvas, svg g, .aw-map-pane"


class BrokenError(AssertionError):
    """The failure, with the actions that led to it."""


def act(page: Page, widget: Widget, chance: random.Random) -> str:
    """Do one thing; returns what it was."""
    if chance.random() < 0.55 and page.evaluate(INSIDE):
        key = chance.choice(KEYS)
        page.keyboard.press(key)
        return f"press {key}"
    places = widget.element.locator(PLACES)
    index = chance.randrange(max(1, places.count()))
    place = places.nth(index)
    box = (
        place.bounding_box(timeout=1000) if places.count() > index and place.is_visible() else None
    )
    if box is None:
        return "nothing there"
    place.scroll_into_view_if_needed(timeout=2000)
    box = place.bounding_box(timeout=1000)
    if box is None:
        return "gone"
    # Before the click, which may take it away: it would be waited for.
    what = place.evaluate("e => e.outerHTML.slice(0, 90)", timeout=1000)
    x = box["x"] + chance.random() * box["width"]
    y = box["y"] + chance.random() * box["height"]
    page.mouse.move(x, y)
    kind = chance.random()
    # Another element may have come in between: a click goes to the widget or not at all.
    if not page.evaluate(
        "([x, y]) => document.elementFromPoint(x, y)?.closest('.attn-widget') != null", [x, y]
    ):
        return "covered"
    if kind < 0.75:
        page.mouse.click(x, y)
    elif kind < 0.85:
        page.mouse.dblclick(x, y)
    elif kind < 0.95:
        page.mouse.wheel(0, chance.choice((-120, 120)))
    else:
        page.mouse.down()
        page.mouse.move(x + chance.randint(-60, 60), y + chance.randint(-60, 60), steps=3)
        page.mouse.up()
    return f"click {what}"


def cells(notebook: Notebook) -> list[tuple[str, str]]:
    return [(cell["cell_type"], cell["source"]) for cell in notebook.cells()]


def run(notebook: Notebook, seconds: float, seed: int) -> int:
    """Act for so long; returns the number of actions.

    Raises
    ------
    BrokenError
        The page reported an error, a cell changed, or the widget no longer answers.
    """
    page, widget = notebook.page, notebook.widget(0)
    page.on("dialog", lambda dialog: dialog.dismiss())
    notebook.run_all()
    widget.wait_drawn()
    before = cells(notebook)
    chance = random.Random(seed)
    last: deque[str] = deque(maxlen=LAST)
    began = time.monotonic()
    until, look = began + seconds, began
    done = 0

    def check(holds: bool, what: str) -> None:
        if not holds:
            raise BrokenError(f"seed {seed}, action {done}: {what}\n" + "\n".join(last))

    while time.monotonic() < until:
        if time.monotonic() >= look:
            print(
                f"after {time.monotonic() - began:.0f} s: {notebook.python(MEMORY).strip()}",
                flush=True,
            )
            look += MEMORY_EVERY
        try:
            last.append(act(page, widget, chance))
        except Error as error:  # the element left while it was being looked at
            last.append(f"missed: {str(error).splitlines()[0]}")
        done += 1
        check(not notebook.errors, f"the page reported {notebook.errors}")
        if done % CHECK_EVERY == 0:
            check(cells(notebook) == before, "the cells changed")
            page.evaluate("() => document.fullscreenElement && document.exitFullscreen()")
    check(cells(notebook) == before, "the cells changed")
    for _ in range(3):
        page.keyboard.press("Escape")
    name = widget.part("head-name")
    deadline = time.monotonic() + 60
    # Told again until it holds: the last click may reach the kernel after the first time.
    while name.all_inner_texts() != ["L1 · H2"]:
        # A comparison that the last actions have opened shows no single head.
        for close in widget.element.get_by_role("button", name="Close", exact=True).all():
            if close.is_visible():
                close.click()
        check(time.monotonic() < deadline, f"L1 · H2 does not come: {widget.element.inner_text()}")
        notebook.python(ASK)
        page.wait_for_timeout(500)
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with jupyterlab() as lab, chromium() as browser:
        notebook = lab.open(browser, lab.write("monkey.ipynb", SOURCES), height=1000)
        print(f"{run(notebook, given.seconds, given.seed):,} actions, nothing broke")
        notebook.close()


if __name__ == "__main__":
    main()
