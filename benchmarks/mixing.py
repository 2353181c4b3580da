"""Mixing quantities, contributions and head effects against a plain forward pass.

Run: ``OMP_WAIT_POLICY=passive python -m benchmarks.mixing`` (bert-base shape, random weights).
What is compared takes turns, so that a busy machine slows all of it alike; compare the ratios, which stand
with the quarter and three quarters of them over the rounds. The last column is how much more memory than before the
process held at most during an action (Linux; elsewhere only what exceeds all that it held before).
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

import attn_widget as aw
from attn_widget.features.why.bound_target import bind
from attn_widget.features.why.decomposition import decomposition
from attn_widget.features.why.effects import head_effects
from attn_widget.influence.mixing import mixing_layers, norms_of_heads
from benchmarks.shapes import bert_base, table, text_of, tokenizer

GOALS = {  # of the ratio to a plain forward pass, at a length
    ("norms of all heads", 128): 1,
    ("mixing", 128): 2,
    ("alti", 128): 2,
    ("decomposition", 512): 3,
    ("head effects", 32): 40,
}


def in_turns(actions: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Milliseconds of each action, round after round, after one round of warming up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            if turn:
                times[name].append(1000 * (time.perf_counter() - start))
    return times


def drain(layers: Any) -> None:
    """Compute every layer and keep none."""
    for _ in layers:
        pass


def added_memory(action: Callable[[], Any]) -> float:
    """Largest memory of the process while ``action`` ran, less that before, MB."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak (man 5 proc)
    before = most_memory()
    action()
    return most_memory() - before


def most_memory() -> float:
    """The most that this process has held since the peak was reset, MB."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def actions_of(plain: Any, a: aw.Analysis, slow: bool) -> dict[str, Callable[[], Any]]:
    """Measurements on one text."""
    run, every = a.run, range(a.trace.n_layers)
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
                action()  # what is loaded once does not count
                added[name] = added_memory(action)
            ms = in_turns(actions, arguments.repeats)
        for name, values in ms.items():
            goal = GOALS.get((name, n))
            ratios = [one / plain_ms for one, plain_ms in zip(values, ms["plain"], strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
            rows.append(
                [str(n), name, f"{statistics.median(values):.0f}", f"{middle:.2f}",
                 f"{low:.2f} to {high:.2f}", "" if goal is None else f"<= {goal}", f"{added[name]:.0f}"]
            )  # fmt: skip
    header = ["n", "what", "ms", "/ plain forward", "quartiles", "goal", "more memory, MB"]
    print(table(header, rows))


if __name__ == "__main__":
    main()
