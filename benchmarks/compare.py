"""Cost of a comparison: against a forward pass; size of its page, and of switching A, B and the difference there.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.compare`` (the shape of bert-base with random weights, 128 tokens; the
embedded model for the page). Every number is a ratio or a median within one run, with the smallest and the largest.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import attn_widget as aw
from attn_widget.analysis.texts import analyze
from benchmarks.shapes import bert_base, text_of, tokenizer
from scripts.lab import chromium

TOKENS = 128
PAGES = (128, 512)


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):8.1f} ({min(values):.1f} to {max(values):.1f})"


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def measure_pass(rounds: int) -> None:
    model = (bert_base(), tokenizer())
    text = text_of(TOKENS)
    other = f"yes {text.split(' ', 1)[1]}"
    passes, comparisons = [], []
    for _ in range(rounds):
        a, b = (analyze(one, model=model, tagger=None, progress=False) for one in (text, other))
        passes.append(timed(lambda: analyze(text, model=model, tagger=None, progress=False)))
        comparisons.append(timed(lambda a=a, b=b: aw.compare(a, b).distances()))
    ratios = [c / p for c, p in zip(comparisons, passes, strict=True)]
    print(f"{a.trace.n_tokens} tokens, {a.trace.n_layers} layers of {a.trace.n_heads} heads")
    print(f"a forward pass and its analysis, ms  {spread(passes)}")
    print(f"compare, distances of all heads, ms  {spread(comparisons)}")
    print(
        f"ratio                                {statistics.median(ratios):8.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )


SWITCH = """() => {
    const all = name => performance.getEntriesByName(name).map(one => one.startTime);
    const [from, to] = [all('aw:switch'), all('aw:switched')];
    return to.map((time, i) => time - from[i]);
}"""


def measure_switch(rounds: int) -> None:
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for tokens in PAGES:
            text = text_of(tokens)
            other = f"yes {text.split(' ', 1)[1]}"
            c = aw.compare(text, other, tagger=None, progress=False)
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            path = aw.to_html(c, Path(folder) / f"{tokens}.html")
            widget = aw.AttentionWidget(c.a)
            one = widget.to_html(Path(folder) / "one.html").stat().st_size
            widget.close()
            ratio = path.stat().st_size / one
            print(f"page of two runs at {c.a.trace.n_tokens} tokens, of one     {ratio:8.2f}")
            page.goto(path.as_uri())
            page.locator('[data-aw-part="difference"]').wait_for()
            page.wait_for_timeout(2000)
            for _ in range(3 * (rounds + 1)):
                page.keyboard.press("c")
                page.wait_for_timeout(300)
            every = page.evaluate(SWITCH)
            times = every[4:]
            print(
                f"first showing of the difference, A, B at {c.a.trace.n_tokens} tokens  {spread(every[:3])}"
            )
            print(
                f"switch A, B, difference at {c.a.trace.n_tokens} tokens, ms of script  {spread(times)}"
            )
            page.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    measure_pass(asked.rounds)
    measure_switch(asked.rounds)


if __name__ == "__main__":
    main()
