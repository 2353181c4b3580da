"""The keys that a pattern says are right, for each query."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Bool
from attn_widget.figures.catalog.targets import RELATIONS

SPECIAL_TOKENS = ("first token", "separator")  # patterns whose keys are special tokens

_VERBS = frozenset({"VERB", "AUX"})
_GOVERNORS = {"det": frozenset({"NOUN", "PROPN"})}  # the governor's tags; verbs otherwise

OFFSETS = [k for k in range(-8, 9) if k != 0]  # fixed offsets that a pattern is compared with


class Arc(NamedTuple):
    """One dependency between two words of a text."""

    label: str  # ``"nsubj"``; the child's
    child: tuple[int, int]  # child, governor: code points ``[start, end)`` of the two words
    governor: tuple[int, int]
    governor_pos: str  # the governor's universal part of speech


def is_punctuation(piece: str) -> bool:
    """True if every character is in one of Unicode's categories P*."""
    return all(unicodedata.category(character).startswith("P") for character in piece)


def positional_targets(ids: NDArray[Any], pieces: Sequence[str]) -> dict[str, Bool]:
    """Targets of the patterns that need no parser: bool [n, n]; a row without a target is no query.

    ``ids``, int array [n]: with [CLS] first and [SEP] last, or the tokens that take their place. ``pieces``: the
    word pieces of ``ids``.

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


def relation_targets(arcs: Iterable[Arc], starts: NDArray[np.integer[Any]]) -> dict[str, Bool]:
    """Targets of `RELATIONS`, from the first piece of a word to all of another: bool [n, n].

    ``starts``, int array [n]: where each piece begins in the text, in code points; -1 for special tokens.

    >>> arcs = [Arc("nsubj", (0, 4), (5, 9), "VERB")]
    >>> targets = relation_targets(arcs, np.array([-1, 0, 5, 7, -1]))  # [CLS] cats pu ##rr [SEP]
    >>> np.argwhere(targets["subject to verb"]).tolist()
    [[1, 2], [1, 3]]
    """
    n = len(starts)
    targets = {name: np.zeros((n, n), bool) for name in RELATIONS}
    for arc in arcs:
        if arc.governor_pos not in _GOVERNORS.get(arc.label, _VERBS):
            continue
        child, governor = (
            np.flatnonzero((starts >= start) & (starts < end))
            for start, end in (arc.child, arc.governor)
        )
        if not len(child) or not len(governor):
            continue
        for name, (labels, from_governor) in RELATIONS.items():
            if arc.label in labels:
                query, keys = (governor, child) if from_governor else (child, governor)
                targets[name][query[0], keys] = True
    return targets
