"""Surprisal of tokens and words, from the logits of a language model.

A tokenizer whose tokens begin with a space ends a word only where the next one begins: the model may go on with ``s`` after
``the cat``. The probability of a word w after a context c is therefore (Pimentel and Meister 2024, equation 9)

    p(w | c) = p(tokens of w | c) * B(c w) / B(c),

B being the probability that a token that begins a word, or the end of the text, comes next. Before a word whose first token
does not begin with a space, as the first of a text, B(c) is the probability of all other tokens.

References
----------
Pimentel and Meister (2024), "How to Compute the Probability of a Word", EMNLP.

Oh and Schuler (2024), "Leading Whitespaces of Language Models' Subword Vocabulary Pose a Confound for Calculating Word
Probabilities", EMNLP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.surprisal.words import Word

Float64 = NDArray[np.float64]
BIT = math.log(2)  # nats
CACHED_ROWS = 8  # of the vocabulary at a time: a core's cache holds them
LEAST = -1e30


@dataclass(frozen=True)
class Rows:
    """Expectations of the model at some positions, in nats.

    Attributes
    ----------
    surprisal : float64 [rows]
        Of the token that comes.
    entropy : float64 [rows]
        Of the distribution over the vocabulary.
    begins, goes_on : float64 [rows]
        ``-log`` of the probability that a word begins (or the text ends) here, and that it does not; NaN without a vocabulary
        that marks beginnings.
    """

    surprisal: Float64
    entropy: Float64
    begins: Float64
    goes_on: Float64

    @staticmethod
    def join(parts: list[Rows]) -> Rows:
        """All rows."""
        names = ("surprisal", "entropy", "begins", "goes_on")
        return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def take(self, rows: Any) -> Rows:
        """Some rows, by a slice or indices."""
        return Rows(*(values[rows] for values in vars(self).values()))


def expected(logits: Any, ids: Any, begins: Any) -> Rows:
    """`Rows` of logits.

    Parameters
    ----------
    logits : tensor [rows, vocabulary]
    ids : int64 tensor [rows]
        The tokens that come.
    begins : float32 tensor [2, vocabulary], or None
        1 for entries that begin a word, and for those that do not.

    Returns
    -------
    Rows
        To some 1e-7 of a bit.
    """
    parts = [
        _few(logits[first : first + CACHED_ROWS], ids[first : first + CACHED_ROWS], begins)
        for first in range(0, len(logits), CACHED_ROWS)
    ]
    return Rows.join(parts)


def _few(logits: Any, ids: Any, begins: Any) -> Rows:
    import torch

    below = logits.float()
    below = below - below.max(dim=-1, keepdim=True).values
    own = below.gather(1, ids[:, None])[:, 0].double()
    odds = below.exp()
    # Sums of torch are made in a cascade: 49,152 numbers of 24 bits lose none of them.
    total = odds.sum(dim=-1).double()
    log_total = total.log()
    # An entry that cannot come, at minus infinity, adds nothing.
    mean = below.clamp_min_(LEAST).mul_(odds).sum(dim=-1).double() / total
    if begins is None:
        split = torch.full((2, len(below)), torch.nan, dtype=torch.float64)
    else:
        split = torch.stack(
            [log_total - (odds * some).sum(dim=-1).double().log() for some in begins]
        )
    columns = (log_total - own, log_total - mean, split[0], split[1])
    return Rows(*(column.cpu().numpy() for column in columns))


def of_words(rows: Rows, words: list[Word], spaced: list[bool] | None) -> Float64:
    """Surprisal of words and entropy before them, in bits, float64 [words, 2].

    Parameters
    ----------
    rows : Rows
        Row t is of token t; the first is NaN where nothing predicts it. There is one more than there are tokens: what is
        expected after the last one.
    words : list of Word
        Their tokens are numbered as the rows.
    spaced : list of bool, optional
        Whether the first token of each word begins with a space; None: no correction, surprisals are sums over tokens.
    """
    found = np.full((len(words), 2), np.nan)
    for k, word in enumerate(words):
        nats = rows.surprisal[word.first : word.last].sum()
        if spaced is not None:
            before = rows.begins if spaced[k] else rows.goes_on
            nats += rows.begins[word.last] - before[word.first]
        found[k] = nats / BIT, rows.entropy[word.first] / BIT
    return found
