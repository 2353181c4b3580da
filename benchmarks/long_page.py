"""The page over a long text: script a frame while panning and zooming, a click on a token, another head, memory.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.long_page --tokens 2048 8192`` (ModernBERT's kind of layers, random
weights). Script and rendering are CPU time of the page's main thread (`main_thread`); a click is measured on the wall
clock, from the event to the ribbon painted with the token's row, the kernel's answer included. Memory: what is
reachable after a forced collection, array buffers included, when every part of the matrix has been looked at.

``--saved`` measures a saved page instead, opened from its file with the network cut: bytes, opening, every zoom level until
its tiles are there, clicks, memory, and the most that was held between two steps without a collection. ``--page FILE``
measures one that was saved before.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Browser, CDPSession, Page
from transformers import ModernBertConfig, ModernBertForMaskedLM

import attn_widget as aw
from benchmarks.main_thread import CATEGORIES, main_thread_ms
from benchmarks.shapes import table, text_of, tokenizer
from scripts.lab import chromium
from scripts.page import DRAWN, mount

FRAMES = 60
SHARP = 0.06  # standard deviation of the weights: attention about as sharp as a trained model's
SETTLE_MS = 1500
FILL_MS = 600_000
HEAD_CELL = '[data-aw-part="heads"] [data-layer="0"][data-head="{}"]'
FILLING = '[data-aw-part="layer-progress"]'

# A wheel event a frame, with Ctrl: in for the first half, out for the second; or a drag around.
MOVE = """([kind, frames]) => new Promise(done => {
  const pane = document.querySelector('.aw-long-map .aw-map-pane');
  const box = pane.getBoundingClientRect();
  const middle = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
  const mouse = {pointerId: 1, pointerType: 'mouse', button: 0, buttons: 1};
  let i = 0;
  if (kind === 'pan') pane.dispatchEvent(new PointerEvent('pointerdown', {...middle, ...mouse}));
  const step = () => {
    if (kind === 'zoom') {
      pane.dispatchEvent(new WheelEvent('wheel', {
        ...middle, deltaY: i < frames / 2 ? -25 : 25, ctrlKey: true, cancelable: true,
      }));
    } else {
      pane.dispatchEvent(new PointerEvent('pointermove', {
        ...mouse, bubbles: true,
        clientX: middle.clientX + 90 * Math.sin(i / 6), clientY: middle.clientY + 90 * Math.cos(i / 6),
      }));
    }
    if (++i < frames) requestAnimationFrame(step);
    else {
      pane.dispatchEvent(new PointerEvent('pointerup', {...middle, ...mouse}));
      requestAnimationFrame(() => requestAnimationFrame(done));
    }
  };
  requestAnimationFrame(step);
})"""
CLICK = """token => new Promise(done => {
  // Looked up again: the ribbon has other words in it once a word near its edge is chosen.
  const button = () => document.querySelector(`.aw-ribbon-token[data-token="${token}"]`);
  const start = performance.now();
  button().click();
  const look = () => button()?.getAttribute('aria-pressed') === 'true' && button().dataset.awValue !== undefined
    ? requestAnimationFrame(() => done(performance.now() - start)) : setTimeout(look, 1);
  look();
})"""
HEAD = """head => new Promise(done => {
  const drawn = () => performance.getEntriesByName('aw:drawn').length;
  const before = drawn();
  const start = performance.now();
  window.aw.model.set('head', head);
  const look = () => drawn() > before ? done(performance.now() - start) : setTimeout(look, 1);
  look();
})"""


def encoder(layers: int, heads: int) -> tuple[Any, Any]:
    torch.manual_seed(0)
    reader = tokenizer()
    reader.model_max_length = 8192
    config = ModernBertConfig(
        vocab_size=len(reader),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        hidden_size=64 * heads,
        intermediate_size=64 * heads,
        initializer_range=SHARP,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        cls_token_id=2,
        sep_token_id=3,
    )
    return ModernBertForMaskedLM(config).eval(), reader


def megabytes(session: CDPSession) -> tuple[float, float]:
    """Reachable JavaScript and array buffers, MB."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    return usage["usedSize"] / 1e6, usage.get("backingStorageSize", 0) / 1e6


