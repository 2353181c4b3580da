"""Sentences of a few words, drawn by a seed."""

from __future__ import annotations

import numpy as np

WORDS = [
    "the", "cat", "dog", "sat", "on", "a", "mat", "and", "saw", "red", "house", "when", "it", "rained", "in", "Paris",
    "because", "she", "ran",
]  # fmt: skip


def corpus(n: int, most: int = 12, seed: int = 3) -> list[str]:
    """``n`` sentences of 2 words and more, of fewer than ``most``."""
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, draw.integers(2, most))) + "." for _ in range(n)]
