"""Minutes of random clicks and keys: what leaks, and what is logged.

Run: ``python -m benchmarks.soak [minutes] [seed]`` (2 and 0). The heap is read after a forced collection,
first when every view has been open once, last when the same views have been opened again. So is the memory of
the kernel, which is this process: resident, as it is and after the allocator has returned what is free (``malloc_trim``).
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import time
from pathlib import Path

from playwright.sync_api import CDPSession, Page
from playwright.sync_api import Error as PlaywrightError

import attn_widget as aw
from scripts.lab import chromium
from scripts.page import mount

TEXT = (
    "The trophy does not fit into the brown suitcase because it is too large. Maria bought it in "
    "Paris last year, and she still likes it. Her brother lives near the river bank."
)
# Clicks that end the run, leave the page, or wait for a dialog of the browser.
SPARED = "[data-aw-part=full-screen], [role=menuitem], [data-aw-part=run-button]"
TARGETS = (
    "button, [role=button], [role=tab], [role=gridcell], [role=treeitem], [role=option], canvas, "
    "summary, input[type=checkbox], input[type=range], select"
)
KEYS = (
    "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape", "Home", "End", "Tab",
    "Space", "+", "-", "0", "m", "?", "x",
)  # fmt: skip
PICK = """([targets, spared, at]) => {
    const found = [...document.querySelectorAll('.attn-widget ' + targets.split(', ').join(', .attn-widget '))]
        .filter(e => !e.matches(spared) && !e.disabled && e.getClientRects().length > 0);
    if (found.length === 0) return null;
    const element = found[Math.floor(at * found.length)];
    element.scrollIntoView({block: 'nearest'});
    const box = element.getBoundingClientRect();
    if (element.matches('select')) {
        element.selectedIndex = Math.floor(at * 1000) % element.options.length;
        element.dispatchEvent(new Event('change', {bubbles: true}));
        return null;
    }
    return [box.x, box.y, box.width, box.height];
}"""
KEY_SHARE = 0.35
MEGABYTE = 1e6


def heap(session: CDPSession) -> float:
    """Bytes of JavaScript that are still reachable, MB."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(m["value"] for m in metrics if m["name"] == "JSHeapUsedSize") / MEGABYTE


def tour(page: Page) -> None:
    """Open every view once."""
    for number in range(page.locator('[role="tab"]').count()):
        page.locator('[role="tab"]').nth(number).click()
        page.wait_for_timeout(1500)
    page.locator('[role="tab"]').first.click()
    page.wait_for_timeout(1500)


def act(page: Page, rng: random.Random) -> None:
    """One random click or key."""
    if rng.random() < KEY_SHARE:
        page.keyboard.press(rng.choice(KEYS))
        return
    box = page.evaluate(PICK, [TARGETS, SPARED, rng.random()])
    if box is not None:
        x, y, width, height = box
        page.mouse.click(x + rng.random() * width, y + rng.random() * height)


def resident() -> tuple[float, float]:
    """Memory of this process, MB: as it is, and after free memory was returned to the system."""

    def now() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    as_it_is = now()
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return as_it_is, now()


def soak(minutes: float, seed: int) -> tuple[float, float, int, list[str]]:
    """Heap before and after (MB), actions, and what was logged."""
    rng = random.Random(seed)
    widget = aw.show(TEXT, layer=3, head=5, progress=False)
    logged: list[str] = []
    actions = 0
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        page.on("pageerror", lambda error: logged.append(str(error)))
        page.on(
            "console",
            lambda line: logged.append(line.text) if line.type in ("error", "warning") else None,
        )
        mount(page, widget, width=1200)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        tour(page)
        before = heap(session)
        print("kernel, MB: {:.0f}, trimmed {:.0f}".format(*resident()), flush=True)
        end = time.monotonic() + minutes * 60
        while time.monotonic() < end:
            try:
                act(page, rng)
            except PlaywrightError as error:  # an element that went away under the pointer
                if "Target" in str(error):
                    raise
            actions += 1
            page.wait_for_timeout(20)
        page.keyboard.press("Escape")
        tour(page)
        after = heap(session)
        print("kernel, MB: {:.0f}, trimmed {:.0f}".format(*resident()), flush=True)
        page.close()
    widget.close()
    return before, after, actions, logged


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    before, after, actions, logged = soak(minutes, seed)
    print(
        f"{'minutes':>8}{'seed':>6}{'actions':>9}{'heap before':>13}{'after':>8}{'leak MB':>9}{'errors':>8}"
    )
    print(
        f"{minutes:8.1f}{seed:6d}{actions:9d}{before:13.1f}{after:8.1f}{after - before:9.1f}{len(logged):8d}"
    )
    for text in sorted(set(logged))[:20]:
        print("  ", text[:300])


if __name__ == "__main__":
    main()
