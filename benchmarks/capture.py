"""Capturing against a plain forward pass: time, and what the trace holds.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.capture`` (bert-base shape, random weights; ``--model smollm2``: a
decoder, ``--model gpt2-shape``: one with random weights, both without the eager pass).
The passes of a row take turns, so that a busy machine slows all of them alike; compare the ratios. The one of
processor seconds is the steadier one where other jobs want the cores.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import attn_widget as aw
from attn_widget.trace.capture import capture
from benchmarks.shapes import bert_base, gpt2, table, text_of, tokenizer

GPT2 = "gpt2-shape"


def in_turns(
    actions: dict[str, Callable[[], Any]], repeats: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Median milliseconds of each action, by the wall clock and of the processor; a round of warming up is left out."""
    clocks = (time.perf_counter, time.process_time)
    times: dict[str, list[list[float]]] = {name: [] for name in actions}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            start = [clock() for clock in clocks]
            action()
            taken = [1000 * (clock() - at) for clock, at in zip(clocks, start, strict=True)]
            if turn:
                times[name].append(taken)
    wall, processor = (
        {name: statistics.median(taken[of] for taken in rounds) for name, rounds in times.items()}
        for of in (0, 1)
    )
    return wall, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--model", default=None, help=f"as load() takes it, or {GPT2}")
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    if arguments.model is None:
        plain, eager = bert_base("sdpa"), bert_base("eager")
        encoder = aw.load((plain, tokenizer()))
    else:
        named: Any = (gpt2(), tokenizer()) if arguments.model == GPT2 else arguments.model
        encoder = aw.load(named, progress=False)
        plain = eager = encoder.model
    rows = []
    for n in arguments.lengths:
        encoding = encoder.encode(text_of(n))
        trace = capture(encoder, encoding)
        with torch.no_grad():
            ms, processor = in_turns(
                {
                    "plain": lambda encoding=encoding: plain(**encoding.inputs),
                    "eager": lambda encoding=encoding: (
                        eager is not plain
                        and eager(
                            **encoding.inputs, output_attentions=True, output_hidden_states=True
                        )
                    ),
                    # With all logits, which the plain pass computes, too: of 512 tokens they are not kept.
                    "capture": lambda encoding=encoding: capture(encoder, encoding).logits_tensor(),
                    "all weights": lambda trace=trace: [
                        trace.layer_weights(layer) for layer in range(trace.n_layers)
                    ],
                    "one head": lambda trace=trace: trace.weights(5, 5),
                },
                arguments.repeats,
            )
        base = ms["plain"]
        slow = f"{ms['eager'] / base:.2f}" if eager is not plain else ""
        rows.append(
            [str(encoding.n_tokens), f"{base:.0f}", slow, f"{ms['capture'] / base:.2f}",
             f"{processor['capture'] / processor['plain']:.2f}",
             f"{ms['all weights'] / base:.2f}", f"{ms['one head']:.2f}", f"{trace.nbytes / 1e6:.1f}"]
        )  # fmt: skip
    header = ["n", "SDPA forward, ms", "eager with attentions / SDPA", "capture / SDPA", "by processor time",
              "all layers' weights / SDPA", "one head, ms", "trace, MB"]  # fmt: skip
    print(table(header, rows))


if __name__ == "__main__":
    main()
