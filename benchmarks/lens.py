"""The lens against a plain pass over the same text.

Run: ``python -m benchmarks.lens`` (SmolLM2; ``--tokens 64 --model smollm2``). Lens and pass take turns, so what else the
machine does weighs on both; medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import attn_widget as aw
from attn_widget.trace.forward import inference_mode, on_device
from benchmarks.texts import sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--tokens", type=int, default=64, help="at most")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    encoder = aw.load(options.model, progress=False)
    text = ""
    for sentence in sentences(n=100, longest=120):
        longer = f"{text} {sentence}".strip()
        if encoder.encode(longer).n_tokens > options.tokens:
            break
        text = longer
    a = aw.analyze(text, model=encoder, tagger=None, progress=False)

    def plain() -> None:
        with inference_mode(encoder):
            encoder.network(**on_device(encoder, a.run.encoding.inputs))

    def lens() -> None:
        a._cache.pop(("lens", a.model.default_mode), None)
        a.lens()

    works = {"a plain pass": plain, "lens": lens}
    for work in works.values():
        work()
    rounds = [{name: timed(work) for name, work in works.items()} for _ in range(options.repeats)]
    print(f"| {encoder.name}, {a.trace.n_tokens} tokens | wall | CPU | CPU, plain passes |")
    print("|---|--:|--:|--:|")
    for name in works:
        wall, cpu = (statistics.median(one[name][k] for one in rounds) for k in (0, 1))
        ratio = statistics.median(one[name][1] / one["a plain pass"][1] for one in rounds)
        print(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {ratio:.1f} |")


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the clock, and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


if __name__ == "__main__":
    main()
