"""The engine of a page: ms a pass and differences from the kernel in Node, and typing in Chromium.

Run: ``npm run build && python -m benchmarks.engine``, or ``... benchmarks.engine typing`` for the page alone.
A pass gives all weights of all heads; one thread.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import attn_widget as aw
from attn_widget.export.browser import launch
from attn_widget.page.engine.live import LIVE_VIEWS, write_live_page
from attn_widget.page.saved_run import ExportOptions, saved_run
from attn_widget.protocol.run_source import RunSource
from tests.engine_parity import MINI, compare, parity_texts, run_engine

LENGTHS = (20, 64, 128, 512)


TEXT = "the old man said that the river near the house was never so small and so light"
TYPED = " as a cat of the doctor"
KEY_MS = 50  # 20 keys a second
LISTEN = """() => {
  window.keys = [];
  addEventListener("input", () => window.keys.push(performance.now()), true);
}"""
DELAYS = """() => {
  const drawn = performance.getEntriesByName("aw:drawn").map(({ startTime }) => startTime);
  return window.keys.map((key) => drawn.find((time) => time > key) - key);
}"""


def typing() -> None:
    """Size of a page, time until it can be typed into, and from a key to the drawn matrix."""
    run = saved_run(
        RunSource(aw.analyze(TEXT, progress=False)), None, ExportOptions(views=LIVE_VIEWS)
    )
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        path = write_live_page(Path(name) / "live.html", run, MINI)
        browser = launch(playwright)
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector('html[data-aw-engine="ready"]')
        ready = page.evaluate("performance.getEntriesByName('aw:ready')[0].startTime")
        page.evaluate(LISTEN)
        field = page.locator('[data-aw-part="run-text"]')
        field.press("End")
        field.press_sequentially(TYPED, delay=KEY_MS)
        page.wait_for_timeout(1000)
        delays = sorted(delay for delay in page.evaluate(DELAYS) if delay is not None)
        browser.close()
        print(f"page {path.stat().st_size / 1e6:.1f} MB, ready to type after {ready:.0f} ms")
    half, late = delays[len(delays) // 2], delays[int(len(delays) * 0.95)]
    print(f"key to drawn matrix, {len(delays)} keys: p50 {half:.0f} ms, p95 {late:.0f} ms")


def main() -> None:
    typing()
    if sys.argv[1:] == ["typing"]:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("tokens  median ms  fastest ms")
        for answer in run_engine(folder, lengths=LENGTHS):
            times = answer["times"]
            print(f"{answer['length']:6}  {statistics.median(times):9.1f}  {times[0]:10.1f}")
        found = compare(parity_texts(), folder)
    print("largest differences from the kernel, 60 texts of 3 to 512 tokens")
    for name, value in found._asdict().items():
        print(f"  {name:14} {value:.2g}")


if __name__ == "__main__":
    main()
