"""Inter-sentence attention, ISA (docs/definitions.md, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attn_widget.checks import as_array, check_choice, index_in
from attn_widget.errors import InputError, NotPickled
from attn_widget.figures.arrays import Float32, Float64, Int32
from attn_widget.host.frames import dataframe
from attn_widget.trace import Trace
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.windows.masks import keys_per_query

if TYPE_CHECKING:
    from pandas import DataFrame


ROWS_AT_ONCE = 512
Aggregation = Literal["mass", "max"]


@dataclass(frozen=True)
class Strongest:
    """For every pair of tokens, the largest weight of any head, and the head that has it."""

    weights: Float32  # [n, n], or [n, m] of two texts
    # layers, heads: int32 [n, n], or [n, m]; the first in order of layer and head on a tie.
    layers: Int32
    heads: Int32


@dataclass(frozen=True)
class Drill:
    """A cell of the matrix, token by token, under the cell's own aggregation.

    Attributes
    ----------
    queries, keys : tuple of int
        Positions of the tokens of the two sentences.
    weights : float32 [a, b]
        Their mean over the row sums (``mass``) or their largest (``max``) is the cell.
    """

    queries: tuple[int, ...]
    keys: tuple[int, ...]
    weights: Float32


@dataclass(frozen=True)
class Witness:
    """The link that made a maximum: head and token pair."""

    layer: int
    head: int
    query: int
    key: int
    weight: float


def chosen(size: int, index: int | None, name: str) -> range:
    """The layers or heads that an aggregation runs over: one, or all."""
    if index is None:
        return range(size)
    only = index_in(index, size, name)
    return range(only, only + 1)


def mean_weights(trace: Trace, layer: int | None = None, head: int | None = None) -> Float32:
    """Mean of the weights over layers and heads, or over the chosen ones, float32 [n, n]."""
    layers, heads = chosen(trace.n_layers, layer, "layer"), chosen(trace.n_heads, head, "head")
    n, m, of = trace.n_tokens, trace.n_keys, "mean" if head is None else heads[0]
    # By rows where these can be computed alone: sums of all rows in float64 are 0.5 GB at 8,192 tokens.
    alone = n > LONG_TOKENS and trace.has_qkv
    mean = np.empty((n, m), dtype=np.float32)
    step = ROWS_AT_ONCE if alone else n
    for start in range(0, n, step):
        rows = slice(start, start + step) if alone else None
        total: Float64 = np.zeros((min(step, n - start), m))
        for index in layers:
            total += trace.weights(index, of, rows=rows)
        mean[start : start + step] = total / len(layers)
    return mean


def strongest(trace: Trace, layer: int | None = None, head: int | None = None) -> Strongest:
    """The largest weight over layers and heads, or over the chosen ones, for every pair of tokens."""
    layers, heads = chosen(trace.n_layers, layer, "layer"), chosen(trace.n_heads, head, "head")
    n, shape = trace.n_tokens, (trace.n_tokens, trace.n_keys)
    best = np.full(shape, -np.inf, dtype=np.float32)
    best_layer = np.zeros(shape, dtype=np.int32)
    best_head = np.zeros(shape, dtype=np.int32)
    for index in layers:
        together = head is None and n <= LONG_TOKENS
        matrices = trace.layer_weights(index) if together else None
        for number in heads:
            matrix = trace.weights(index, number) if matrices is None else matrices[number]
            better = matrix > best
            best[better] = matrix[better]
            best_layer[better] = index
            best_head[better] = number
    return Strongest(np.where(np.isinf(best), np.float32(np.nan), best), best_layer, best_head)


def isa_mass(
    mean: Float32,
    sentences: Sequence[Sequence[int]],
    keys: Sequence[Sequence[int]] | None = None,
) -> Float32:
    """``ISA(a, b) = (1/|a|) sum_{i in a, j in b} A_bar_ij``: the share of a's attention that is on b.

    ``mean``, float32 [n, n]: mean weights (`mean_weights`). ``sentences``: the tokens of each sentence, without
    special ones; none is empty. ``keys``: the sentences of the keys, where these are another text: [S, T]. Returns
    float32 [S, S]: a row and the share on tokens in no sentence sum to 1.

    >>> import numpy as np
    >>> isa_mass(np.full((4, 4), 0.25, dtype=np.float32), [[1], [2, 3]]).tolist()
    [[0.25, 0.5], [0.25, 0.5]]
    """
    totals = by_sentence(mean, sentences, np.add, np.float64, keys)
    sizes = np.array([len(queries) for queries in sentences])
    return (totals / sizes[:, None]).astype(np.float32)


def isa_max(
    largest: Float32,
    sentences: Sequence[Sequence[int]],
    keys: Sequence[Sequence[int]] | None = None,
) -> Float32:
    """``ISA(a, b) = max_{i in a, j in b} A_max_ij``: whether there is any strong link.

    ``largest``, float32 [n, n]: the largest weights over layers and heads (`strongest`). ``keys``: as in
    `isa_mass`. Returns float32 [S, S]: saturates near 1 on trained models.

    >>> import numpy as np
    >>> isa_max(np.array([[0.75, 0.25], [0.5, 0.5]], dtype=np.float32), [[0], [1]]).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    return by_sentence(largest, sentences, np.maximum, keys=keys)