def script_ms(browser: Browser, page: Page, kind: str) -> list[float]:
    """Script and rendering of a frame, CPU ms."""
    browser.start_tracing(page=page, categories=CATEGORIES)
    page.evaluate(MOVE, [kind, FRAMES])
    script, rendering = main_thread_ms(browser.stop_tracing())
    return [script / FRAMES, rendering / FRAMES]


def while_filling(browser: Browser, page: Page) -> list[str]:
    """Clicks while heads are computed: on tokens, then on another head of the grid.

    Of each, script and rendering in CPU ms, what fills the grid included, and the wall clock until the picture follows
    (median and longest); a dash where the grid was full before.
    """

    def traced(script: str, arguments: range) -> str:
        browser.start_tracing(page=page, categories=CATEGORIES)
        times = [page.evaluate(script, argument) for argument in arguments]
        work = sum(main_thread_ms(browser.stop_tracing())) / len(times)
        if not page.locator(FILLING).is_visible():
            return "–"
        return f"{work:.0f}, {statistics.median(times):.0f} ({max(times):.0f})"

    return [traced(CLICK, range(10, 20)), traced(HEAD, range(4, 5))]


def look_everywhere(page: Page) -> None:
    """Every eighth part of the text, far and near: more tiles than are kept."""
    page.locator(".aw-long-map").focus()
    for steps in (2, 4, 6):
        page.keyboard.press("0")
        for _ in range(steps):
            page.keyboard.press("+")
        for _ in range(12):
            page.keyboard.press("Shift+ArrowRight")
            page.keyboard.press("Shift+ArrowDown")
            page.wait_for_timeout(150)
    page.wait_for_timeout(SETTLE_MS)


def quiet(session: CDPSession) -> float:
    """Wait until the page has nothing more to do for a fifth of a second; ms of its tasks since it was opened."""
    done = -1.0
    while True:
        found = session.send("Performance.getMetrics")["metrics"]
        tasks = next(one["value"] for one in found if one["name"] == "TaskDuration") * 1000
        if tasks - done < 10:
            return tasks
        done = tasks
        time.sleep(0.2)


def measure_saved(path: Path) -> list[str]:
    """A saved page of a long text: see the module's documentation."""
    with chromium() as browser:
        context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1100})
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Performance.enable")
        page.goto(path.as_uri())
        page.wait_for_function(DRAWN)
        drawn = page.evaluate("() => performance.getEntriesByName('aw:drawn')[0].startTime")
        page.locator(".aw-long-map").wait_for()
        quiet(session)
        most = 0.0

        def seen() -> None:
            nonlocal most
            usage = session.send("Runtime.getHeapUsage")
            most = max(most, (usage["usedSize"] + usage.get("backingStorageSize", 0)) / 1e6)

        # A head that looks at the whole text.
        page.locator(HEAD_CELL.format(0)).first.click()
        quiet(session)
        seen()
        levels: list[str] = []
        page.locator(".aw-long-map").focus()
        page.keyboard.press("0")
        before = quiet(session)
        for _ in range(9):
            page.keyboard.press("+")
            after = quiet(session)
            seen()
            levels.append(f"{after - before:.0f}")
            before = after
        # Back to the level that is nearly the whole text: most of it is in the cache.
        page.keyboard.press("0")
        quiet(session)
        tokens = page.locator(".aw-ribbon-token")
        middle = tokens.count() // 2
        numbers = [int(tokens.nth(middle + i).get_attribute("data-token") or 0) for i in range(40)]
        clicks = [page.evaluate(CLICK, token) for token in numbers[:20]]
        browser.start_tracing(page=page, categories=CATEGORIES)
        for token in numbers[20:]:
            page.evaluate(CLICK, token)
        click = sum(main_thread_ms(browser.stop_tracing())) / 20
        seen()
        heads: list[str] = []
        for other in range(3):
            before = quiet(session)
            page.locator(HEAD_CELL.format(1 + other)).first.click()
            heads.append(f"{quiet(session) - before:.0f}")
            seen()
        zoom = script_ms(browser, page, "zoom")
        quiet(session)
        for _ in range(4):
            page.get_by_label("Zoom in", exact=True).click()
        quiet(session)
        pan = script_ms(browser, page, "pan")
        quiet(session)
        look_everywhere(page)
        seen()
        before = quiet(session)
        page.get_by_text("Display", exact=True).click()
        page.get_by_text("mean head").click()
        mean = quiet(session) - before
        seen()
        heap, buffers = megabytes(session)
        context.close()
    return [
        f"{path.stat().st_size / 1e6:.1f}",
        f"{drawn:.0f}",
        ", ".join(levels),
        *(f"{value:.1f}" for value in (*zoom, *pan)),
        f"{click:.1f}",
        f"{statistics.median(clicks):.0f} ({max(clicks):.0f})",
        ", ".join(heads),
        f"{mean:.0f}",
        f"{heap:.0f} + {buffers:.0f}",
        f"{most:.0f}",
    ]


