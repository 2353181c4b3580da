"""Mixing quantities, contributions and head effects beside a plain forward pass.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.mixing`` (bert-base shape, random weights).
What is compared takes turns, so that a busy machine slows all of it alike; compare the ratios. The last
column is by how much an action raised the most memory that the process had held until then.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import attn_widget as aw
from attn_widget.influence.bound_target import bind
from attn_widget.influence.decomposition import decomposition
from attn_widget.influence.effects import head_effects
from attn_widget.influence.mixing import mixing_layers, norms_of_heads
from benchmarks.shapes import bert_base, table, text_of, tokenizer

GOALS = {  # of the ratio to a plain forward pass, at a length
    ("norms of all heads", 128): 1,
    ("mixing", 128): 2,
    ("alti", 128): 2,
    ("decomposition", 512): 3,
    ("head effects", 32): 40,
}


def in_turns(actions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median milliseconds of each action; round after round, after one round of warming up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            if turn:
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def drain(layers: Any) -> None:
    """Compute every layer and keep none."""
    for _ in layers:
        pass


def most_memory() -> float:
    """The most that this process has held, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def actions_of(plain: Any, a: aw.Analysis, slow: bool) -> dict[str, Callable[[], Any]]:
    """Measurements on one text."""
    run, every = a.run, range(a.n_layers)
    assert run is not None
    target = aw.target(position=3, token="are", against="is", masked=True)
    bound = bind(run, target)
    actions: dict[str, Callable[[], Any]] = {
        "plain": lambda: plain(**run.encoding.inputs),
        "norms of all heads": lambda: drain(norms_of_heads(run, layer) for layer in every),
        "norms": lambda: drain(mixing_layers(run, "norms", every)),
        "mixing": lambda: drain(mixing_layers(run, "mixing", every)),
        "alti": lambda: drain(mixing_layers(run, "alti", every)),
        "decomposition": lambda: decomposition(run, bound),
    }
    if slow:
        actions["value zeroing"] = lambda: drain(mixing_layers(run, "value_zeroing", every))
        actions["head effects"] = lambda: head_effects(run, target, bound, "zero")
    return actions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[32, 128, 512])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--slow", action="store_true", help="value zeroing, head effects at any length"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(2)
    plain, words = bert_base("sdpa"), tokenizer()
    rows = []
    for n in arguments.lengths:
        a = aw.analyze(text_of(n), model=(plain, words), tagger=None, progress=False)
        actions = actions_of(plain, a, slow=arguments.slow or n <= 32)
        added: dict[str, float] = {}
        with torch.no_grad():
            for name, action in actions.items():
                before = most_memory()
                action()
                added[name] = most_memory() - before
            ms = in_turns(actions, arguments.repeats)
        for name, value in ms.items():
            goal = GOALS.get((name, n))
            rows.append(
                [str(n), name, f"{value:.0f}", f"{value / ms['plain']:.2f}",
                 "" if goal is None else f"<= {goal}", f"{added[name]:.0f}"]
            )  # fmt: skip
    print(table(["n", "what", "ms", "/ plain forward", "goal", "new peak, MB"], rows))


if __name__ == "__main__":
    main()
