"""Equality of profiles by Ray and by the local engine, to the bit: whatever workers, order, and what is killed.

Run: ``python -m benchmarks.corpus_equal [FILE] [--texts 5000] [--longest 300] [--model tiny] --what WHAT ...``; WHAT is

``workers``
    1, 2 and 4 workers, with the chunks, and later their sums, in an order drawn by a seed.
``kills``
    20 runs; in each a process of Ray that works for it is killed at a time drawn by a seed.
``caller``
    The caller is killed by SIGKILL while it has some parts and not all, three times, and called again.

FILE is a text file (``.xz`` is unpacked); sentences of Python's documentation unless given. Compared are means,
deviations, counts, intervals and accuracies of all heads, and every example of every figure of every head with its
link: those of Ray from its bounded heaps, those of the local engine from a sort of all texts.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import attn_widget as aw
from attn_widget.features.corpus.engines import ray_engine
from attn_widget.features.corpus.engines.cluster import connected
from attn_widget.features.corpus.examples import chosen, sampled
from attn_widget.features.corpus.heaps import KEPT, SAMPLE, example_names, example_values, link_kind
from benchmarks.texts import LONGEST, sentences, tiny

WORKERS, KILLS, RESTARTS = (1, 2, 4), 20, 3
WORK = ("MapBatches", "_sum_up")  # in the titles of processes
RAY = {"engine": "ray", "tagger": None, "progress": False}


class Wanted:
    """Results of the local engine."""

    def __init__(self, profile: aw.Profile) -> None:
        self.profile = profile
        rows = profile._each
        values, observed = example_values(rows), rows.observed
        assert observed is not None and rows.digests is not None
        names = [*example_names(profile.keys), SAMPLE]
        self.cells: list[tuple[Any, ...]] = []
        for figure, name in enumerate(names):
            for layer, head in np.ndindex(profile.n_layers, profile.n_heads):
                at = (link_kind(name), layer, head)
                for lowest in (False, True)[: 1 if name == SAMPLE else 2]:
                    if name == SAMPLE:
                        places = sampled(rows.digests, profile.seed, KEPT)
                    else:
                        column = values[:, figure, layer, head]
                        places = chosen(column, rows.digests, KEPT, lowest=lowest)
                    which = None if name == SAMPLE else figure
                    links = [
                        part[(places, *at)]
                        for part in (observed.queries_at, observed.keys_at, observed.weights)
                    ]
                    self.cells.append((which, layer, head, lowest, rows.index[places], *links))

    def differences(self, result: aw.Profile) -> list[str]:
        """Names of what is not the same to the bit."""
        bad = [
            f"{name} {key}"
            for key in self.profile.keys
            for name in ("mean", "sd", "count", "interval")
            if not np.array_equal(
                getattr(self.profile, name)[key], getattr(result, name)[key], equal_nan=True
            )
        ]
        if not self.profile.patterns.equals(result.patterns):
            bad.append("patterns")
        assert result._totals is not None and result._totals.heaps is not None
        heaps = result._totals.heaps
        for figure, layer, head, lowest, *columns in self.cells:
            at = heaps.best(figure, layer, head, lowest=lowest)
            for name, values in zip(("index", "query", "key", "weight"), columns, strict=True):
                if not np.array_equal(heaps.entries[name][at], values, equal_nan=True):
                    bad.append(f"example {figure} L{layer} H{head} {name}")
        if (result.n_texts, result.total_tokens) != (
            self.profile.n_texts,
            self.profile.total_tokens,
        ):
            bad.append("numbers of texts and tokens")
        return bad

    def row(self, label: str, result: aw.Profile, seconds: float) -> None:
        bad = self.differences(result)
        said = f"{len(bad)} DIFFER: {', '.join(bad[:3])}" if bad else "equal"
        print(f"{label:<58} {seconds:>6.0f} s  {said}", flush=True)


@contextmanager
def shuffled(seed: int) -> Iterator[None]:
    """Chunks reach the workers, and parts their sums, in another order."""
    chunks, total = ray_engine._chunks, ray_engine._Run.total

    def other_chunks(*given: Any) -> Any:
        return chunks(*given).random_shuffle(seed=seed)

    def other_total(run: Any, parts: list[Any]) -> Any:
        return total(run, random.Random(seed).sample(parts, len(parts)))

    ray_engine._chunks, ray_engine._Run.total = other_chunks, other_total
    try:
        yield
    finally:
        ray_engine._chunks, ray_engine._Run.total = chunks, total


def timed(**options: Any) -> tuple[aw.Profile, float]:
    started = time.perf_counter()
    result = aw.profile(**options)
    return result, time.perf_counter() - started


def workers(wanted: Wanted, file: str, model: str | None) -> None:
    for n in WORKERS:
        with shuffled(n):
            result, spent = timed(texts=file, workers=n, model=model, **RAY)
        wanted.row(f"{n} workers, shuffled by seed {n}", result, spent)


def at_work() -> list[psutil.Process]:
    """Processes of Ray below this one that read files, read chunks or sum parts up."""
    workers: list[psutil.Process] = []
    for child in psutil.Process().children(recursive=True):
        try:
            title = " ".join(child.cmdline())
        except psutil.Error:  # it has ended
            continue
        if title.startswith("ray::") and any(name in title for name in WORK):
            workers.append(child)
    return sorted(workers, key=lambda one: one.pid)


class Kill(threading.Thread):
    """Kills a process of Ray that works, at a time that a seed draws: so many parts are there, and some moments later."""

    def __init__(self, seed: int, n_parts: int, place: str) -> None:
        super().__init__(daemon=True)
        self.draw, self.place = random.Random(seed), place
        self.parts, self.later = self.draw.randrange(n_parts), self.draw.uniform(0, 0.5)
        self.over = threading.Event()
        self.done = "over before"

    def n_parts(self) -> int:
        return len(list(Path(self.place).glob("part-*")))

    def run(self) -> None:
        started = time.perf_counter()
        while self.n_parts() < self.parts or not at_work():
            if self.over.wait(0.02):
                return
        self.over.wait(self.later)
        while not self.over.wait(0.02):
            if busy := at_work():
                process = self.draw.choice(busy)
                title = " ".join(process.cmdline())[5:35]
                os.kill(process.pid, signal.SIGKILL)
                spent = time.perf_counter() - started
                self.done = f"{title} at {spent:.1f} s, {self.n_parts()} parts"
                return


def kills(wanted: Wanted, file: str, model: str | None, seeds: Sequence[int]) -> None:
    with tempfile.TemporaryDirectory() as place:
        result, spent = timed(texts=file, workers=2, model=model, folder=place, **RAY)
        wanted.row("2 workers, none killed", result, spent)
        n_parts = len(list(Path(place).glob("part-*")))
    for seed in seeds:
        with tempfile.TemporaryDirectory() as place:
            killer = Kill(seed, n_parts, place)
            killer.start()
            result, spent = timed(texts=file, workers=2, model=model, folder=place, **RAY)
            killer.over.set()
            killer.join()
        wanted.row(f"seed {seed}: {killer.done}", result, spent)


def caller(wanted: Wanted, file: str, model: str | None) -> None:
    for seed in range(RESTARTS):
        with tempfile.TemporaryDirectory() as place:
            code = (
                "import attn_widget as aw; aw.profile("
                f"{file!r}, workers=2, model={model!r}, folder={place!r}, **{RAY!r})"
            )
            wait = random.Random(seed).randint(1, 5)
            process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
            while len(list(Path(place).glob("part-*"))) < wait and process.poll() is None:
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGKILL)  # Ray's own processes end with it
            process.wait()
            before = {p.name: p.stat().st_mtime_ns for p in Path(place).glob("part-*")}
            result, spent = timed(texts=file, workers=2, model=model, folder=place, **RAY)
            after = {p.name: p.stat().st_mtime_ns for p in Path(place).glob("part-*")}
            kept = sum(after.get(name) == at for name, at in before.items())
        label = f"killed with {len(before)} of {len(after)} parts, {kept} of them kept"
        wanted.row(label, result, spent)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--longest", type=int, default=LONGEST)
    parser.add_argument("--model", choices=["mini", "tiny"], default="mini")
    parser.add_argument(
        "--what", nargs="+", choices=["workers", "kills", "caller"], default=["workers"]
    )
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, KILLS], metavar=("FIRST", "STOP"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        file = f"{place}/texts.txt"
        texts = sentences(given.file, given.texts, given.longest)
        Path(file).write_text("\n".join(texts), encoding="utf-8")
        model = tiny(f"{place}/model") if given.model == "tiny" else None
        started = time.perf_counter()
        wanted = Wanted(aw.profile(file, tagger=None, progress=False, model=model))
        spent = time.perf_counter() - started
        print(f"{wanted.profile}: local engine {spent:.0f} s", flush=True)
        with connected(None, max(WORKERS) + 2):  # shuffling needs processors that no worker holds
            for what in given.what:
                if what == "kills":
                    kills(wanted, file, model, range(*given.seeds))
                else:
                    {"workers": workers, "caller": caller}[what](wanted, file, model)


if __name__ == "__main__":
    main()
