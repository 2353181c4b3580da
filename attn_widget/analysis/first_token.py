"""Attention of the first token in the last layers: words, and the share of special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attn_widget.analysis.merge import group_tokens
from attn_widget.figures.arrays import Float32, Head
from attn_widget.model.tokens import Token
from attn_widget.trace import Trace

LAST_LAYERS = 6  # docs/definitions.md, section 9


@dataclass(frozen=True)
class FirstToken:
    """One row a layer: the attention of the first token (``[CLS]``, ``<s>``), the query.

    Attributes
    ----------
    head : int or "mean"
    layers : tuple of int, length k
        The last six, or all of a model with fewer.
    positions : tuple of str, length m
        Words as they stand in the text, or tokens as the tokenizer has them.
    tokens : tuple of (int, int), length m
        ``[first, end)``: the tokens of each position.
    weights : float32 [k, m]
        A word's weight is the sum over its tokens.
    special : float32 [k]
        What special tokens receive together, with tokens of mere white space, which are no words
        either: ``weights.sum(axis=1) + special`` is 1. Where positions are tokens, all of them are
        there and this is 0.
    """

    head: Head
    layers: tuple[int, ...]
    positions: tuple[str, ...]
    tokens: tuple[tuple[int, int], ...]
    weights: Float32
    special: Float32

    def __repr__(self) -> str:
        last = f"L{self.layers[0]} to L{self.layers[-1]}"
        return f"FirstToken({last}, head {self.head}, {len(self.positions)} positions)"


def last_layers(n_layers: int) -> range:
    """The layers that are shown: the last six."""
    return range(max(0, n_layers - LAST_LAYERS), n_layers)


def first_rows(trace: Trace, head: Head) -> Float32:
    """Attention of the first token in the last layers, float32 [k, n]."""
    rows = slice(0, 1)
    return np.stack([trace.weights(i, head, rows)[0] for i in last_layers(trace.n_layers)])


def sum_positions(
    rows: Float32, tokens: Sequence[Token], *, words: bool
) -> tuple[tuple[tuple[int, int], ...], Float32, Float32]:
    """Rows over tokens, [k, n], as rows over words: the words' tokens, [k, m], and the rest, [k].

    >>> tokens = [Token("[CLS]", 0, 0, 0, special=True), Token("un", 1, 0, 2, word=0)]
    >>> tokens += [Token("##do", 2, 2, 4, word=0)]
    >>> where, weights, special = sum_positions(np.array([[0.5, 0.25, 0.25]]), tokens, words=True)
    >>> where, weights.tolist(), special.tolist()
    (((1, 3),), [[0.5]], [0.5])
    """
    if not words:
        spans = tuple((i, i + 1) for i in range(len(tokens)))
        return spans, rows, np.zeros(len(rows), dtype=rows.dtype)
    groups = group_tokens(tokens, words=True, special=True)
    sums = np.add.reduceat(rows, groups.starts, axis=1)
    plain = np.array([tokens[i].word is not None for i in groups.starts])
    ends = groups.starts + groups.sizes
    spans = tuple((int(a), int(b)) for a, b in zip(groups.starts[plain], ends[plain], strict=True))
    return spans, sums[:, plain], sums[:, ~plain].sum(axis=1)


def surface_of(tokens: Sequence[Token], first: int, end: int, texts: Sequence[str]) -> str:
    """Tokens ``[first, end)`` as they stand in the text; a special token's own text."""
    if tokens[first].special or tokens[first].segment >= len(texts):
        return tokens[first].text
    return texts[tokens[first].segment][tokens[first].start : tokens[end - 1].end]


def first_token(
    trace: Trace, tokens: Sequence[Token], texts: Sequence[str], head: Head, *, words: bool
) -> FirstToken:
    """See `FirstToken`.

    ``tokens``, sequence of Token, [n]: with words, if `words` is set. ``texts``: the text of each segment.
    """
    spans, weights, special = sum_positions(first_rows(trace, head), tokens, words=words)
    names = tuple(surface_of(tokens, a, b, texts) if words else tokens[a].text for a, b in spans)
    return FirstToken(head, tuple(last_layers(trace.n_layers)), names, spans, weights, special)
