"""The first paint: `show()` beside a plain forward pass, its bytes, and the time to draw it.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.first_paint`` (bert-base shape, random weights).
All times of a row come from the same run; compare them with each other, not with another machine.
"""

from __future__ import annotations

import argparse
import base64
import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch

import attn_widget as aw
from attn_widget.widget.widget import bundle
from benchmarks.shapes import bert_base, median_ms, table, text_of, tokenizer

PAGE = """<!doctype html><meta charset="utf-8"><style>{css}</style><div id="cell" style="width:1000px"></div>
<script type="module">
import widget from "./widget.js";
const data = Uint8Array.from(atob(document.getElementById("paint").textContent), c => c.charCodeAt(0));
const values = {{layer: 0, head: 0, token: null, pair: null, metric: "thumbnails", view: "attention",
  special: true, words: false, scale: "head", theme: "light", height: null, text: "", text_pair: null,
  status: "ready", error: {{}}, first_paint: new DataView(data.buffer)}};
const model = {{get: k => values[k], set: (k, v) => {{ values[k] = v }}, save_changes() {{}}, on() {{}},
  off() {{}}, send() {{}}}};
const invoke = () => new Promise(() => {{}});
const definition = typeof widget === "function" ? await widget() : widget;
await definition.initialize?.({{model, experimental: {{invoke}}, signal: new AbortController().signal}});
performance.mark("reply");
await definition.render({{model, el: document.getElementById("cell"), experimental: {{invoke}},
  signal: new AbortController().signal}});
</script>
<script type="application/octet-stream" id="paint">{paint}</script>
"""

DRAWN = "() => performance.getEntriesByName('aw:drawn').length > 0"
ELAPSED = """() => new Promise(resolve => requestAnimationFrame(() => resolve(
  performance.getEntriesByName('aw:drawn')[0].startTime
  - performance.getEntriesByName('reply')[0].startTime)))"""


def drawn_ms(paint: bytes, repeats: int) -> float:
    """Median milliseconds in headless Chromium from the data at hand to the picture drawn."""
    import shutil

    from playwright.sync_api import sync_playwright

    times = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        root = Path(folder)
        (root / "widget.js").write_text(bundle("widget.js"))
        encoded = base64.b64encode(paint).decode()
        (root / "index.html").write_text(PAGE.format(css=bundle("widget.css"), paint=encoded))
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking",
                  "--allow-file-access-from-files"],
        )  # fmt: skip
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        for _ in range(repeats):
            page.goto((root / "index.html").as_uri())
            page.wait_for_function(DRAWN)
            times.append(page.evaluate(ELAPSED))
        browser.close()
    return statistics.median(times)


def measure(n: int, plain: Any, eager: Any, pair: tuple[Any, Any], repeats: int) -> list[str]:
    """One row of the table."""
    text = text_of(n)
    ids = pair[1](text, return_tensors="pt")
    assert ids["input_ids"].shape[1] == n

    def paint() -> bytes:
        widget = aw.show(text, model=pair, progress=False)
        packed = widget.first_paint
        widget.close()
        return packed

    with torch.inference_mode():
        base = median_ms(lambda: plain(**ids), repeats)
        full = median_ms(lambda: eager(**ids, output_attentions=True), repeats)
    shown = median_ms(paint, repeats)
    packed = paint()
    return [
        str(n),
        f"{base:.0f}",
        f"{full / base:.2f}",
        f"{shown / base:.2f}",
        f"{len(packed) / 1000:.0f}",
        f"{drawn_ms(packed, repeats):.0f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    plain, eager = bert_base("sdpa"), bert_base("eager")
    pair = (bert_base("sdpa"), tokenizer())
    rows = [measure(n, plain, eager, pair, arguments.repeats) for n in arguments.lengths]
    header = [
        "n",
        "SDPA forward, ms",
        "eager / SDPA",
        "show() / SDPA",
        "first paint, kB",
        "drawn, ms",
    ]
    print(table(header, rows))


if __name__ == "__main__":
    main()
