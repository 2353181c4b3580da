"""Seconds of the first and of a later saved page of 8 tokens, by how torch's threads wait and how many there are.

Run: ``python -m benchmarks.threads [--busy 2] [--rounds 3]``. Each figure is of a fresh process; the ways take turns, so that what
else runs on the machine meets all of them. ``--busy``: so many loops run next to them. *spinning* is what OpenMP does by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.shapes import table

SCRIPT = """
import json, sys, time
import attn_widget as aw
def page(text):
    widget = aw.show(text, progress=False)
    started = time.perf_counter()
    widget.to_html(sys.argv[1])
    widget.close()
    return time.perf_counter() - started
first = page("the cat sat on the mat")
later = page("the dog sat on the mat")
started = time.perf_counter()
aw.analyze("word " * 400, progress=False)
print(json.dumps([first, later, time.perf_counter() - started, time.process_time()]))
"""
WAYS = {
    "as it is": {},
    "spinning": {"OMP_WAIT_POLICY": "active"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
BUSY = "while True: pass"


def run(settings: dict[str, str]) -> list[float]:
    names = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(Path(folder) / "page.html")],
            env={**kept, **settings},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    figures: dict[str, list[list[float]]] = {name: [] for name in WAYS}
    with ExitStack() as stack:
        for _ in range(options.busy):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", BUSY]))
            stack.callback(loop.kill)
        for _ in range(options.rounds):
            for name, settings in WAYS.items():
                figures[name].append(run(settings))
    print(f"{options.busy} busy loops, {os.cpu_count()} cores, median of {options.rounds}")
    middle = {name: [statistics.median(x) for x in zip(*rows, strict=True)] for name, rows in figures.items()}  # fmt: skip
    print(
        table(
            ["", "first page, s", "later page, s", "402 tokens, s", "CPU, s"],
            [[name, *(f"{x:.2f}" for x in row)] for name, row in middle.items()],
        )
    )


if __name__ == "__main__":
    main()
