"""The engine of a page: times, differences from the kernel, typing and memory.

Run ``npm run build && python -m benchmarks.engine WHAT``, WHAT being one or several of

passes   ms a pass with all weights of all heads, in Node, one thread
parity   largest differences from the kernel, and of both from float64, over 300 texts
typing   sizes of pages, time until they can be typed into, and from a key to the drawn matrix, in Chromium
memory   growth of the page's heap over ten minutes of random typing (``memory 2``: two minutes)
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

import attn_widget as aw
from attn_widget.features.exports.browser import launch
from tests.engine_parity import WORDS, compare, parity_texts, run_engine

LENGTHS = (20, 64, 128, 512)
TEXT = "the old man said that the river near the house was never so small and so light"
TYPED = " as a cat of the doctor"
KEY_MS = 50  # 20 keys a second
KEYS = 40  # of one measurement of typing
FIELD = '[data-aw-part="run-text"]'
READY = 'html[data-aw-engine="ready"]'
LISTEN = """() => {
  window.keys = [];
  performance.clearMarks("aw:drawn");
  addEventListener("input", () => window.keys.push(performance.now()), true);
}"""
DELAYS = """() => {
  const drawn = performance.getEntriesByName("aw:drawn").map(({ startTime }) => startTime);
  return window.keys.map((key) => drawn.find((time) => time > key) - key);
}"""


def opened(page: Page, path: Path) -> float:
    """Ms until a page can be typed into."""
    page.goto(path.as_uri())
    page.wait_for_selector(READY, timeout=120_000)
    return float(page.evaluate("performance.getEntriesByName('aw:ready')[0].startTime"))


def typing() -> None:
    widget = aw.show(TEXT, progress=False)
    plain = widget.to_html
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        pages = {"float16": plain(folder / "full.html", engine=True)}
        print(f"without an engine {mb(plain(folder / 'p.html'))}")
        browser = launch(playwright)
        for kind, path in pages.items():
            times = []
            for _ in range(5):
                page = browser.new_page()
                times.append(opened(page, path))
                page.close()
            page = browser.new_page()
            opened(page, path)
            page.evaluate(LISTEN)
            field = page.locator(FIELD)
            field.press("End")
            field.press_sequentially((TYPED * 4)[:KEYS], delay=KEY_MS)
            page.wait_for_timeout(1000)
            delays = sorted(delay for delay in page.evaluate(DELAYS) if delay is not None)
            page.close()
            half, late = statistics.median(delays), delays[int(len(delays) * 0.95)]
            print(f"{kind}: page {mb(path)}, ready to type after {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f}); "
                  f"key to drawn matrix, {len(delays)} keys: p50 {half:.0f} ms, p95 {late:.0f} ms", flush=True)  # fmt: skip
        browser.close()


def mb(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.2f} MB"


def memory(minutes: float) -> None:
    """Heap after two garbage collections, before and after random typing."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        path = aw.show(TEXT, progress=False).to_html(Path(name) / "p.html", engine=True)
        browser = launch(playwright)
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        opened(page, path)
        session: Any = page.context.new_cdp_session(page)

        def heap() -> float:
            for _ in range(2):
                session.send("HeapProfiler.collectGarbage")
                page.wait_for_timeout(300)
            return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6

        def work() -> None:
            field = page.locator(FIELD)
            if rng.random() < 0.2:
                field.fill("")
            field.press("End")
            field.press_sequentially(
                " ".join(rng.choices(WORDS, k=rng.randint(1, 12))) + " ", delay=20
            )
            page.locator(".aw-tab").nth(rng.randrange(3)).click()

        for _ in range(5):  # what is loaded once
            work()
        before, texts, end = heap(), 0, time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            work()
            texts += 1
            if len(page.locator(FIELD).input_value()) > 600:
                page.locator(FIELD).fill("")
        after = heap()
        browser.close()
    print(
        f"{minutes:g} minutes, {texts} texts typed: heap {before:.1f} to {after:.1f} MB, {len(errors)} errors"
    )


def passes() -> None:
    with tempfile.TemporaryDirectory() as name:
        print("instructions  tokens  median ms  fastest ms")
        for relaxed in (True, False):
            for answer in run_engine(Path(name), relaxed, lengths=LENGTHS):
                times = answer["times"]
                print(f"{'relaxed' if relaxed else 'plain':12}  {answer['length']:6}  {statistics.median(times):9.1f}  {times[0]:10.1f}")  # fmt: skip


def parity(count: int = 300) -> None:
    texts = parity_texts(count)
    for relaxed in (True, False):
        with tempfile.TemporaryDirectory() as name:
            comparison = compare(texts, Path(name), relaxed=relaxed)
        print(f"{'relaxed' if relaxed else 'plain'} SIMD, largest differences from the kernel, {count} texts of 3 to 512 tokens")  # fmt: skip
        for name, value in comparison.kernel._asdict().items():
            print(f"  {name:14} {value:.2g}")
        worst = sorted(texts, key=lambda text: -max(one.hidden_states for one in comparison.rounding[text]))[:4]  # fmt: skip
        for which, title in enumerate(("engine", "kernel")):
            print(f"  {title} from float64: all texts {shown(comparison.worst(which))}; without {worst[:3]} {shown(comparison.worst(which, worst[:3]))}")  # fmt: skip
        for text in worst:
            print(f"    {text[:40]!r}: engine {shown(comparison.rounding[text][0])}; kernel {shown(comparison.rounding[text][1])}")  # fmt: skip


def shown(differences: Any) -> str:
    return ", ".join(f"{name} {value:.1e}" for name, value in differences._asdict().items())


def main() -> None:
    asked = sys.argv[1:] or ["passes", "parity", "typing"]
    for what, after in zip(asked, [*asked[1:], ""], strict=True):
        if what == "memory":
            memory(float(after) if after.replace(".", "").isdigit() else 10)
        elif what in ("passes", "parity", "typing"):
            {"passes": passes, "parity": parity, "typing": typing}[what]()


if __name__ == "__main__":
    main()
