"""Opening of a widget: the most informative head for a text, and the word to read it from.

A head tells something where words attend to other words by more than chance. Special tokens, punctuation,
the word itself and its neighbors (heads that look a place or two back say little of the text) do not count.
Nor does token 0 where a mask looks back alone: there it is what a query attends to that finds nothing else.
Of two texts (cross-attention) a row counts by the token that it writes, the one after its own; and a layer whose heads
all find the words to read is no reason against each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.analysis import Analysis
from attn_widget.checks.rounding import TIE, first_largest
from attn_widget.figures.arrays import Float32, Head
from attn_widget.figures.choice import Choice
from attn_widget.language.keys import is_punctuation
from attn_widget.model.tokens import Token
from attn_widget.trace.base import Area
from attn_widget.trace.windows.masks import Mask, looks_back

NEIGHBORS = 2  # words that stand this near are not counted, as long as others are there
FIRST_ROWS = 4  # of a block, which tell how strong its links are
ROWS_AT_ONCE = 256  # of pairs of words: of 8,192 tokens 8 MB
MANY_BLOCKS = 16  # of words between special tokens; beyond, one copy is quicker


@dataclass(frozen=True)
class Opening:
    """Layer, head and token that a picture opens on.

    Attributes
    ----------
    layer : int
    head : int or "mean"
    token : int or None
        The query of the head's strongest link between words; None where it has none.
    """

    layer: int
    head: Head
    token: int | None


def sinks(tokens: Sequence[Token], mask: Mask | None) -> NDArray[np.bool_]:
    """Tokens between which a link says little of the text, bool [n]: special ones, and token 0 where the mask looks back alone."""
    outside = np.array([token.special for token in tokens], dtype=np.bool_)
    if looks_back(mask):
        outside[0] = True
    return outside


def word_ids(
    tokens: Sequence[Token], outside: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """The number of each token's word, int [n]; -1 for punctuation, white space and the tokens ``outside`` (`sinks`).

    By default these are the special ones.

    Words are what white space, punctuation or special tokens set apart; a Chinese or Japanese character
    begins one. This is less than `language` knows, and needs neither a segmenter nor a tagger.

    Examples
    --------
    >>> from attn_widget import analyze
    >>> word_ids(analyze("a catfish, a bird", progress=False).tokens).tolist()
    [-1, 1, 2, -1, 4, 5, -1]
    """
    ids = np.full(len(tokens), -1, dtype=np.int32)
    number = -1
    before: Token | None = None
    if outside is None:
        outside = sinks(tokens, None)
    for i, token in enumerate(tokens):
        apart = (
            before is None
            or before.segment != token.segment
            or before.end < token.start
            or east_asian_width(token.surface[:1] or " ") in "FW"
        )
        # A tokenizer of letters, or one of bytes, has tokens of white space alone.
        if outside[i] or not token.surface.strip() or is_punctuation(token.surface):
            number, before = number + 1, None
            continue
        number += apart
        ids[i], before = number, token
    return ids


def word_pairs(
    tokens: Sequence[Token],
    rows: NDArray[np.intp] | None = None,
    mask: Mask | None = None,
    keys: Sequence[Token] | None = None,
) -> NDArray[np.bool_]:
    """Queries and keys that count as a link between words, bool [n, n] or [rows, n]; [n, m] of two texts.

    Different words, not the same word twice, more than `NEIGHBORS` words apart; in a text too short for
    that, nearer ones; in one long word (a script without spaces), its tokens.

    Parameters
    ----------
    rows : int [r], optional
        These queries alone.
    mask : bool [n, n], RowSpans, optional
        Cells that the model's mask allows; the others count as no link.
    keys : sequence of Token [m], optional
        Where they are another text.
    """
    n_keys = len(tokens if keys is None else keys)
    chosen = np.arange(len(tokens)) if rows is None else rows
    rule = link_rule(tokens, mask, keys)
    if rule is None:
        return np.zeros((len(chosen), n_keys), dtype=np.bool_)
    pairs = np.empty((len(chosen), n_keys), dtype=np.bool_)
    for start in range(0, len(chosen), ROWS_AT_ONCE):
        some = chosen[start : start + ROWS_AT_ONCE, None]
        part = pairs[start : start + ROWS_AT_ONCE]
        part[:] = rule.counts(some, np.arange(n_keys))
        if mask is not None:
            part &= mask[some[:, 0]]
    return pairs


class LinkRule(NamedTuple):
    """Which links count as links between words.

    Attributes
    ----------
    ids, kinds, places : int32 [n]
        Word of each token (-1: none), number of its spelling, and its place in words or tokens.
    nearest : int
        Places that lie no farther apart do not count.
    """

    ids: NDArray[np.int32]
    kinds: NDArray[np.int32]
    places: NDArray[np.int32]
    nearest: int

    def counts(self, query: NDArray[Any], key: NDArray[Any]) -> NDArray[np.bool_]:
        """True where the link of a query to a key counts, in the shape of both together."""
        counted = (self.ids[key] >= 0) & (self.ids[query] >= 0)
        counted &= self.kinds[query] != self.kinds[key]
        counted &= np.abs(self.places[query] - self.places[key]) > self.nearest
        return counted


class WordsOfTwoTexts(NamedTuple):
    """The rule for attention from one text to another, whose places and spellings cannot be compared.

    Attributes
    ----------
    queries : bool [n]
        Tokens after which part of a word is written.
    keys : bool [m]
        Tokens that are part of a word.
    """

    queries: NDArray[np.bool_]
    keys: NDArray[np.bool_]

    def counts(self, query: NDArray[Any], key: NDArray[Any]) -> NDArray[np.bool_]:
        """True where part of a word is written and part of a word is read."""
        return self.queries[query] & self.keys[key]


def link_rule(
    tokens: Sequence[Token], mask: Mask | None = None, keys: Sequence[Token] | None = None
) -> LinkRule | WordsOfTwoTexts | None:
    """The strictest rule that some link of a text obeys; None where no link counts.

    ``keys`` are the tokens of another text at which these look.
    """
    if keys is not None:
        words = WordsOfTwoTexts(_writes_a_word(tokens), word_ids(keys) >= 0)
        return words if words.queries.any() and words.keys.any() else None
    ids = word_ids(tokens, sinks(tokens, mask))
    numbers: dict[str, int] = {}
    spelled = [token.surface.casefold() for token in tokens]
    kinds = np.array([numbers.setdefault(name, len(numbers)) for name in spelled], dtype=np.int32)
    places = (ids, np.arange(len(ids), dtype=np.int32))
    rule = apart_by(ids, kinds, places)
    return None if rule is None else LinkRule(ids, kinds, places[rule[0]], rule[1])


def _writes_a_word(tokens: Sequence[Token]) -> NDArray[np.bool_]:
    """Target tokens whose row writes part of a word, bool [n]: the next token is one. In a text of one token, that token."""
    words = word_ids(tokens) >= 0
    return np.append(words[1:], False) if len(tokens) > 1 else words


def apart_by(
    ids: NDArray[np.int32], kinds: NDArray[np.int32], places: Sequence[NDArray[np.int32]]
) -> tuple[int, int] | None:
    """The strictest rule that some link of a text obeys: which of ``places``, and how far apart."""
    words = np.flatnonzero(ids >= 0)
    for which, place in enumerate(places):
        for nearest in range(NEIGHBORS, -1, -1):
            for start in range(0, len(words), ROWS_AT_ONCE):
                some = words[start : start + ROWS_AT_ONCE, None]
                far = np.abs(place[some] - place[words]) > nearest
                if (far & (kinds[some] != kinds[words])).any():
                    return which, nearest
    return None


def chance_of(mask: Mask | None, n: int) -> Float32:
    """``1 / m_i``: the weight of uniform attention over the keys that each query may look at, float32 [n, 1]."""
    return (1 / np.maximum(Choice(mask, n).counts, 1)).astype(np.float32)[:, None]


def links_beyond_chance(
    weights: Float32, pairs: NDArray[np.bool_], chance: Float32 | None = None
) -> NDArray[np.float64]:
    """Mean over ``pairs`` of what a weight has beyond chance, float64 [H]; 0 where there is no pair.

    Parameters
    ----------
    weights : float32 [H, n, n], or [H, n, m]
    pairs : bool [n, n], or [n, m]
    chance : float32 [n, 1], optional
        See `chance_of`; by default 1/n, or 1/m.

    Examples
    --------
    >>> import numpy as np
    >>> flat, sharp = np.full((2, 2), 0.5), np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> links_beyond_chance(np.stack([flat, sharp]), ~np.eye(2, dtype=bool))
    array([0.  , 0.25])
    """
    heads, _, n_keys = weights.shape
    count = int(pairs.sum())
    if count == 0:
        return np.zeros(heads)
    counted = pairs.ravel().astype(weights.dtype)
    if chance is not None:
        beyond = [np.maximum(np.nan_to_num(head - chance), 0).ravel() @ counted for head in weights]
        return np.array(beyond, dtype=np.float64) / count
    even = weights.dtype.type(1 / n_keys)
    # By head: one matrix fits a core's cache. Sums are those of BLAS, in float32.
    sums = [float(np.maximum(head, even).ravel() @ counted) for head in weights]
    return np.nan_to_num(np.array(sums) / count - float(even)).clip(0)


def largest_between_words(
    weights: Float32, special: NDArray[np.bool_], special_keys: NDArray[np.bool_] | None = None
) -> Float32:
    """Each head's largest weight of which neither end is a special token, float32 [H].

    0 where there are less than two other tokens: a ramp from it to nothing would show nothing. ``special_keys``, bool [m],
    where keys are another text: there one other token of each is enough.
    """
    words = np.flatnonzero(~special)
    if special_keys is not None:
        between = weights[:, words[:, None], np.flatnonzero(~special_keys)]
        return between.max(axis=(1, 2), initial=0)
    if len(words) < 2:
        return np.zeros(len(weights), dtype=weights.dtype)
    runs = np.split(words, np.flatnonzero(np.diff(words) > 1) + 1)
    blocks = [slice(run[0], run[-1] + 1) for run in runs]
    if len(blocks) ** 2 > MANY_BLOCKS:
        return weights[:, words[:, None], words].max(axis=(1, 2))
    parts = [weights[:, rows, keys].max(axis=(1, 2)) for rows in blocks for keys in blocks]
    return np.max(parts, axis=0)


def beyond_the_others(links: NDArray[np.float64]) -> NDArray[np.float64]:
    """Excess of each head over the mean of its layer's other heads, [L, H]."""
    heads = links.shape[1]
    if heads == 1:
        return links
    others = (links.sum(axis=1, keepdims=True) - links) / (heads - 1)
    return links - others


