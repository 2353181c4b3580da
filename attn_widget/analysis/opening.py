"""Opening of a widget: the link that tells most of a text, with the head that gives it.

A *link* is a query, a key and a head. It is worth reading if both are words that say something (`attn_widget.analysis.opening_words`),
the key is the strongest word of the query's row, and the head looks neither at one key nor over one distance in most rows.
js/src/features/engine/page/opening/opening.ts is the same rule for a text that is typed.

Of two texts (cross-attention) a row counts by the token that it writes, the one after its own; and a layer whose heads
all find the words to read is no reason against each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.analysis import Analysis
from attn_widget.analysis.base import cached
from attn_widget.analysis.opening_words import Kind, Role, Words, word_ids, words_of
from attn_widget.checks.rounding import TIE, first_largest
from attn_widget.figures.arrays import Float32, Head
from attn_widget.model.tokens import Token
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.windows.masks import Mask, looks_back

ROWS, ROWS_OF_LONG = 64, 32  # words whose rows are read: of 8,192 tokens and 12 heads 13 MB a layer
PRONOUN_ROWS = 24  # of those, before others are taken
CHANCE, MORE = 2, 1.01  # times an even share: of a link worth reading, and of any
COLUMN = 3  # a key that is the strongest of more than one in so many rows is a column of the head
OFFSET = 0.4  # share of the rows with the same distance to their strongest key
FEW_ROWS = 2  # are no column and no offset
OF_WORDS = 0.4  # of a head's attention: with less on other words it counts by how much it has, the rest is on sinks
# Factors of a link's value: the rule's preferences.
OF_MASK, OF_PRONOUN, OF_COPULA, OF_VERB = 2.5, 2.0, 2.2, 1.3
OF_OTHER_PRONOUN, TO_PRONOUN, OF_NEIGHBORS, ACROSS = 0.6, 0.5, 0.5, 0.85
OF_LAST = 0.5  # of the last word of a text of more than `ROWS`, whose first words are seen first
# Levels: worth reading; the same of words of several tokens; between words of one token that say something, in a
# head that is no column and no offset; and of any words in any head.
TOLD, PIECES, WEAK, LAST = 4, 3, 2, 1
MANY_BLOCKS = 16  # of words between special tokens; beyond, one copy is quicker


@dataclass(frozen=True)
class Opening:
    """Layer, head and link that a picture opens on."""

    layer: int
    head: Head  # int or "mean"
    token: int | None  # the query of the link; None where there is none
    key: int | None = None  # its key: the strongest word of the query's row
    words: bool = False  # one of them is part of a word, so that the link is read with words merged

    def selected(self) -> dict[str, Any]:
        """The traits that it sets: words are merged only where the link needs it."""
        merged = {"words": True} if self.words else {}
        return {"layer": self.layer, "head": self.head, "token": self.token, **merged}


class Links(NamedTuple):
    """The strongest link of each row that was read, in every head."""

    levels: NDArray[np.int8]  # [L, H, r]; `TOLD`, `PIECES`, `WEAK`, `LAST` or 0
    # [L, H, r]; the larger, the sooner the link is chosen among those of its level.
    values: NDArray[np.float64]
    # queries, keys: [r], int [L, H, r]; units of ``words``; tokens where these are None, as in attention between
    # two texts.
    queries: NDArray[np.intp]
    keys: NDArray[np.intp]
    words: Words | None = None


class Strongest(NamedTuple):
    """The strongest key of each row in the heads of one layer, [H, r], and sums over these heads, [r, u]."""

    keys: NDArray[np.intp]  # units
    # weights, beyond: the weight, and its excess over the mean of the layer's other heads.
    weights: NDArray[np.float64]
    beyond: NDArray[np.float64]
    free: NDArray[np.bool_]  # the head is no column and no offset
    over: NDArray[np.float64]  # the weight in multiples of an even share
    most: NDArray[np.bool_]  # no other head of the layer gives this link more
    counts: NDArray[np.float64]  # heads whose strongest key this is
    share: NDArray[np.float64]  # [H, 1]; mean attention of a head to the other words


def sinks(tokens: Sequence[Token], mask: Mask | None) -> NDArray[np.bool_]:
    """Tokens between which a link says little of the text, bool [n]: special ones, boilerplate, and token 0 where the mask looks back alone."""
    outside = np.array([token.special or token.boilerplate for token in tokens], dtype=np.bool_)
    if looks_back(mask):
        outside[0] = True
    return outside


def opening(
    analysis: Analysis,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> Opening:
    """The opening of a run, among ``layers`` and ``heads`` (None: all).

    A text without a link opens on the first head, with no token.
    """
    if analysis.model.wordless:
        return Opening(*analysis._opens_on(layers, heads))  # pyright: ignore[reportPrivateUsage]
    square = analysis.trace.square
    links = cached(analysis, "links", lambda: (links_of if square else links_across)(analysis))
    rows = np.arange(analysis.trace.n_layers) if layers is None else np.asarray(layers)
    columns = np.arange(analysis.trace.n_heads) if heads is None else np.asarray(heads)
    among = rows[:, None], columns
    levels = links.levels[among]
    if levels.max(initial=0) == 0:
        return Opening(int(rows[0]), int(columns[0]), None)
    best = first_largest(np.where(levels == levels.max(), links.values[among], -np.inf))
    at, column, row = np.unravel_index(best, levels.shape)
    layer, head = int(rows[at]), int(columns[column])
    query, key = int(links.queries[row]), int(links.keys[layer, head, row])
    if links.words is None:
        return Opening(layer, head, query, key)
    queries, keys = links.words.pieces(query), links.words.pieces(key)
    if len(queries) == len(keys) == 1:
        return Opening(layer, head, queries[0], keys[0])
    among = analysis.trace.picked_rows(layer, np.array(queries))[head][:, keys]
    at, column = divmod(first_largest(among), len(keys))
    # Parts of an encoder-decoder share the selection, and one text of theirs may have no words of several tokens.
    return Opening(layer, head, queries[at], keys[column], words=analysis.part == "self")


def links_of(analysis: Analysis) -> Links:
    """The links between words of one text."""
    trace = analysis.trace
    mask = trace.mask(0)
    words = words_of(trace.tokens, sinks(trace.tokens, mask))
    rows = rows_to_read(
        words.kinds, ROWS if analysis.trace.n_tokens <= LONG_TOKENS else ROWS_OF_LONG
    )
    shape = (analysis.trace.n_layers, analysis.trace.n_heads, len(rows))
    if len(rows) == 0:
        empty = np.zeros(shape)
        return Links(empty.astype(np.int8), empty, rows, empty.astype(np.intp))
    parts = [strongest(analysis, layer, words, rows) for layer in range(analysis.trace.n_layers)]
    keys = np.stack([part.keys for part in parts])
    queries = np.broadcast_to(rows, shape)
    worth, level = pairs(words, queries, keys)
    free, over, most = (
        np.stack([getattr(part, name) for part in parts]) for name in ("free", "over", "most")
    )
    told = (level == TOLD) & free & most & (over >= CHANCE) & (np.abs(queries - keys) > 1)
    last = (level > 0) & (over >= MORE)
    # A link of two content words is worth the more the fewer heads have it; several heads may know what a pronoun stands for.
    counts = np.sum([part.counts for part in parts], axis=0)
    shares = counts[np.arange(len(rows)), keys] / (shape[0] * shape[1])
    rare = np.where(words.kinds[queries] == Kind.PRONOUN, 1, 1 - shares)
    near = np.where(np.abs(queries - keys) > 1, 1, OF_NEIGHBORS)
    shown = np.minimum(np.stack([part.share for part in parts]) / OF_WORDS, 1)
    size = len(words.starts)
    early = 1 - OF_LAST * queries / size if size > ROWS else 1
    values = np.stack([part.beyond for part in parts]) * worth * rare * near * shown * early
    whole = (words.sizes[queries] == 1) & (words.sizes[keys] == 1)
    chosen = [told & whole, told, last & free & whole, last]
    levels = np.select(chosen, [TOLD, PIECES, WEAK, LAST]).astype(np.int8)
    return Links(levels, values, rows, keys, words)


def rows_to_read(kinds: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Words whose rows are read, in order: masks, pronouns and then others, each evenly over the text.

    >>> rows_to_read(np.array([3, 0, 4, 3, 1, 6]), 3).tolist()
    [0, 2, 5]
    """
    words = kinds != Kind.OUTSIDE
    if words.sum() <= most:
        return np.flatnonzero(words)
    chosen = evenly(np.flatnonzero(kinds == Kind.MASK), most)
    pronouns = np.flatnonzero(kinds == Kind.PRONOUN)
    chosen = [*chosen, *evenly(pronouns, min(PRONOUN_ROWS, most - len(chosen)))]
    words[chosen] = False
    return np.array(sorted([*chosen, *evenly(np.flatnonzero(words), most - len(chosen))]))


