"""Patterns that a head may follow: for each query, the keys that are right."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Bool

POSITIONAL = ("previous", "next", "first token", "separator", "punctuation", "same word")
SPECIAL_TOKENS = ("first token", "separator")  # patterns whose keys are special tokens
OFFSETS = [k for k in range(-8, 9) if k != 0]  # fixed offsets that a pattern is compared with


def is_punctuation(piece: str) -> bool:
    """Whether every character is in one of Unicode's categories P*."""
    return all(unicodedata.category(character).startswith("P") for character in piece)


def positional_targets(ids: NDArray[Any], pieces: Sequence[str]) -> dict[str, Bool]:
    """Targets of the patterns that need no parser: bool [n, n]; a row without a target is no query.

    Parameters
    ----------
    ids : int array [n]
        With [CLS] first and [SEP] last, or the tokens that take their place.
    pieces : sequence of str
        The word pieces of ``ids``.

    Examples
    --------
    >>> targets = positional_targets(np.array([1, 7, 8, 7, 2]), ["[CLS]", "a", "b", "a", "[SEP]"])
    >>> np.argwhere(targets["same word"]).tolist()
    [[1, 3], [3, 1]]
    """
    n = len(ids)
    ordinary = np.ones(n, bool)
    ordinary[[0, -1]] = False
    both = ordinary[:, None] & ordinary[None, :]
    position = np.arange(n)
    distance = position[None, :] - position[:, None]
    marks = np.array([is_punctuation(piece) for piece in pieces]) & ordinary
    lettered = ordinary & ~marks
    same = (ids[:, None] == ids[None, :]) & (distance != 0)
    return {
        "previous": both & (distance == -1),
        "next": both & (distance == 1),
        "first token": ordinary[:, None] & (position == 0)[None, :],
        "separator": ordinary[:, None] & (position == n - 1)[None, :],
        "punctuation": lettered[:, None] & marks[None, :],
        "same word": same & lettered[:, None] & lettered[None, :],
    }


def offset_hits(targets: Bool) -> NDArray[np.int64]:
    """Hits of each fixed offset of `OFFSETS`, int [offsets]."""
    return np.array([np.diagonal(targets, k).sum() for k in OFFSETS])


def hits_of(picked: NDArray[np.int64], targets: Bool) -> NDArray[np.int64]:
    """How many queries with a target have the key that a head picked among their targets.

    Parameters
    ----------
    picked : int [..., n]
        For each query, the key with the largest weight.
    targets : bool [n, n]

    Returns
    -------
    int [...]
    """
    rows = np.flatnonzero(targets.any(1))
    return targets[rows, picked[..., rows]].sum(-1)
