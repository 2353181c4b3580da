"""Links, shares and hits of patterns: taken from the weights of a text while they are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.corpus.reading.targets import (
    OFFSETS,
    SPECIAL_TOKENS,
    Arc,
    positional_targets,
    relation_targets,
)
from attn_widget.figures.catalog.targets import POSITIONAL, RELATIONS
from attn_widget.language.keys import is_punctuation
from attn_widget.language.language import Language
from attn_widget.model.encoding import Encoding
from attn_widget.model.tokens import Token

PATTERNS = (*POSITIONAL, *RELATIONS)
# Which keys compete, and the pattern. Among the words alone no special token can be right.
ROWS = [("all", name) for name in PATTERNS] + [
    ("words", name) for name in PATTERNS if name not in SPECIAL_TOKENS
]
SHARES = (
    "same word",
    *RELATIONS,
)  # patterns that a text is an example of by its weight on their targets
DIAGONALS = {"previous": -1, "next": 1, "self": 0}
# Kinds of links: between any two words, between those of one diagonal, between those of a pattern.
LINKS = ("link", *DIAGONALS, *SHARES)


@dataclass(frozen=True)
class Observed:
    """Figures of each text that its weights give and its metrics do not."""

    # [texts, links, L, H]; largest weight between two words, of each kind of `LINKS`; NaN where the text has none.
    weights: NDArray[np.float32]
    # queries_at, keys_at: [texts, links, L, H]; the tokens that it is between, the first in the order of rows of
    # those that are as large; -1 without one.
    queries_at: NDArray[np.int16]
    keys_at: NDArray[np.int16]
    # [texts, shares, L, H]; mean over the queries that have a target of the weight on their targets; the order is
    # `SHARES`.
    shares: NDArray[np.float32]
    # [texts, rows, L, H]; queries whose strongest key is a target; the rows are `ROWS`.
    hits: NDArray[np.int16]
    queries: NDArray[np.int32]  # [texts, rows]; queries that have a target
    expected: NDArray[np.float64]  # [texts, rows]; hits of a head with random strongest keys
    offsets: NDArray[np.int16]  # [texts, rows, offsets]; hits of each fixed offset

    def take(self, places: Sequence[int] | NDArray[np.integer[Any]]) -> Observed:
        """These texts alone, in this order."""
        return Observed(*(getattr(self, field.name)[places] for field in fields(self)))

    @staticmethod
    def join(parts: Sequence[Observed]) -> Observed:
        """The texts of all parts, one after the other."""
        names = [field.name for field in fields(Observed)]
        return Observed(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )


def is_word(token: Token) -> bool:
    """True if a token is of a word: neither special nor punctuation."""
    return not token.special and not is_punctuation(token.surface)


def ends_are_special(encoding: Encoding) -> bool:
    """True if the first and the last token are special, as patterns need it."""
    tokens = encoding.tokens
    return len(tokens) > 1 and tokens[0].special and tokens[-1].special


def targets_of(encoding: Encoding, language: Language) -> dict[str, NDArray[np.bool_]]:
    """The targets of every pattern in one text, bool [n, n]; those of relations where the tagger parses."""
    ids = np.array([token.id for token in encoding.tokens])
    targets = positional_targets(ids, [token.surface for token in encoding.tokens])
    if language.arcs:
        starts = np.array(
            [-1 if t.special or t.start >= t.end else t.start for t in encoding.tokens]
        )
        targets |= relation_targets([Arc(*arc) for arc in language.arcs], starts)
    return targets


class Observer:
    """Collects `Observed` of texts of one length, layer by layer."""

    def __init__(self, encodings: Sequence[Encoding], languages: Sequence[Language]) -> None:
        self._n = encodings[0].n_tokens
        self._words = np.array([[is_word(token) for token in e.tokens] for e in encodings])
        self._plain = all(ends_are_special(encoding) for encoding in encodings)
        self._targets = dict[str, NDArray[np.bool_]]()
        if self._plain:
            each = [targets_of(*text) for text in zip(encodings, languages, strict=True)]
            nothing = np.zeros((self._n, self._n), bool)
            for name in PATTERNS:
                if any(name in targets for targets in each):
                    self._targets[name] = np.stack([targets.get(name, nothing) for targets in each])
        self._cells = {
            name: np.nonzero(self._targets[name]) for name in SHARES if name in self._targets
        }
        both = self._words[:, :, None] & self._words[:, None, :]
        allowed = {
            **{k: both & np.eye(self._n, k=at, dtype=bool) for k, at in DIAGONALS.items()},
            **{k: both & self._targets[k] for k in SHARES if k in self._targets},
        }
        self._linked = {LINKS.index(name): np.nonzero(cells) for name, cells in allowed.items()}
        self._links: list[list[NDArray[Any]]] = []
        self._shares: list[NDArray[np.float32]] = []
        self._hits: list[NDArray[np.int16]] = []

    def see(self, weights: NDArray[np.float32]) -> None:
        """Take a layer's weights, float32 [texts, H, n, n]."""
        n_texts, n_heads, n, _ = weights.shape
        first, stop = (1, n - 1) if self._plain else (0, n)
        links = _no_links(n_texts, n_heads)
        _put(links, 0, slice(None), _largest(weights, self._words, first, stop))
        for kind, cells in self._linked.items():
            if len(cells[0]):
                _put(links, kind, *_largest_of(weights, *cells))
        self._links.append(links)
        shares = np.full((n_texts, len(SHARES), n_heads), np.nan, np.float32)
        for name, (texts, queries, keys) in self._cells.items():
            if len(texts):
                there, starts = np.unique(texts, return_index=True)
                sums = np.add.reduceat(weights[texts, :, queries, keys].astype(float), starts)
                n_queries = self._targets[name][there].any(2).sum(1)
                shares[there, SHARES.index(name)] = sums / n_queries[:, None]
        self._shares.append(shares)
        hits = np.zeros((n_texts, len(ROWS), n_heads), np.int16)
        if self._plain and n > 2:
            words = weights[..., 1:-1]
            best = words.argmax(-1)
            value = np.take_along_axis(words, best[..., None], -1)[..., 0]
            best += 1
            ends = np.where(weights[..., -1] > value, n - 1, best)
            ends = np.where(weights[..., 0] >= np.maximum(value, weights[..., -1]), 0, ends)
            picked = {"all": ends, "words": best}
            text, query = np.arange(n_texts)[:, None, None], np.arange(n)
            for row, (keys, name) in enumerate(ROWS):
                if name in self._targets:
                    right = self._targets[name][text, query, picked[keys]]
                    hits[:, row] = right.sum(-1)
        self._hits.append(hits)

    def observed(self) -> Observed:
        """Results, once all layers were seen."""
        n_texts = len(self._words)
        queries = np.zeros((n_texts, len(ROWS)), np.int32)
        expected = np.zeros((n_texts, len(ROWS)))
        offsets = np.zeros((n_texts, len(ROWS), len(OFFSETS)), np.int16)
        for row, (keys, name) in enumerate(ROWS):
            right = self._targets.get(name)
            if right is None or self._n <= 2:
                continue
            competing = self._n if keys == "all" else self._n - 2
            queries[:, row] = right.any(2).sum(1)
            expected[:, row] = right.sum((1, 2)) / competing
            for place, offset in enumerate(OFFSETS):
                offsets[:, row, place] = np.diagonal(right, offset, 1, 2).sum(-1)
        weights, queries_at, keys_at = (
            np.stack(part, 2) for part in zip(*self._links, strict=True)
        )
        return Observed(
            weights,
            queries_at,
            keys_at,
            np.stack(self._shares, 2),
            np.stack(self._hits, 2),
            queries,
            expected,
            offsets,
        )


