"""Two workers on two cores against one on one core.

Run: ``python -m benchmarks.corpus_workers [FILE] [--texts 3000]`` (the embedded model, without a tagger; sentences of Python's
documentation unless FILE is given). Starting workers and loading the model takes some seconds, however long
the corpus is; so the rate is that between the first finished part and the last. Whole calls are printed as well.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import attn_widget as aw
from attn_widget.features.corpus.engines.cluster import connected
from attn_widget.features.corpus.reading import chunks
from attn_widget.features.corpus.storage import read
from benchmarks.texts import sentences

CHUNK = 128  # texts: more parts to take the time of


def rate(texts: list[str], workers: int) -> tuple[float, float]:
    """Tokens a second once all workers read, and seconds of the whole call."""
    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        aw.profile(texts, engine="ray", workers=workers, tagger=None, progress=False, folder=place)
        spent = time.perf_counter() - started
        parts = sorted(Path(place).glob("part-*"), key=lambda part: part.stat().st_mtime_ns)
        ends = [part.stat().st_mtime_ns / 1e9 for part in parts]
        tokens = [int(read(part)[0].n_tokens.sum()) for part in parts]
    # From when each worker has made a part to when the first of them finds none left.
    first, last = workers * 2 - 1, len(parts) - workers
    return sum(tokens[first + 1 : last + 1]) / (ends[last] - ends[first]), spent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("--texts", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    texts = sentences(given.file, given.texts)
    chunks.CHUNK_TEXTS = CHUNK
    with connected(None, 2):
        for _ in range(given.rounds):
            one, two = rate(texts, 1), rate(texts, 2)
            print(
                f"1 worker {one[0]:,.0f} tokens a second, 2 workers {two[0]:,.0f}: {two[0] / one[0]:.2f} x; "
                f"whole calls {one[1]:.0f} s and {two[1]:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
