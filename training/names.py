"""Proper names, and the sentences that say something of them.

A name of what a sentence is about is worth more as an answer than a word drawn at random (salient span masking:
Guu et al. 2020, https://arxiv.org/abs/2002.08909): "Paris" is seen, "France" is asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np

INSIDE = re.compile(r"(?<=[a-z,] )[A-Za-z][a-z]+")  # a word that does not begin its sentence
FEWEST = 5  # times that a name is written with a capital
SHARE = 0.9  # of its occurrences, at least
COPULAS = (2001, 2003, 2020, 2024)  # was, is, were, are, in bert-base-uncased's vocabulary
DETERMINERS = (1037, 1996, 2019, 2028)  # a, the, an, one
LONGEST = 48  # word pieces of a sentence


class NameCounter:
    """Counts how often a word inside a sentence is written with a capital.

    Examples
    --------
    >>> counter = NameCounter()
    >>> counter.add(["He saw Paris, then the town of Paris again."] * 3)
    >>> counter.ids({"paris": 7, "town": 8}).tolist()
    [7]
    """

    def __init__(self) -> None:
        self._capital: Counter[str] = Counter()
        self._small: Counter[str] = Counter()

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            for word in INSIDE.findall(text):
                counts = self._capital if word[0].isupper() else self._small
                counts[word.lower()] += 1

    def ids(self, vocabulary: dict[str, int]) -> np.ndarray:
        """Ids of the words that are names, uint16, ascending."""
        names = (
            vocabulary[word]
            for word, count in self._capital.items()
            if word in vocabulary and count >= max(FEWEST, SHARE * (count + self._small[word]))
        )
        return np.array(sorted(names), dtype=np.uint16)


def naming_sentences(
    tokens: np.ndarray, sentences: np.ndarray, is_name: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sentences of at most `LONGEST` pieces with names in them.

    Parameters
    ----------
    tokens : uint16 array [total]
    sentences : int64 array [n + 1]
        Where each sentence begins in ``tokens``.
    is_name : bool array [65,536]

    Returns
    -------
    named, defined : int64 arrays
        Indices of the sentences with two names at least; and of those that say what a name is: a
        name, then "is the" or the like, then a name.

    Examples
    --------
    >>> is_name = np.arange(1 << 16) >= 5000
    >>> paris, france, ran = 5001, 5002, 4000
    >>> tokens = np.array([paris, 2003, 1996, france, paris, ran, france], np.uint16)
    >>> named, defined = naming_sentences(tokens, np.array([0, 4, 7]), is_name)
    >>> named.tolist(), defined.tolist()
    ([0, 1], [0])
    """
    fits = np.diff(sentences) <= LONGEST
    names_until = np.concatenate([[0], np.cumsum(is_name[tokens])])
    named = names_until[sentences[1:]] - names_until[sentences[:-1]] >= 2
    says = np.isin(tokens[:-1], COPULAS) & np.isin(tokens[1:], DETERMINERS)
    at = np.flatnonzero(says)
    of = np.searchsorted(sentences, at, side="right") - 1
    of, first = np.unique(of, return_index=True)
    at = at[first]
    before = names_until[at] > names_until[sentences[of]]
    after = names_until[sentences[of + 1]] > names_until[at]
    return np.flatnonzero(fits & named), of[before & after & fits[of]]
