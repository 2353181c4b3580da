"""Words of a text as groups of its positions, for sums over the pieces of a word."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import cached, untagged
from attn_widget.figures.arrays import Float64


def groups_of(analysis: Analysis, words: bool = True) -> list[list[int]]:
    """The positions of each word, and of each special token by itself, in order; of each token without ``words``."""
    if not words:
        return [[i] for i in range(analysis.trace.n_tokens)]

    def find() -> list[list[int]]:
        groups: dict[object, list[int]] = {}
        # Words need no tags: without a tagger they are known at once.
        for i, token in enumerate(untagged(analysis).language.tokens):
            key = ("token", i) if token.special or token.word is None else ("word", token.word)
            groups.setdefault(key, []).append(i)
        return list(groups.values())

    return cached(analysis, "similarity_words", find)


def names_of(analysis: Analysis, words: bool = True) -> list[str]:
    """The names of `groups_of`: words as the text has them, tokens as the tokenizer has them."""
    tokens, texts = analysis.trace.tokens, (analysis.text or "", analysis.text_pair or "")
    names: list[str] = []
    for group in groups_of(analysis, words):
        first, last = tokens[group[0]], tokens[group[-1]]
        whole = words and not first.special
        spelled = texts[first.segment][first.start : last.end] if whole else ""
        names.append(spelled or first.text)
    return names


def own_groups(analysis: Analysis, words: bool = True) -> list[int]:
    """Which of `groups_of` belong to the text: all but the special tokens."""
    tokens = analysis.trace.tokens
    groups = groups_of(analysis, words)
    return [k for k, group in enumerate(groups) if not tokens[group[0]].special]


def merged(rows: Float64, groups: list[list[int]]) -> Float64:
    """Rows [n, ...] added up in each group."""
    return np.array([rows[group].sum(axis=0) for group in groups])