def observed_between(
    queries: Sequence[Token], keys: Sequence[Token], layers: Iterable[NDArray[np.float32]]
) -> Observed:
    """Links of cross-attention: of each head the largest weight of a row that writes a word, on a word of the source.

    Row i writes token i + 1. All that is of tokens of one text is N/A.

    ``layers``: iterable of float32 [H, n, m].
    """
    rows = np.flatnonzero([is_word(token) for token in queries[1:]])
    cols = np.flatnonzero([is_word(token) for token in keys])
    links: list[list[NDArray[Any]]] = []
    for weights in layers:
        found = _no_links(1, len(weights))
        if len(rows) and len(cols):
            between = weights[:, rows[:, None], cols].reshape(len(weights), -1)
            best = between.argmax(axis=1)
            row, col = np.divmod(best, len(cols))
            largest = np.take_along_axis(between, best[:, None], 1)[:, 0]
            _put(found, 0, slice(None), (largest[None], rows[row][None], cols[col][None]))
        links.append(found)
    weights_of, queries_at, keys_at = (np.stack(part, 2) for part in zip(*links, strict=True))
    heads = weights_of.shape[2:]
    return Observed(
        weights_of,
        queries_at,
        keys_at,
        np.full((1, len(SHARES), *heads), np.nan, np.float32),
        np.zeros((1, len(ROWS), *heads), np.int16),
        np.zeros((1, len(ROWS)), np.int32),
        np.zeros((1, len(ROWS))),
        np.zeros((1, len(ROWS), len(OFFSETS)), np.int16),
    )