def choose_opening(
    links: NDArray[np.float64],
    word_of: Callable[[int, int], int | None],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    two_texts: bool = False,
) -> Opening:
    """The head with most to tell among ``layers`` and ``heads`` (None: all), and its strongest word.

    A head is compared with the other heads of its layer, except in attention between ``two_texts``.

    Parameters
    ----------
    links : float64 [L, H]
        `links_beyond_chance` of every layer.
    word_of : callable
        `strongest_word` of a layer and head.
    """
    rows = np.arange(links.shape[0]) if layers is None else np.asarray(layers)
    columns = np.arange(links.shape[1]) if heads is None else np.asarray(heads)
    contrast = (links if two_texts else beyond_the_others(links))[rows[:, None], columns]
    at, column = divmod(first_largest(contrast), contrast.shape[1])
    layer, head = int(rows[at]), int(columns[column])
    return Opening(layer, head, word_of(layer, head))


def strongest_word(analysis: Analysis, layer: int, head: int) -> int | None:
    """The query of the strongest link between words in one head; None where it has none."""
    trace = analysis.trace
    keys = None if trace.square else trace.key_tokens
    strongest = StrongestWord(trace.tokens, trace.mask(layer), keys)
    every = Area(slice(0, analysis.n_tokens), slice(0, analysis.n_keys))
    strongest.see(every, analysis.attention(layer, head))
    return strongest.token


