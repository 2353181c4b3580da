"""Bytes of a part and of a sum, and the time of summing up and merging, of a small corpus.

Run: ``python -m benchmarks.corpus_sums [texts]`` (the embedded model, sentences of Python's own documentation
strings, without a tagger). The last lines are a model of the cost on 64 machines, from these numbers.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import time
from pathlib import Path

import attn_widget as aw
from attn_widget.features.corpus.engines.folder import Folder
from attn_widget.features.corpus.heaps import Heaps, example_names
from attn_widget.features.corpus.reading.blocks import KEYS
from attn_widget.features.corpus.totals import Totals
from attn_widget.features.corpus.totals_file import write_totals

MODULES = (
    "json",
    "re",
    "argparse",
    "subprocess",
    "logging",
    "random",
    "inspect",
    "pathlib",
    "email.message",
)
MACHINES, WORKERS = 64, 16  # of a machine


def sentences() -> list[str]:
    drawn: list[str] = []
    for name in MODULES:
        module = __import__(name, fromlist=["_"])
        for thing in vars(module).values():
            text = " ".join((inspect.getdoc(thing) or "").split())
            drawn += [one for one in re.split(r"(?<=[.!?])\s+", text) if 20 < len(one) < 160]
    return list(dict.fromkeys(drawn))


def main() -> None:
    texts = sentences()[: int(sys.argv[1]) if len(sys.argv) > 1 else 500]
    shape = (len(KEYS), 6, 12)

    def empty() -> Totals:
        return Totals(shape, 0, Heaps(example_names(KEYS), *shape[1:]))

    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        profile = aw.profile(texts, tagger=None, progress=False, folder=place)
        reading = time.perf_counter() - started
        tokens = profile.total_tokens
        parts = sorted(Path(place).glob("part-*"))
        stored = sum(part.stat().st_size for part in parts)
        characters = sum(len(text.encode()) for text in texts)
        folder = Folder(place, {})
        totals, other = empty(), empty()
        started = time.perf_counter()
        for part in parts:
            totals.add(folder.read(part.name))
        summing = time.perf_counter() - started
        started = time.perf_counter()
        other.merge(totals)
        merging = time.perf_counter() - started
        moved = sum(values.nbytes for values in totals.arrays.values())
        write_totals(Path(place) / "sums.parquet", totals, {"seed": 0})
        kept = (Path(place) / "sums.parquet").stat().st_size
    print(f"{len(texts)} texts, {tokens} tokens, {len(parts)} parts")
    print(f"reading {reading / tokens * 1e6:,.0f} s per million tokens")
    print(f"a part: {stored / tokens:,.0f} bytes a token (text {characters / tokens:.1f})")
    print(
        f"summing up {summing / tokens * 1e6:,.1f} s per million tokens, {summing / reading:.1%} of reading"
    )
    print(
        f"a sum: {moved / 1e6:.0f} MB in memory, {kept / 1e6:.0f} MB in a file; merging one {merging:.2f} s"
    )
    each = (reading + summing) / tokens / (MACHINES * WORKERS)
    print(
        f"model: {MACHINES} machines of {WORKERS} workers: {each * 1e9:,.0f} s per billion tokens, and "
        f"{MACHINES * WORKERS * merging:,.0f} s to merge {MACHINES * WORKERS} sums, whatever the corpus"
    )


if __name__ == "__main__":
    main()
