"""70/20/10 by group: what belongs together stays together, and each split has as many of each class."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import InputError

# Tenths of the texts, as in the report that this task comes from.
SHARES = {"train": 7, "test": 2, "validation": 1}
WORDS = re.compile(r"[^\W_]+")
# Degree modifiers by which sentences are varied; "very good" and "good" are then the same sentence.
MODIFIERS = frozenset(
    [
        "absolutely",
        "especially",
        "extremely",
        "fucking",
        "major",
        "really",
        "seriously",
        "so",
        "super",
        "total",
        "uber",
        "very",
    ]
)


def sentence_key(text: str) -> str:
    """Key that near copies of a text share: without capitals, punctuation and emphasis.

    >>> sentence_key("YAY! Another EXTREMELY good, good phone interview!!!")
    'yay another good phone interview'
    >>> sentence_key("?!")
    '?!'
    """
    words = dict.fromkeys(WORDS.findall(text.casefold()))
    return " ".join(word for word in words if word not in MODIFIERS) or text.strip()


def join_groups(texts: Sequence[str], groups: Sequence[Hashable]) -> list[int]:
    """Number the groups, those that hold near copies of one sentence as one.

    ``groups``: the same value for what belongs together. Returns: the first row of each text's group.

    >>> join_groups(["Wow!", "It broke.", "wow", "Fine."], ["a", "a", "b", "c"])
    [0, 0, 0, 3]
    """
    parent = list(range(len(texts)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    first: dict[tuple[str, Hashable], int] = {}
    for row, (text, group) in enumerate(zip(texts, groups, strict=True)):
        for key in (("group", group), ("text", sentence_key(text))):
            a, b = root(first.setdefault(key, row)), root(row)
            parent[max(a, b)] = min(a, b)
    return [root(row) for row in range(len(texts))]


def assign(
    labels: NDArray[np.int64], groups: Sequence[int], names: Sequence[str], seed: int
) -> dict[str, list[int]]:
    """Share groups out so that each split gets its part of each class, as nearly as groups allow.

    The largest group first, each to the split that it brings nearest to its part (least squares); the
    order among equals is that of a hash of seed and row, the same on every machine.

    ``labels``: int64 ndarray [n]. ``names``: splits, of `SHARES`. Returns: rows of each split, in an order that
    depends on the seed alone.
    """
    members: dict[int, list[int]] = defaultdict(list)
    for row, group in enumerate(groups):
        members[group].append(row)
    total = np.bincount(labels).tolist()
    whole = sum(SHARES[name] for name in names)
    # Texts still missing, by split and class, in units of 1 / whole of a text.
    missing = {name: [SHARES[name] * count for count in total] for name in names}
    placed: dict[str, list[int]] = {name: [] for name in names}
    for group in sorted(members, key=lambda g: (-len(members[g]), _shuffle_key(seed, g))):
        counts = np.bincount(labels[members[group]], minlength=len(total)).tolist()
        steps = [(label, whole * count) for label, count in enumerate(counts) if count]

        def cost(name: str, steps: list[tuple[int, int]] = steps) -> float:
            # Growth of (missing - step)^2 / expected.
            return sum(
                step * (step - 2 * missing[name][label]) / (SHARES[name] * total[label])
                for label, step in steps
            )

        best = min(names, key=cost)
        placed[best] += members[group]
        for label, step in steps:
            missing[best][label] -= step
    return {
        name: sorted(rows, key=lambda row: _shuffle_key(seed, row)) for name, rows in placed.items()
    }


def equal_classes(
    labels: NDArray[np.int64], placed: dict[str, list[int]], classes: Sequence[str]
) -> dict[str, list[int]]:
    """As many rows of each class in a split, and the splits in their shares: the first ones stay.

    ``labels``: int64 ndarray [n]. ``placed``: of `assign`. Returns: in the same order.
    """
    counts = {
        name: np.bincount(labels[rows], minlength=len(classes)) for name, rows in placed.items()
    }
    for name, by_class in counts.items():
        if not by_class.all():
            label = int(np.argmin(by_class))
            raise InputError(
                f"Class {classes[label]!r} has too few texts, or too few groups of them, "
                f"to stand in the {name} split: {int(np.sum(labels == label))} texts.",
                "Give more texts of it, or leave it out.",
            )
    # In tenths: the largest m with SHARES * m // 10 rows of every class in every split.
    tenths = min(
        (10 * int(by_class.min()) + 9) // SHARES[name] for name, by_class in counts.items()
    )
    taken: dict[str, list[int]] = {}
    for name, rows in placed.items():
        quota = max(1, min(int(counts[name].min()), SHARES[name] * tenths // 10))
        left = [quota] * len(classes)
        taken[name] = []
        for row in rows:
            if left[labels[row]]:
                left[labels[row]] -= 1
                taken[name].append(row)
    return taken


def _shuffle_key(seed: int, row: int) -> bytes:
    # Not a random generator's stream: those may change between versions of numpy.
    return hashlib.sha256(f"{seed}:{row}".encode()).digest()
