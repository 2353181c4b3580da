"""Memory of the caller and of a worker while Ray reads corpora of different sizes.

Run: ``python -m benchmarks.corpus_memory [--sizes 10000 50000 200000] [--model tiny]``. Each size is read by a process
of its own, from eight files of made-up sentences, with one worker. The model is a random one of 2 layers and 4
heads (``--model mini``: the embedded one, for hours): what grows would grow with texts and chunks, not with the
model. Printed is the most that was seen of memory that a process shares with no other.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

import attn_widget as aw
from benchmarks.texts import made_up, tiny

FILES = 8
EVERY = 0.5  # seconds
MB = 2**20


class Peak(threading.Thread):
    """The most memory of this process and of a worker."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.caller = self.worker = 0
        self.over = threading.Event()

    def run(self) -> None:
        me = psutil.Process()
        while not self.over.wait(EVERY):
            self.caller = max(self.caller, me.memory_full_info().uss)
            for child in me.children(recursive=True):
                try:
                    if "MapWorker" in " ".join(child.cmdline()):
                        self.worker = max(self.worker, child.memory_full_info().uss)
                except psutil.Error:  # it has ended
                    continue


def one(size: int, model: str) -> None:
    from attn_widget.features.corpus.engines.cluster import connected

    with tempfile.TemporaryDirectory() as place:
        texts = made_up(size)
        for k in range(FILES):
            Path(place, f"{k}.txt").write_text("\n".join(texts[k::FILES]))
        del texts
        given = tiny(f"{place}/model") if model == "tiny" else None
        with connected(None, 1):
            peak = Peak()
            peak.start()
            started = time.perf_counter()
            result = aw.profile(
                f"{place}/*.txt", engine="ray", workers=1, model=given, tagger=None, progress=False,
                folder=f"{place}/work",
            )  # fmt: skip
            spent = time.perf_counter() - started
            peak.over.set()
            peak.join()
        assert result.n_texts == size
    print(
        f"{size:>10,} {result.total_tokens:>12,} {peak.caller / MB:>10.0f} {peak.worker / MB:>10.0f} {spent:>8.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000, 200_000])
    parser.add_argument("--model", choices=["tiny", "mini"], default="tiny")
    parser.add_argument("--one", type=int)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.model)
        return
    print(
        f"{'texts':>10} {'tokens':>12} {'caller, MB':>10} {'worker, MB':>10} {'seconds':>8}",
        flush=True,
    )
    for size in given.sizes:
        call = [
            sys.executable,
            "-m",
            "benchmarks.corpus_memory",
            "--one",
            str(size),
            "--model",
            given.model,
        ]
        subprocess.run(call, check=True)


if __name__ == "__main__":
    main()
