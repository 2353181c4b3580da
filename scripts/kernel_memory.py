"""Memory of a kernel under the requests of `scripts.monkey`, without a browser: ``python -m scripts.kernel_memory --runs 60``.

Each run shows another text of random length, masks tokens, switches heads off and asks for slices. Printed are the resident
memory, the same after the allocator has given free pages back (`malloc_trim`), and what the program has allocated and not
freed (`mallinfo2`, of all arenas; glibc 2.33 or later). Pages that hold a few live bytes stay resident: only the last figure tells a leak.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import random
import re
import time
from pathlib import Path
from typing import Any

import attn_widget as aw

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "it",
    "purred",
    "because",
    "she",
    "had",
    "read",
    "books",
    "about",
    "old",
    "trees",
    "near",
    "our",
    "house",
]
LONGEST = 300  # words of a text
SLICES = (
    "weights",
    "scores",
    "qkv",
    "metrics",
    "predictions",
    "rollout",
    "flow",
    "mixing",
    "residuals",
    "sentences",
)
EVERY = 10  # runs between two lines


def resident() -> float:
    """Resident memory of this process, MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1000


def trimmed() -> float:
    """The same after free pages were given back."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return resident()


class MallInfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def allocated() -> float:
    """Memory that `malloc` has given out and not got back, MB."""
    mallinfo = ctypes.CDLL("libc.so.6").mallinfo2
    mallinfo.restype = MallInfo
    found = mallinfo()
    return (found.uordblks + found.hblkhd) / 1e6


def said() -> str:
    return f"{resident():.0f} MB, {trimmed():.0f} MB after trimming, {allocated():.0f} MB allocated"


def settle(widget: aw.AttentionWidget) -> None:
    while widget.status == "running":
        time.sleep(0.01)


def disturb(widget: Any, draw: random.Random) -> None:
    """One text, masks, heads off, and requests for its slices."""
    widget.act(
        {"kind": "run", "text": " ".join(draw.choices(WORDS, k=draw.randint(2, LONGEST)))}, []
    )
    settle(widget)
    widget._act({"kind": "mask", "tokens": [1]}, [])
    settle(widget)
    widget._act({"kind": "switch_off", "heads": [[draw.randrange(6), draw.randrange(12)]]}, [])
    settle(widget)
    for kind in draw.choices(SLICES, k=12):
        where = {"layer": draw.randrange(6), "head": draw.randrange(12), "token": 1, "position": 1}
        widget._slice({"kind": kind, **where}, [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    widget = aw.show("the cat sat", tagger=None, progress=False)
    print(f"begin: {said()}", flush=True)
    for number in range(1, options.runs + 1):
        disturb(widget, draw)
        if number % EVERY == 0:
            print(f"{number} runs: {said()}", flush=True)
    widget.close()
    aw.unload()
    print(f"closed: {said()}")


if __name__ == "__main__":
    main()
