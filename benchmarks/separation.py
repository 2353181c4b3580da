"""Chance, where a head divides a picture: maps of noise, and groups of patches in any order ([images](../docs/images.md)).

Run: ``python -m benchmarks.separation`` (half a minute); the counts of the documentation: ``--maps 100000 --orders 50000000`` (two hours).
First table: the mean separation of maps of normal noise, and what the page names as chance. Second table: of groups of 5% to 50% of the patches in any order
how many hang together more than `attn_widget.features.images.patterns.needed` asks, and the distance from chance that comes closest to what is asked.
"""

from __future__ import annotations

import argparse

import numpy as np

from attn_widget.features.images.patterns import (
    LEAST,
    morans,
    needed,
    separated,
)
from benchmarks.shapes import table

NOISE, ORDERED = (3, 4, 5, 7, 10, 16), (4, 7, 14, 16, 24)  # patches in a row and in a column
SIZES = 10  # of groups, from `LEAST` of the patches to half of them
CELLS = 4_000_000  # at once


def chance_separation(count: int) -> float:
    """Separation of ``count`` normal numbers, on average: 2 / pi of many.

    Means of 100,000 simulated maps of 9 to 256 patches lie within 0.003 of it.

    >>> [round(chance_separation(count), 2) for count in (9, 16, 49, 256)]
    [0.75, 0.7, 0.66, 0.64]
    """
    return min(1.0, 2 / np.pi + 1 / count)


def chunks(count: int, side: int) -> list[int]:
    """``count`` maps in parts of `CELLS` patches."""
    most = max(1, CELLS // side**2)
    return [most] * (count // most) + [count % most] * (count % most > 0)


def noise(side: int, count: int, rng: np.random.Generator) -> list[str]:
    """Mean separation of ``count`` maps whose logarithms are normal, and what is named as chance."""
    total = 0.0
    for part in chunks(count, side):
        maps = np.exp(rng.standard_normal((part, side**2), np.float32))
        total += float(separated(maps, side, side).separation.sum(dtype=np.float64))
    chance = chance_separation(side**2)
    found = total / count
    return [f"{side} × {side}", f"{found:.4f}", f"{chance:.4f}", f"{found - chance:+.4f}"]


def orders(side: int, count: int, rng: np.random.Generator) -> list[str]:
    """Number of ``count`` groups in any order that are above what is asked, and the one that comes closest."""
    least = max(1, int(np.ceil(LEAST * side**2)))
    sizes = np.unique(np.linspace(least, side**2 // 2, SIZES).round().astype(int))
    above, drawn, closest = 0, 0, (-np.inf, 0.0, 0.0)
    for size in sizes:
        asked = float(needed(np.array([size]), side, side)[0])
        for part in chunks(count // len(sizes), side):
            groups = np.zeros((part, side**2), np.uint8)
            groups[:, :size] = 1
            rng.permuted(groups, axis=1, out=groups)
            _, apart = morans(groups.astype(np.float64), side, side)
            above, drawn = above + int((apart > asked).sum()), drawn + part
            closest = max(closest, (apart.max() - asked, apart.max(), asked))
    _, most, asked = closest
    return [f"{side} × {side}", f"{drawn:,}", str(above), f"{most:.2f}", f"{asked:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--maps", type=int, default=10_000)
    parser.add_argument("--orders", type=int, default=200_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    header = ["patches", "separation of noise", "named", "difference"]
    print(table(header, [noise(side, options.maps, rng) for side in NOISE]), "\n", flush=True)
    header = ["patches", "orders", "above", "closest to what is asked", "asked there"]
    print(table(header, [orders(side, options.orders, rng) for side in ORDERED]))


if __name__ == "__main__":
    main()