class StrongestWord:
    """Query of the strongest link between words of a matrix that comes in blocks, in any order.

    Attributes
    ----------
    token : int or None
        The first of those that are equal up to rounding; None as long as no link above 0 was seen.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        mask: Mask | None = None,
        keys: Sequence[Token] | None = None,
    ) -> None:
        self._rule = link_rule(tokens, mask, keys)
        self._most = np.float32(0)
        self._candidates: dict[int, float] = {}

    @property
    def token(self) -> int | None:
        least = self._most * (1 - TIE)
        return min(
            (token for token, most in self._candidates.items() if most >= least), default=None
        )

    def see(self, area: Area, weights: Float32) -> None:
        """Look at a block, float32 [rows, cols]."""
        # The rule is asked only about cells that would be the strongest: after a few rows, of hardly any.
        for rows in (slice(0, FIRST_ROWS), slice(FIRST_ROWS, None)):
            if self._rule is None:
                return
            part = weights[rows]
            first = area.rows.start + (rows.start or 0)
            at = np.flatnonzero(part > self._most * (1 - TIE))
            query, key = np.divmod(at, weights.shape[1])
            counted = self._rule.counts(query + first, key + area.cols.start)
            some = part.reshape(-1)[at[counted]]
            if some.size:
                self._most = max(self._most, some.max())
                close = some >= self._most * (1 - TIE)
                for token, weight in zip(query[counted][close] + first, some[close], strict=True):
                    before = self._candidates.get(int(token), 0.0)
                    self._candidates[int(token)] = max(before, float(weight))