def by_sentence(
    matrix: Any,
    sentences: Sequence[Sequence[int]],
    reduce: np.ufunc,
    kind: Any = np.float32,
    keys: Sequence[Sequence[int]] | None = None,
) -> Any:
    """``matrix`` [n, n] reduced over the queries and keys of each pair of sentences, [S, S] of ``kind``."""
    there = sentences if keys is None else keys
    order = [token for sentence in there for token in sentence]
    sums = np.zeros((len(sentences), len(there)), dtype=kind)
    starts = np.cumsum([0, *(len(sentence) for sentence in there[:-1])])
    if not order:
        return sums
    # A sentence at a time: of a long text a copy of the matrix is as large as all else together.
    for index, queries in enumerate(sentences):
        row = reduce.reduce(matrix[list(queries)].astype(kind, copy=False), axis=0)
        sums[index] = reduce.reduceat(row[order], starts)
    return sums


def _check_sentences(tokens: Sequence[Sequence[int]], texts: Sequence[str], n: int) -> None:
    every = [token for sentence in tokens for token in sentence]
    if len(texts) != len(tokens) or any(not sentence for sentence in tokens):
        raise InputError("Each sentence needs a text and at least one token.")
    if len(set(every)) < len(every) or any(not 0 <= t < n for t in every):
        raise InputError(
            "A token is in two sentences or out of range.",
            f"Sentences are disjoint lists of tokens, 0 to {n - 1}.",
        )


