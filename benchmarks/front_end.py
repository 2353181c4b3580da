"""The page in a few ratios, to compare builds with each other: first paint, another head, long texts, a saved page.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.front_end`` (random weights). Each time is divided by that of a fixed
piece of work in the same browser, the colors of 2,048 x 2,048 cells (``bare`` of `head_switch`), so that ratios of two
machines can be compared. Milliseconds are medians, of the wall clock or of the main thread's CPU time as the name says.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from playwright.sync_api import Browser

import attn_widget as aw
from benchmarks.first_paint import drawn_ms
from benchmarks.head_switch import BARE, cached_ms
from benchmarks.long_page import FILL_MS, FILLING, HEAD, SETTLE_MS, encoder, script_ms
from benchmarks.saved_page import opened_ms
from benchmarks.shapes import bert_base, table, text_of, tokenizer
from scripts.lab import chromium
from scripts.page import mount

REPEATS = 5
WIDTH, HEIGHT = 1200, 1100


def bare_ms(browser: Browser) -> float:
    """The fixed piece of work, ms."""
    page = browser.new_page()
    found = statistics.median(page.evaluate(BARE, 2048) for _ in range(REPEATS))
    page.close()
    return found


def short(browser: Browser, widget: aw.AttentionWidget, n: int) -> Iterator[tuple[str, float]]:
    """A switch between heads that the page holds."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    mount(page, widget, width=WIDTH)
    script, rendering, done = cached_ms(browser, page, REPEATS)
    yield f"{n} tokens: another head, script (CPU)", script
    yield f"{n} tokens: another head, rendering (CPU)", rendering
    yield f"{n} tokens: another head, until done", done
    page.close()


def long(browser: Browser, n: int) -> Iterator[tuple[str, float]]:
    """A text drawn by tiles: another head, and a frame while zooming."""
    widget = aw.show(text_of(n), model=encoder(2, 4), layer=0, head=0, token=5, progress=False)
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    mount(page, widget, width=WIDTH)
    page.locator(".aw-long-map").wait_for()
    page.locator(FILLING).wait_for(state="hidden", timeout=FILL_MS)
    page.wait_for_timeout(SETTLE_MS)
    heads = [page.evaluate(HEAD, head) for head in (1, 2, 3)]
    yield f"{n} tokens: another head", statistics.median(heads)
    page.wait_for_timeout(SETTLE_MS)
    script, rendering = script_ms(browser, page, "zoom")
    yield f"{n} tokens: a frame of the zoom, script (CPU)", script
    yield f"{n} tokens: a frame of the zoom, rendering (CPU)", rendering
    page.close()
    widget.close()


def main() -> None:
    torch.set_num_threads(2)
    pair = (bert_base(), tokenizer())
    times: list[tuple[str, float]] = []
    for n in (32, 512):
        widget = aw.show(text_of(n), model=pair, layer=6, head=0, token=5, progress=False)
        times.append((f"{n} tokens: first paint", drawn_ms(widget, REPEATS)))
        with chromium() as browser:
            times += short(browser, widget, n)
            with tempfile.TemporaryDirectory() as folder:
                path = widget.to_html(Path(folder) / "page.html")
                times.append((f"{n} tokens: saved page opened", opened_ms(browser, path, REPEATS)))
        widget.close()
    with chromium() as browser:
        times += long(browser, 8192)
        bare = bare_ms(browser)
    rows = [[name, f"{ms:.1f}", f"{ms / bare:.2f}"] for name, ms in times]
    print(table(["what", "ms", f"ratio to bare ({bare:.1f} ms)"], rows))


if __name__ == "__main__":
    main()
