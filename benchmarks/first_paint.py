"""The first paint: `show()` against a plain forward pass, its bytes, and the time to draw it.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.first_paint`` (bert-base shape, random weights).
All times of a row come from the same run; compare them with each other, not with another machine.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import torch

import attn_widget as aw
from benchmarks.shapes import bert_base, median_ms, table, text_of, tokenizer
from scripts.lab import chromium
from scripts.page import milliseconds_to_drawn, mount


def drawn_ms(widget: aw.AttentionWidget, repeats: int) -> float:
    """Median milliseconds in headless Chromium from the data at hand to the picture drawn."""
    times: list[float] = []
    with chromium() as browser:
        for _ in range(repeats):
            page = browser.new_page(viewport={"width": 1100, "height": 900})
            mount(page, widget)
            times.append(milliseconds_to_drawn(page))
            page.close()
    return statistics.median(times)


def measure(n: int, plain: Any, eager: Any, pair: tuple[Any, Any], repeats: int) -> list[str]:
    """One row of the table."""
    text = text_of(n)
    ids = pair[1](text, return_tensors="pt")
    assert ids["input_ids"].shape[1] == n

    def paint() -> None:
        aw.show(text, model=pair, progress=False).close()

    with torch.inference_mode():
        base = median_ms(lambda: plain(**ids), repeats)
        full = median_ms(lambda: eager(**ids, output_attentions=True), repeats)
    shown = median_ms(paint, repeats)
    widget = aw.show(text, model=pair, progress=False)
    drawn = drawn_ms(widget, repeats)
    size = len(widget.first_paint)
    widget.close()
    return [
        str(n),
        f"{base:.0f}",
        f"{full / base:.2f}",
        f"{shown / base:.2f}",
        f"{size / 1000:.0f}",
        f"{drawn:.0f}",
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