class SentenceAttention(NotPickled):
    """Attention between the sentences of a text.

    Parameters
    ----------
    trace : Trace
    sentences : sequence of S sequences of int
        The tokens of each sentence, without special ones.
    texts : sequence of S str
    key_sentences, key_texts : optional
        Those of the keys, where these are another text: the matrices are [S, T].

    Attributes
    ----------
    texts : tuple of str
    tokens : tuple of tuple of int
        The tokens of each sentence.
    key_texts, key_tokens
        Those of the keys: the same ones unless they are another text.
    note : str or None
        Why there is nothing to compare, when there is one sentence or none.
    """

    _WHY = "it holds the run's attention"
    _INSTEAD = "Keep its figures: matrix(), to_dataframe()."

    def __init__(
        self,
        trace: Trace,
        sentences: Sequence[Sequence[int]],
        texts: Sequence[str],
        key_sentences: Sequence[Sequence[int]] | None = None,
        key_texts: Sequence[str] | None = None,
    ) -> None:
        self.tokens = tuple(tuple(sentence) for sentence in sentences)
        self.texts = tuple(texts)
        self._trace = trace
        self._means: dict[tuple[int | None, int | None], Float32] = {}
        self._strongest: dict[tuple[int | None, int | None], Strongest] = {}
        _check_sentences(self.tokens, self.texts, trace.n_tokens)
        self.key_tokens, self.key_texts = self.tokens, self.texts
        if key_sentences is not None:
            self.key_tokens = tuple(tuple(sentence) for sentence in key_sentences)
            self.key_texts = tuple(key_texts or ())
            _check_sentences(self.key_tokens, self.key_texts, trace.n_keys)
        self._keys = None if key_sentences is None else self.key_tokens
        self.note = None
        if self._keys is not None:
            if len(self.tokens) <= 1 and len(self.key_tokens) <= 1:
                self.note = "Neither text has a second sentence, so there is nothing to compare."
        elif len(self.tokens) == 1:
            self.note = "The text is one sentence, so there is no other to compare it with."
        elif not self.tokens:
            self.note = "No sentence was found in the text."

    def matrix(
        self, kind: Aggregation = "mass", *, layer: int | None = None, head: int | None = None
    ) -> Float32:
        """ISA between all sentences, float32 [S, S]; rows are the sentences that look.

        Parameters
        ----------
        kind : {"mass", "max"}
            The share of the row's attention that lands on the column (`isa_mass`), or the largest
            weight between the two (`isa_max`).
        layer, head : int, optional
            Of one layer, one head number, or one head; by default of all.
        """
        weights = self._weights(kind, layer, head)
        return (isa_mass if kind == "mass" else isa_max)(weights, self.tokens, self._keys)

    def chance(self, *, layer: int | None = None) -> Float32:
        """``matrix("mass")`` of heads that attend to all possible keys of each query alike, float32 [S, S].

        The number of the column's tokens over that of all tokens, ``|b| / n``; where a mask forbids keys, those that a token of the
        row may look at are counted, on both sides of the fraction.

        Parameters
        ----------
        layer : int, optional
            Of one layer; by default the mean of all.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> chance = analyze("The cat sat. It slept.", progress=False).sentences.chance()
        >>> [round(float(share), 2) for share in chance[0]]  # of nine tokens, two of them special
        [0.44, 0.33]
        """
        m = self._trace.n_keys
        masks = [self._trace.mask(i) for i in chosen(self._trace.n_layers, layer, "layer")]
        of_mask: dict[int, Float32] = {}
        for mask in masks:
            if id(mask) in of_mask:
                continue
            if mask is None:
                sizes = np.array([len(tokens) / m for tokens in self.key_tokens], dtype=np.float32)
                of_mask[id(mask)] = np.tile(sizes, (len(self), 1))
            else:
                shares = mask[:] / np.maximum(keys_per_query(mask), 1)[:, None]
                of_mask[id(mask)] = isa_mass(shares.astype(np.float32), self.tokens)
        layers = np.stack([of_mask[id(mask)] for mask in masks])
        return layers.mean(axis=0, dtype=np.float64).astype(np.float32)

    def gather(self, matrix: Float32, kind: Aggregation = "mass") -> Float32:
        """The same between sentences for any matrix of tokens, float32 [S, S].

        Parameters
        ----------
        matrix : float [n, n]
            No entry below 0: `Analysis.mixing.matrix`, a rollout.
        kind : {"mass", "max"}
            The share of a row sentence's sum that the column sentence has, mean over its tokens (rows are
            divided by their sums first), or the largest entry.

        Raises
        ------
        InputError, InputTypeError
            A matrix of another shape, with NaN, or with an entry below 0; no such kind.

        Examples
        --------
        >>> from attn_widget import analyze
        >>> a = analyze("The cat sat. It slept.", progress=False)
        >>> a.sentences.gather(a.mixing.matrix("alti", 2)).shape
        (2, 2)
        """
        kind = check_choice(kind, "kind", ("mass", "max"))  # pyright: ignore
        n = self._trace.n_tokens
        values = as_array(matrix, "matrix", np.float32)
        if values.shape != (n, self._trace.n_keys) or not (values >= 0).all():
            raise InputError(
                f"matrix has the shape {list(values.shape)}, or an entry that is no number from 0 up; the "
                f"text has {n} tokens.",
                "Pass what mixing() or rollout() gives.",
            )
        if kind == "max":
            return isa_max(values, self.tokens, self._keys)
        sums = values.sum(axis=1, keepdims=True, dtype=np.float64)
        shares = (values / np.where(sums > 0, sums, 1)).astype(np.float32)
        return isa_mass(shares, self.tokens, self._keys)

    def elsewhere(self, *, layer: int | None = None, head: int | None = None) -> Float32:
        """Share of each sentence's attention on tokens in no sentence (special ones), float32 [S].

        With the row of ``matrix("mass")`` it sums to 1.
        """
        mean = self._weights("mass", layer, head)
        outside = np.ones(self._trace.n_keys, dtype=bool)
        for sentence in self.key_tokens:
            outside[list(sentence)] = False
        shares = mean[:, outside].sum(axis=1, dtype=np.float64)
        return np.array([shares[list(s)].mean() for s in self.tokens], dtype=np.float32)

    def drill(
        self,
        a: int,
        b: int,
        kind: Aggregation = "mass",
        *,
        layer: int | None = None,
        head: int | None = None,
    ) -> Drill:
        """Token-to-token attention from sentence ``a`` to ``b``, under the aggregation of the cell."""
        queries, keys = self._sentence(a), self._key_sentence(b)
        weights = self._weights(kind, layer, head)
        return Drill(queries, keys, weights[np.ix_(queries, keys)])

    def witness(
        self, a: int, b: int, *, layer: int | None = None, head: int | None = None
    ) -> Witness:
        """The head and the token pair that made ``matrix("max")[a, b]``."""
        queries, keys = self._sentence(a), self._key_sentence(b)
        top = self._top(*self._chosen(layer, head))
        block = top.weights[np.ix_(queries, keys)]
        i, j = np.unravel_index(int(block.argmax()), block.shape)
        query, key = queries[int(i)], keys[int(j)]
        return Witness(
            int(top.layers[query, key]),
            int(top.heads[query, key]),
            query,
            key,
            float(block[i, j]),
        )

    def witnesses(
        self, *, layer: int | None = None, head: int | None = None
    ) -> tuple[Int32, Int32, Int32, Int32]:
        """`witness` of all pairs at once: layers, heads, queries and keys, int32 [S, S] each."""
        top = self._top(*self._chosen(layer, head))
        shape = len(self), len(self.key_tokens)
        queries = np.zeros(shape, dtype=np.int32)
        keys = np.zeros(shape, dtype=np.int32)
        for b, there in enumerate(self.key_tokens):
            block = top.weights[:, list(there)]
            best = block.argmax(axis=1)  # of each query, over the keys of b
            values = np.take_along_axis(block, best[:, None], axis=1)[:, 0]
            for a, here in enumerate(self.tokens):
                query = here[int(values[list(here)].argmax())]
                queries[a, b], keys[a, b] = query, there[int(best[query])]
        return top.layers[queries, keys], top.heads[queries, keys], queries, keys

    def to_dataframe(
        self, kind: Aggregation = "mass", *, layer: int | None = None, head: int | None = None
    ) -> DataFrame:
        """One row a pair: ``from, to, from_text, to_text`` and the value (needs pandas)."""
        values = self.matrix(kind, layer=layer, head=head).tolist()
        return dataframe(
            {"from": a, "to": b, "from_text": first, "to_text": second, kind: values[a][b]}
            for a, first in enumerate(self.texts)
            for b, second in enumerate(self.key_texts)
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"SentenceAttention({len(self)} sentences)"

    def _sentence(self, index: int) -> tuple[int, ...]:
        return self.tokens[index_in(index, len(self), "sentence")]

    def _key_sentence(self, index: int) -> tuple[int, ...]:
        return self.key_tokens[index_in(index, len(self.key_tokens), "sentence")]

    def _weights(self, kind: Aggregation, layer: int | None, head: int | None) -> Float32:
        kind = check_choice(kind, "kind", ("mass", "max"))  # pyright: ignore
        layer, head = self._chosen(layer, head)
        if kind == "max":
            return self._top(layer, head).weights
        if (layer, head) not in self._means:
            self._means[layer, head] = mean_weights(self._trace, layer, head)
        return self._means[layer, head]

    def _chosen(self, layer: Any, head: Any) -> tuple[int | None, int | None]:
        return (
            None if layer is None else index_in(layer, self._trace.n_layers, "layer"),
            None if head is None else index_in(head, self._trace.n_heads, "head"),
        )

    def _top(self, layer: int | None, head: int | None) -> Strongest:
        if (layer, head) not in self._strongest:
            self._strongest[layer, head] = strongest(self._trace, layer, head)
        return self._strongest[layer, head]