Found = tuple[NDArray[np.float32], NDArray[np.integer[Any]], NDArray[np.integer[Any]]]


def _no_links(n_texts: int, n_heads: int) -> list[NDArray[Any]]:
    """Weights, queries and keys, [texts, links, H], before any was found."""
    shape = (n_texts, len(LINKS), n_heads)
    return [
        np.full(shape, np.nan, np.float32),
        np.full(shape, -1, np.int16),
        np.full(shape, -1, np.int16),
    ]


def _put(links: list[NDArray[Any]], kind: int, texts: Any, found: Found) -> None:
    for part, values in zip(links, found, strict=True):
        part[texts, kind] = values


def _largest(
    weights: NDArray[np.float32], words: NDArray[np.bool_], first: int, stop: int
) -> Found:
    """Largest weight between two words of each text and head, with its query and key; NaN, -1 without words."""
    inner = words[:, first:stop]
    if inner.shape[1] and inner.all():
        return _peak(weights[:, :, first:stop, first:stop], np.arange(first, stop))
    links = _no_links(*weights.shape[:2])
    for text in np.flatnonzero(words.any(1)):  # punctuation, or a typed [MASK], in the middle
        mine = np.flatnonzero(words[text])
        _put(links, 0, [text], _peak(weights[[text]][:, :, mine[:, None], mine], mine))
    return links[0][:, 0], links[1][:, 0], links[2][:, 0]


def _peak(weights: NDArray[np.float32], places: NDArray[np.integer[Any]]) -> Found:
    """The largest of each matrix, between which of ``places``."""
    flat = weights.reshape(*weights.shape[:2], -1)
    best = flat.argmax(-1)
    query, key = np.divmod(best, len(places))
    return np.take_along_axis(flat, best[..., None], -1)[..., 0], places[query], places[key]


def _largest_of(
    weights: NDArray[np.float32],
    texts: NDArray[np.integer[Any]],
    queries: NDArray[np.integer[Any]],
    keys: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.integer[Any]], Found]:
    """The texts that have such cells, and the largest weight in them of each text and head."""
    there, starts = np.unique(texts, return_index=True)
    values = weights[texts, :, queries, keys]
    top = np.maximum.reduceat(values, starts)
    size = len(texts)
    is_top = values == np.repeat(top, np.diff(np.r_[starts, size]), axis=0)
    at = np.minimum.reduceat(np.where(is_top, np.arange(size)[:, None], size), starts)
    return there, (top, queries[at], keys[at])