SAVED_HEADER = [
    "page, MB",
    "drawn, ms",
    "work of each step of the zoom until its tiles are there, ms",
    "zoom: script a frame, CPU ms",
    "rendering",
    "pan: script a frame, CPU ms",
    "rendering",
    "click on a token: script and rendering, CPU ms",
    "until painted, ms (longest)",
    "work of another head, ms",
    "of the mean head",
    "heap + buffers, MB",
    "most between two steps, MB",
]


def saved_page(folder: Path, n: int, layers: int, heads: int) -> Path:
    """Save a page of all heads."""
    analysis = aw.analyze(text_of(n), model=encoder(layers, heads), progress=False)
    started = time.perf_counter()
    path = aw.AttentionWidget(analysis, layer=0, head=0).to_html(folder / f"{n}.html")
    print(f"{n} tokens: saved in {time.perf_counter() - started:.0f} s", flush=True)
    return path


def measure(n: int, layers: int, heads: int) -> list[str]:
    pair = encoder(layers, heads)
    widget = aw.show(text_of(n), model=pair, layer=0, head=0, token=5, progress=False)
    assert widget.analysis is not None and widget.analysis.trace.n_tokens == n
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 1100})
        mount(page, widget, width=1200)
        page.locator(".aw-long-map").wait_for()
        filling = while_filling(browser, page)
        # All heads of the grid are there: nothing is computed besides.
        page.locator(FILLING).wait_for(state="hidden", timeout=FILL_MS)
        page.wait_for_timeout(SETTLE_MS)
        nodes = page.evaluate("document.querySelectorAll('*').length")
        clicks = [page.evaluate(CLICK, token) for token in range(20, 40)]
        browser.start_tracing(page=page, categories=CATEGORIES)
        for token in range(40, 60):
            page.evaluate(CLICK, token)
        click = [part / 20 for part in main_thread_ms(browser.stop_tracing())]
        heads_ms = [page.evaluate(HEAD, head) for head in range(1, 4)]
        page.wait_for_timeout(SETTLE_MS)
        zoom = script_ms(browser, page, "zoom")
        for _ in range(4):
            page.get_by_label("Zoom in", exact=True).click()
        page.wait_for_timeout(SETTLE_MS)
        pan = script_ms(browser, page, "pan")
        look_everywhere(page)
        session = page.context.new_cdp_session(page)
        heap, buffers = megabytes(session)
        page.close()
    widget.close()
    return [
        str(n),
        *(f"{value:.1f}" for value in (*zoom, *pan)),
        f"{sum(click):.1f}",
        f"{statistics.median(clicks):.0f} ({max(clicks):.0f})",
        f"{statistics.median(heads_ms):.0f}",
        *filling,
        f"{heap:.0f} + {buffers:.0f}",
        str(nodes),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="The page over a long text, timed.")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 8192])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--saved", action="store_true", help="a saved page")
    parser.add_argument("--page", type=Path, nargs="+", help="saved pages that are there")
    arguments = parser.parse_args()
    if arguments.page or arguments.saved:
        with tempfile.TemporaryDirectory() as folder:
            paths = arguments.page or [
                saved_page(Path(folder), n, arguments.layers, arguments.heads)
                for n in arguments.tokens
            ]
            print(table(SAVED_HEADER, [measure_saved(path) for path in paths]))
        return
    rows = [measure(n, arguments.layers, arguments.heads) for n in arguments.tokens]
    header = [
        "n",
        "zoom: script a frame, CPU ms",
        "rendering",
        "pan: script a frame, CPU ms",
        "rendering",
        "click on a token: script and rendering, CPU ms",
        "until painted, ms (longest)",
        "another head, ms",
        "click on a token while heads fill the grid: CPU ms, until painted (longest)",
        "on a head",
        "heap + buffers, MB",
        "nodes",
    ]
    print(table(header, rows))


if __name__ == "__main__":
    main()