def evenly(items: NDArray[np.intp], count: int) -> list[int]:
    """At most ``count`` of the items, the first and the last among them.

    >>> evenly(np.arange(10), 3), evenly(np.arange(10), 1), evenly(np.arange(2), 3)
    ([0, 4, 9], [0], [0, 1])
    """
    if len(items) <= count:
        return items.tolist()
    return [int(items[i * (len(items) - 1) // max(1, count - 1)]) for i in range(count)]


def strongest(analysis: Analysis, layer: int, words: Words, rows: NDArray[np.intp]) -> Strongest:
    """The strongest keys of some rows, units, in the heads of a layer: keys are summed over a word's tokens, queries averaged."""
    trace, size = analysis.trace, len(words.starts)
    sizes = words.sizes[rows]
    picked = np.concatenate([words.pieces(unit) for unit in rows])
    weights = trace.picked_rows(layer, picked)[:, :, words.tokens]
    np.fmax(weights, 0, out=weights)  # NaN is no weight
    if words.sizes.max() > 1:
        weights = np.add.reduceat(weights, words.starts, axis=2)
        weights = np.add.reduceat(weights, np.cumsum(sizes) - sizes, axis=1)
        weights /= sizes[:, None].astype(np.float32)
    heads, count = len(weights), len(rows)
    every = np.arange(count)
    weights[:, every, rows] = 0
    mask = trace.mask(layer)
    first = words.tokens[words.starts]
    seen = np.ones((count, size), np.bool_) if mask is None else mask[first[rows]][:, first]
    seen[every, rows] = False
    largest = weights.max(axis=2)
    keys = (weights >= largest[:, :, None] * np.float32(1 - TIE)).argmax(axis=2)
    head = np.arange(heads)[:, None]

    def with_same(places: NDArray[np.intp], span: int) -> NDArray[np.intp]:
        """Number of rows of a head with the same place, [H, r]."""
        flat = places + head * span
        return np.bincount(flat.ravel(), minlength=heads * span)[flat]

    in_column, at_offset = with_same(keys, size), with_same(keys - rows + size, 2 * size)
    column = (in_column > FEW_ROWS) & (in_column * COLUMN > seen.sum(axis=0)[keys])
    offset = (at_offset > FEW_ROWS) & (at_offset > OFFSET * count)
    found = largest.astype(np.float64)
    of_all = weights[:, every, keys]
    total = of_all.sum(axis=0, dtype=np.float64)
    even = found * (seen @ words.sizes + sizes) / words.sizes[keys] / (1 - TIE)
    counts = np.zeros((count, size))
    np.add.at(counts, (np.broadcast_to(every, keys.shape), keys), 1)
    return Strongest(
        keys,
        found,
        found - (total - found) / max(1, heads - 1),
        ~column & ~offset,
        even,
        found >= of_all.max(axis=0) * (1 - TIE),
        counts,
        weights.sum(axis=(1, 2), dtype=np.float64)[:, None] / count,
    )


def pairs(
    words: Words, queries: NDArray[np.intp], keys: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Factor of a link of two units, float64, and its level, int8, in the shape of both."""
    kind, role, to, to_role = (
        part[units] for units in (queries, keys) for part in (words.kinds, words.roles)
    )
    back = keys < queries
    noun = to_role == Role.NOUN
    clauses = np.cumsum(words.kinds == Kind.OUTSIDE)
    together = clauses[queries] == clauses[keys]
    refers = (kind == Kind.PRONOUN) & back & noun
    subject = (kind == Kind.COPULA) & back & noun & together
    verb = ((role == Role.VERB) & noun) | ((role == Role.NOUN) & (to_role == Role.VERB))
    verb |= (role == Role.PREDICATE) & noun & back
    verb |= (role == Role.NOUN) & (to_role == Role.PREDICATE) & ~back
    verbs = np.cumsum(words.roles == Role.VERB)
    ends, begins = np.maximum(queries, keys), np.minimum(queries, keys)
    verb &= together & (verbs[ends - 1] <= verbs[begins])  # no other verb is nearer
    says = (Kind.CONTENT, Kind.PRONOUN, Kind.MASK)
    told = np.isin(kind, (Kind.CONTENT, Kind.MASK)) | refers | subject
    told |= (kind == Kind.PRONOUN) & (to_role == Role.VERB)
    told &= np.isin(to, says)
    some = (*says, Kind.PERSON)
    weak = np.isin(kind, (*some, Kind.COPULA)) & np.isin(to, some)  # no form of *be* is a key
    weak &= np.isin(kind, (Kind.CONTENT, Kind.MASK)) | np.isin(to, (Kind.CONTENT, Kind.MASK))
    differ = words.names[queries] != words.names[keys]
    worth = np.select(
        [kind == Kind.MASK, refers, kind == Kind.PRONOUN, subject, verb],
        [OF_MASK, OF_PRONOUN, OF_OTHER_PRONOUN, OF_COPULA, OF_VERB],
        1.0,
    )
    worth *= np.where(to == Kind.PRONOUN, TO_PRONOUN, 1)
    worth *= np.where((kind == Kind.CONTENT) & (to == Kind.CONTENT) & ~together, ACROSS, 1)
    return worth, np.where(differ & told, TOLD, np.where(differ & weak, WEAK, 0)).astype(np.int8)


def links_across(analysis: Analysis) -> Links:
    """The links of cross-attention: a head's value is the mean excess over 1/m of rows that write part of a word, to parts of words."""
    trace = analysis.trace
    rows = np.flatnonzero(_writes_a_word(trace.tokens))
    read = np.flatnonzero(word_ids(trace.key_tokens) >= 0)
    shape = (analysis.trace.n_layers, analysis.trace.n_heads, len(rows))
    levels, values = np.zeros(shape, np.int8), np.zeros(shape)
    keys = np.zeros(shape, np.intp)
    if 0 in (len(rows), len(read)):
        return Links(levels, values, rows, keys)
    for layer in range(analysis.trace.n_layers):
        weights = trace.layer_weights(layer)[:, rows[:, None], read]
        largest = weights.max(axis=2)
        keys[layer] = read[(weights >= largest[:, :, None] * (1 - TIE)).argmax(axis=2)]
        mean = np.maximum(weights - 1 / analysis.trace.n_keys, 0).mean(
            axis=(1, 2), dtype=np.float64
        )
        # The first of the head's strongest rows, up to rounding.
        row = (largest >= largest.max(axis=1, keepdims=True) * (1 - TIE)).argmax(axis=1)
        head = np.flatnonzero(largest.max(axis=1) > 0)
        levels[layer, head, row[head]] = TOLD
        values[layer] = mean[:, None]
    return Links(levels, values, rows, keys)


def _writes_a_word(tokens: Sequence[Token]) -> NDArray[np.bool_]:
    """Target tokens whose row writes part of a word, bool [n]: the next token is one. In a text of one token, that token."""
    words = word_ids(tokens) >= 0
    return np.append(words[1:], False) if len(tokens) > 1 else words


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
