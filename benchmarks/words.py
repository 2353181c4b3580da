"""An index of words: bytes a token, time of a query, and recall of the approximate search.

Run: ``python -m benchmarks.words FOLDER [FILE] [--tokens 1000000] [--layer 3]``. FILE is a text file (``.xz`` is unpacked; several: a
glob); sentences of Python's documentation unless given. The index is made in FOLDER, or opened where it is there already.
Queries are tokens of sentences that are not in the index; what is exact is a search of all tokens.
"""

from __future__ import annotations

import argparse
import time
from glob import glob
from pathlib import Path

import numpy as np

import attn_widget as aw
from benchmarks.texts import sentences

QUERIES, NEAR = 200, 10
PER_TOKEN = 4.2  # characters, about: how many sentences are taken


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--layer", type=int, default=3)
    given = parser.parse_args()
    files = sorted(glob(given.file)) if given.file else [None]  # noqa: PTH207
    texts = list(dict.fromkeys(text for file in files for text in sentences(file)))
    asked, texts = texts[:QUERIES], texts[QUERIES:]
    place = Path(given.folder)
    if not (place / "settings.lance").exists():
        ends = np.cumsum([len(text) for text in texts])
        texts = texts[: int(np.searchsorted(ends, given.tokens * PER_TOKEN))]
        started = time.perf_counter()
        made = aw.corpus.index(texts, place, layer=given.layer, tagger=None, progress=False)
        spent = time.perf_counter() - started
        print(f"made in {spent:.0f} s, {spent / made.n_tokens * 1e6:.0f} s per million tokens")
    index = aw.WordIndex.open(place)
    print(index)
    stored = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    for table in sorted(place.iterdir()):
        size = sum(file.stat().st_size for file in table.rglob("*") if file.is_file())
        inside = sum(file.stat().st_size for file in table.rglob("_indices/**/*") if file.is_file())
        print(f"  {table.name}: {size / index.n_tokens:,.1f} bytes a token, of which {inside / index.n_tokens:,.1f} the approximate index")  # fmt: skip
    print(f"{stored / index.n_tokens:,.0f} bytes a token")
    analyses = [aw.analyze(text, tagger=None, progress=False) for text in asked]
    rng = np.random.default_rng(0)
    queries = [(a, int(rng.integers(1, a.trace.n_tokens - 1))) for a in analyses]
    for analysis, token in queries[:5]:
        index.neighbors(analysis, token, NEAR)
    hits = total = 0
    spent = {False: [], True: []}
    for analysis, token in queries:
        near: list[set[tuple[int, int]]] = []
        for exact in (False, True):
            started = time.perf_counter()
            rows = index.neighbors(analysis, token, NEAR, exact=exact)
            spent[exact].append((time.perf_counter() - started) * 1000)
            near.append({(row["index"], row["position"]) for row in rows})
        hits += len(near[0] & near[1])
        total += len(near[1])
    for exact, times in spent.items():
        middle, late = np.percentile(times, [50, 95])
        name = "exact" if exact else "approximate"
        print(f"{name}: median {middle:.1f} ms a query, 95% below {late:.1f} ms")
    print(f"recall@{NEAR} over {len(queries)} tokens of other sentences: {hits / total:.3f}")
    print(f"recall@{NEAR} over 100 tokens of the index: {index.recall(NEAR):.3f}")


if __name__ == "__main__":
    main()
