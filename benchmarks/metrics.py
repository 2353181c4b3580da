"""All thirteen metrics of all 144 heads against the plain forward pass that they describe.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.metrics`` (bert-base shape, random weights).
The weights are recomputed from queries and keys on the way, and that is counted. Forward pass and
metrics take turns, so that both meet the same machine; compare the columns of a row, not the rows.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from attn_widget.analysis import Analysis
from attn_widget.figures.specialization import SHARES, specialize
from attn_widget.model.loading import load
from attn_widget.trace.capture import capture
from benchmarks.shapes import bert_base, table, text_of, tokenizer


def thirteen(trace: Any) -> Any:
    """Six metrics and seven specializations of every head, from a trace that knows none yet.

    The tags are made up, and so not timed: words are tagged once a text, by a tagger of the user.
    """
    analysis = Analysis(trace)
    sets = {key: np.arange(trace.n_tokens) % 5 == i for i, key in enumerate(SHARES)}
    return analysis.metrics, specialize(analysis.heads.marginals, sets)


def in_turn(actions: list[Callable[[], Any]], repeats: int) -> list[float]:
    """Median milliseconds of each action, run one after the other in every repeat."""
    times: list[list[float]] = [[] for _ in actions]
    for repeat in range(repeats + 1):
        for action, taken in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            if repeat:  # the first is a warm-up
                taken.append(1000 * (time.perf_counter() - start))
    return [statistics.median(taken) for taken in times]


def peak_mb(trace: Any) -> float:
    """Most megabytes that the metrics hold beyond the trace: numpy's, and one layer of torch's."""
    tracemalloc.start()
    thirteen(trace)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # torch allocates outside of tracemalloc: a layer's scores and their softmax.
    layer = 4 * trace.n_heads * trace.n_tokens**2
    return (peak + 2 * layer) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512])
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    model, words = bert_base("sdpa"), tokenizer()
    encoder = load((model, words), progress=False)
    rows: list[list[str]] = []
    for n in arguments.lengths:
        text = text_of(n)
        ids = words(text, return_tensors="pt")
        assert ids["input_ids"].shape[1] == n
        trace = capture(encoder, encoder.encode(text))

        def forward(ids: Any = ids) -> None:
            with torch.inference_mode():
                model(**ids)

        def weights(trace: Any = trace) -> None:
            for layer in range(trace.n_layers):
                trace.layer_weights(layer)

        base, recomputed, metrics = in_turn(
            [forward, weights, lambda trace=trace: thirteen(trace)], arguments.repeats
        )
        rows.append(
            [str(n), f"{base:.0f}", f"{recomputed:.0f}", f"{metrics:.0f}", f"{metrics / base:.2f}",
             f"{peak_mb(trace):.0f}"]
        )  # fmt: skip
    header = ["n", "forward, ms", "weights, ms", "metrics, ms", "metrics / forward", "extra, MB"]
    print(table(header, rows))


if __name__ == "__main__":
    main()
