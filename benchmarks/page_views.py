"""Cost of a saved page of a short text, view by view, in CPU time of plain forward passes.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.page_views`` (the embedded model; ``--model smollm2``: a decoder). A page with *Attention* alone, then
with one more view each; all of them; without Why. Each page is of a new analysis of the text; the passes take turns with the pages.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

import attn_widget as aw
from attn_widget.figures.catalog.choices import VIEWS
from benchmarks.shapes import table

TEXTS = {
    None: "The keys to the old cabinet in the hall of our house are here on the table.",
    "smollm2": "When Mary and John went to the store, John gave a drink of cold water to Mary and Sue",
}


def seconds(work: Any) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder = aw.load(*([options.model] if options.model else []), progress=False)
    text = TEXTS[options.model]
    rest = [view for view in VIEWS if view not in ("attention", "task")]
    ways: dict[str, dict[str, Any]] = {"attention": {"views": ["attention"]}}
    ways |= {view: {"views": ["attention", view]} for view in rest}
    ways |= {"all": {}, "all but why": {"why": False}}
    found: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        a = aw.analyze(text, model=encoder, progress=False)
        aw.to_html(a, path)
        for _ in range(options.rounds):
            for name, kept in ways.items():
                a = aw.analyze(text, model=encoder, progress=False)
                inputs = a.run.encoding.inputs if a.run is not None else {}
                with torch.inference_mode():
                    plain = statistics.median(
                        seconds(lambda inputs=inputs: encoder.network(**inputs)) for _ in range(5)
                    )
                started = time.process_time()
                aw.to_html(a, path, **kept)
                found[name].append((time.process_time() - started) / plain)
    middle = {name: statistics.median(ratios) for name, ratios in found.items()}
    print(
        f"{a.trace.n_tokens} tokens, {a.trace.n_layers} x {a.trace.n_heads} heads, passes of CPU time"
    )
    rows = [
        [name, f"{value:.1f}", f"{value - middle['attention']:+.1f}"]
        for name, value in middle.items()
    ]
    print(table(["page", "passes", "beyond attention"], rows))


if __name__ == "__main__":
    main()
