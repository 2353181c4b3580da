"""Another head on screen: script time of a switch, the wait when the kernel must be asked, frames while panning.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.head_switch`` (bert-base shape, random weights;
``--decoder``: SmolLM2's shape, 270 heads with a causal mask, without JupyterLab).
The whole widget is drawn: ribbon, grid, heatmap, flow, lists. All figures of a row come from the same
run; script and rendering are CPU time of the main thread (`main_thread`); *bare* is the least that any page must do with the same matrix: ``putImageData`` of n x n colors.
The wait for the kernel is measured in JupyterLab, with the embedded model.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import torch
from playwright.sync_api import Browser, Page

import attn_widget as aw
from benchmarks.main_thread import CATEGORIES, main_thread_ms
from benchmarks.shapes import bert_base, smollm2_135m, table, text_of, tokenizer
from scripts.lab import Lab, chromium, jupyterlab
from scripts.page import mount

LAYER = 6
"""Heads that are visited before, whose weights the page holds."""
CACHED = (2, 3, 4, 5)
"""Time for the neighbors of a head to be fetched ahead (ms)."""
SETTLE_MS = 600
FRAMES = 120

SWITCH = """head => new Promise(done => {
  const drawn = () => performance.getEntriesByName('aw:drawn').length;
  const before = drawn();
  const start = performance.now();
  window.aw.model.set('head', head);
  const look = () => drawn() > before
    ? done(performance.getEntriesByName('aw:drawn').at(-1).startTime - start)
    : requestAnimationFrame(look);
  look();
})"""
# The work after a choice of cached weights runs in promise jobs, before the next message.
SCRIPT = """head => new Promise(done => {
  const {port1, port2} = new MessageChannel();
  const start = performance.now();
  port1.onmessage = () => {
    const took = performance.now() - start;
    requestAnimationFrame(() => requestAnimationFrame(() => done(took)));
  };
  window.aw.model.set('head', head);
  port2.postMessage(null);
})"""
BARE = """n => {
  const values = Float32Array.from({length: n * n}, (_, i) => (i % 97) / 97);
  const words = Uint32Array.from({length: 256}, (_, i) => 0xff000000 | (i * 0x010101));
  const canvas = Object.assign(document.createElement('canvas'), {width: n, height: n});
  const context = canvas.getContext('2d');
  const times = [];
  for (let i = 0; i < 20; i++) {
    const start = performance.now();
    const image = context.createImageData(n, n);
    const pixels = new Uint32Array(image.data.buffer);
    for (let k = 0; k < pixels.length; k++) pixels[k] = words[Math.round(values[k] * 255)];
    context.putImageData(image, 0, 0);
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[10];
}"""
PICK = """([layer, head]) => new Promise(done => {
  const drawn = () => performance.getEntriesByName('aw:drawn').length;
  const before = drawn();
  const start = performance.now();
  document.querySelector(`.attn-widget [data-layer="${layer}"][data-head="${head}"]`).click();
  const look = () => drawn() > before
    ? done(performance.getEntriesByName('aw:drawn').at(-1).startTime - start)
    : requestAnimationFrame(look);
  look();
})"""
PAN = """frames => new Promise(done => {
  const pane = document.querySelector('.aw-map-pane');
  const box = pane.getBoundingClientRect();
  const times = [];
  const step = now => {
    times.push(now);
    const turn = times.length / 20;
    pane.dispatchEvent(new PointerEvent('pointermove', {
      bubbles: true, pointerId: 1, pointerType: 'mouse', buttons: 1,
      clientX: box.x + box.width / 2 + 80 * Math.sin(turn),
      clientY: box.y + box.height / 2 + 60 * Math.cos(turn),
    }));
    if (times.length <= frames) requestAnimationFrame(step);
    else done(times);
  };
  requestAnimationFrame(step);
})"""


def cached_ms(browser: Browser, page: Page, repeats: int) -> list[float]:
    """A switch between heads that the page holds, ms: script, rendering (both CPU time), and until all is done.

    The first two are means over the repeats (`benchmarks.main_thread`); the last is the median of the wall
    clock until the promise jobs have run, with the layout that they force.
    """
    for head in CACHED:
        page.evaluate(SWITCH, head)
        page.wait_for_timeout(SETTLE_MS)
    for head in CACHED:
        page.evaluate(SCRIPT, head)
    wall: list[float] = []
    browser.start_tracing(page=page, categories=CATEGORIES)
    for i in range(repeats):
        page.wait_for_timeout(SETTLE_MS / 2)
        wall.append(page.evaluate(SCRIPT, CACHED[i % len(CACHED)]))
    page.wait_for_timeout(SETTLE_MS / 2)
    script, rendering = main_thread_ms(browser.stop_tracing())
    return [script / repeats, rendering / repeats, statistics.median(wall)]


def kernel_ms(lab: Lab, browser: Browser, n: int) -> float:
    """From the click on a head to its picture in JupyterLab, its weights fetched from the kernel, ms."""
    cell = (
        "import attn_widget as aw\n"
        f"w = aw.show({text_of(n)!r}, layer=0, head=0, token=5, progress=False)"
    )
    notebook = lab.open(browser, lab.write(f"head_switch_{n}.ipynb", [cell]), width=1240)
    notebook.run_all()
    notebook.widget(0).wait_drawn()
    waits: list[float] = []
    for layer in range(1, 5):
        # Two heads and more away: nothing fetched them ahead.
        for head in (2, 5, 8, 11):
            notebook.page.wait_for_timeout(SETTLE_MS)
            waits.append(notebook.page.evaluate(PICK, [layer, head]))
    notebook.close()
    return statistics.median(waits)


def frames_per_second(page: Page) -> tuple[float, float]:
    """Frames a second while a map at three times its size is dragged, and the longest frame, ms."""
    page.locator('[data-aw-part="display"]').click()
    for _ in range(2):
        page.get_by_label("Zoom in", exact=True).click()
    page.keyboard.press("Escape")
    pane = page.locator(".aw-map-pane").bounding_box()
    assert pane is not None
    page.mouse.move(pane["x"] + pane["width"] / 2, pane["y"] + pane["height"] / 2)
    page.mouse.down()
    times: list[float] = page.evaluate(PAN, FRAMES)
    page.mouse.up()
    frames = [after - before for before, after in pairwise(times)]
    return 1000 / statistics.mean(frames), max(frames)


def measure(n: int, pair: tuple[Any, Any], repeats: int, lab: Lab | None) -> list[str]:
    """One row of the table; without ``lab`` no wait for a kernel."""
    widget = aw.show(text_of(n), model=pair, layer=LAYER, head=0, token=5, progress=False)
    assert widget.analysis is not None and widget.analysis.trace.n_tokens == n
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        mount(page, widget, width=1200)
        page.wait_for_timeout(1000)
        bare = page.evaluate(BARE, n)
        switch = cached_ms(browser, page, repeats)
        rate, longest = frames_per_second(page)
        page.close()
        wait = float("nan") if lab is None else kernel_ms(lab, browser, n)
    widget.close()
    figures = [bare, *switch, wait]
    return [str(n), *(f"{figure:.1f}" for figure in figures), f"{rate:.0f}", f"{longest:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Another head on screen, timed.")
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512])
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--decoder", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    pair = (smollm2_135m() if arguments.decoder else bert_base("sdpa"), tokenizer())
    with nullcontext() if arguments.decoder else jupyterlab() as lab:
        rows = [measure(n, pair, arguments.repeats, lab) for n in arguments.lengths]
    header = [
        "n",
        "bare picture, ms",
        "switch: script, CPU ms",
        "switch: rendering, CPU ms",
        "switch: until done, ms",
        "switch from kernel, ms",
        "panning, frames/s",
        "longest frame, ms",
    ]
    print(table(header, rows))


if __name__ == "__main__":
    main()
