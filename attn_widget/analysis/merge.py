"""Attention between words instead of tokens, with or without the special ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import is_mean
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.figures.arrays import Bool, Float32, Head
from attn_widget.language import Language
from attn_widget.model.tokens import Token
from attn_widget.trace import Trace

MERGED_ID = -1  # the id of a position that several tokens share


class Groups(NamedTuple):
    """Runs of neighboring tokens that become one position each."""

    starts: NDArray[np.intp]  # [m]; first token of each run, of all n tokens
    sizes: NDArray[np.intp]  # [m]
    kept: Bool  # bool [m]; False for a run that is left out

    @property
    def first(self) -> NDArray[np.intp]:
        """First token of each run that is kept."""
        return self.starts[self.kept]


def group_tokens(tokens: Sequence[Token], *, words: bool, special: bool) -> Groups:
    """The positions of a merged view: words (or tokens), and special tokens each by themselves.

    ``tokens``, sequence of Token, [n]: with ``word`` known if `words` is set; a token without a word stays by
    itself. ``words``: merge the tokens of a word. ``special``: keep special tokens.

    >>> tokens = [Token("[CLS]", 0, 0, 0, special=True), Token("un", 1, 0, 2, word=0)]
    >>> tokens += [Token("##do", 2, 2, 4, word=0)]
    >>> group_tokens(tokens, words=True, special=True).sizes.tolist()
    [1, 2]
    """
    starts = [
        i
        for i, token in enumerate(tokens)
        if not (
            words
            and i
            and token.word is not None
            and (token.word, token.segment) == (tokens[i - 1].word, tokens[i - 1].segment)
        )
    ]
    first = np.array(starts, dtype=np.intp)
    visible = np.array([special or not tokens[i].special for i in starts], dtype=bool)
    if not visible.any():
        raise InputError("Without special tokens nothing is left.", "Keep them (special=True).")
    return Groups(first, np.diff(first, append=len(tokens)), visible)


def merge_weights(
    weights: Float32, groups: Groups, keys: Groups | None = None, *, renormalize: bool = True
) -> Float32:
    """Attention between groups of tokens: mean over query rows, sum over key columns.

    ``weights``: float32 [..., n, n]. ``groups``: with m kept of them. ``keys``: of the columns, where these are
    another text. ``renormalize``: rescale rows to sum to 1 where groups were left out. A row whose whole weight lay
    there is NaN: nothing of it is left to share out. Otherwise rows sum to what stayed. Returns float32
    [..., m, m].

    >>> import numpy as np
    >>> groups = Groups(np.array([0, 1]), np.array([1, 2]), np.array([True, True]))
    >>> merge_weights(np.full((3, 3), 1 / 3, dtype=np.float32), groups).round(2).tolist()
    [[0.33..., 0.67...], [0.33..., 0.67...]]
    """
    visible, columns = groups.kept, groups if keys is None else keys
    merged = weights
    if columns.starts.size < weights.shape[-1]:
        merged = np.add.reduceat(merged, columns.starts, axis=-1)
    if groups.starts.size < weights.shape[-2]:
        merged = np.add.reduceat(merged, groups.starts, axis=-2)
        merged /= groups.sizes[:, None].astype(np.float32)
    if visible.all() and columns.kept.all():
        return merged
    merged = merged[..., visible, :][..., columns.kept]
    if renormalize:
        totals = merged.sum(axis=-1, keepdims=True, dtype=np.float64)
        merged = merged / np.where(totals > 0, totals, np.nan).astype(np.float32)
    return merged


def merge_mask(mask: Bool, groups: Groups, keys: Groups | None = None) -> Bool:
    """True where any pair of tokens of two groups is possible, bool [m, m]; ``keys``: groups of the columns."""
    columns = groups if keys is None else keys
    merged = np.logical_or.reduceat(mask, groups.starts, axis=0)
    merged = np.logical_or.reduceat(merged, columns.starts, axis=1)
    return merged[np.ix_(groups.kept, columns.kept)]


def merge_tokens(
    tokens: Sequence[Token], groups: Groups, surfaces: Sequence[str]
) -> tuple[Token, ...]:
    """One Token for each group that is kept.

    ``surfaces``: the text of each word, by its index: what its position is called. The id of a word of several
    tokens is -1.
    """
    merged: list[Token] = []
    for start, size in zip(groups.first, groups.sizes[groups.kept], strict=True):
        first, last = tokens[start], tokens[start + size - 1]
        if first.word is None:
            merged.append(first)
            continue
        text, token_id = surfaces[first.word], first.id if size == 1 else MERGED_ID
        merged.append(replace(first, text=text, surface=text, id=token_id, end=last.end))
    return tuple(merged)


class MergedTrace(Trace):
    """A trace seen through groups of tokens.

    Weights are merged layer by layer when they are asked for. What belongs to single tokens (scores,
    queries, keys, values) is N/A once words are merged. Without special tokens, scores are there
    when rows are renormalized: the softmax over the tokens that stayed is exactly that.

    ``tokens``: sequence of Token, [m]. ``groups``: with m kept. ``renormalize``: see `merge_weights`.
    ``key_tokens``, ``keys``: of the columns, where these are another text.
    """

    def __init__(
        self,
        trace: Trace,
        tokens: Sequence[Token],
        groups: Groups,
        *,
        renormalize: bool = True,
        key_tokens: Sequence[Token] | None = None,
        keys: Groups | None = None,
    ) -> None:
        super().__init__(
            tokens, trace.n_layers, trace.n_heads, trace.head_dim, key_tokens=key_tokens
        )
        self._trace = trace
        self._groups = groups
        self._keys = groups if keys is None else keys
        if trace.windows is not None:
            self.windows = trace.windows.picked(groups.first)
        self._renormalize = renormalize
        self.has_rest, self.mask_found = trace.has_rest, trace.mask_found
        sizes = (groups.starts.size, self._keys.starts.size)
        self._single = sizes == (trace.n_tokens, trace.n_keys)
        self.has_qkv = self._single and trace.has_qkv
        self.has_scores = self._why_no_scores() is None and trace.has_scores

    @property
    def first_tokens(self) -> NDArray[np.intp]:
        """The first token of each position, of all tokens of the trace that is seen; int [m]."""
        return self._groups.first

    @property
    def nbytes(self) -> int:
        """Bytes of the trace that is seen; the view holds nothing of its own."""
        return self._trace.nbytes

    def layer_weights(self, layer: int) -> Float32:
        weights = self._trace.layer_weights(layer)
        return merge_weights(weights, self._groups, self._keys, renormalize=self._renormalize)

    def weights(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        if is_mean(head):
            return super().weights(layer, head, rows, cols)
        weights = self._trace.weights(layer, head)
        merged = merge_weights(weights, self._groups, self._keys, renormalize=self._renormalize)
        return merged[rows or slice(None), cols or slice(None)]

    def merged(self, matrices: Float32, *, lengths: bool) -> Float32:
        """A quantity between tokens [..., n, n] as one between the groups [..., m, m].

        Lengths are no shares, and are not scaled where groups were left out.
        """
        renormalize = self._renormalize and not lengths
        return merge_weights(matrices, self._groups, self._keys, renormalize=renormalize)

    def layer_scores(self, layer: int) -> Float32:
        reason = self._why_no_scores()
        if reason is not None:
            raise NotAvailableError(reason, "Ask the analysis that this view was made from.")
        rows, columns = self._groups.first, self._keys.first
        return self._trace.layer_scores(layer)[:, rows[:, None], columns]

    def queries(self, layer: int, head: int) -> Float32:
        return self._rows("queries", self._trace.queries, self._groups)(layer, head)

    def keys(self, layer: int, head: int) -> Float32:
        return self._rows("keys", self._trace.keys, self._keys)(layer, head)

    def values(self, layer: int, head: int) -> Float32:
        return self._rows("values", self._trace.values, self._keys)(layer, head)

    def bias(self, layer: int, head: int) -> Float32 | None:
        self._need_single("biases")
        bias = self._trace.bias(layer, head)
        rows, columns = self._groups.first, self._keys.first
        return None if bias is None else bias[rows[:, None], columns]

    def allowed(self, layer: int) -> Bool | None:
        """True where any pair of tokens of two positions is possible, bool [m, m]; None: all are."""
        mask = self._trace.allowed(layer)
        if mask is None:
            return None
        merged = merge_mask(mask, self._groups, self._keys)
        return None if merged.all() else merged

    def scaling(self, layer: int) -> float:
        return self._trace.scaling(layer)

    @property
    def hidden_states(self) -> Float32 | None:
        """Hidden states of the tokens that stayed, float32 [L + 1, m, d]; None once words are merged."""
        states = self._trace.hidden_states
        return states[:, self._groups.first] if self._single and states is not None else None

    def logits_tensor(self, rows: Any = slice(None)) -> Any:
        """Logits of the tokens that stayed; None once words are merged."""
        return (
            self._trace.logits_tensor(self._groups.first[rows].tolist()) if self._single else None
        )

    @property
    def classifier_logits(self) -> Float32 | None:
        """From the whole input, whatever the view leaves out."""
        return self._trace.classifier_logits

    @property
    def nsp_logits(self) -> Float32 | None:
        """From the whole input, whatever the view leaves out."""
        return self._trace.nsp_logits

    def _why_no_scores(self) -> str | None:
        if not self._single:
            return "Scores belong to single tokens; here they are merged into words."
        if not self._renormalize and not self._keys.kept.all():
            return "Rows that miss the special tokens' share are not the softmax of any scores."
        return None

    def _rows(
        self, name: str, ask: Callable[[int, int], Float32], groups: Groups
    ) -> Callable[[int, int], Float32]:
        self._need_single(name)
        return lambda layer, head: ask(layer, head)[groups.first]

    def _need_single(self, name: str) -> None:
        if not self._single:
            raise NotAvailableError(
                f"The {name} belong to single tokens; here they are merged into words.",
                "Ask the analysis that this view was made from.",
            )


def merge_language(language: Language, groups: Groups, *, words: bool) -> Language:
    """The same words and sentences, over the positions of the view.

    ``language``: of all n tokens. ``groups``: with m kept; words and sentences have no token in those that are not.
    ``words``: whether positions are words, and called as the text has them. Returns: with m tokens.
    """
    numbers = np.cumsum(groups.kept) - 1
    position = np.repeat(numbers, groups.sizes)

    def span(tokens: tuple[int, int]) -> tuple[int, int]:
        return int(position[tokens[0]]), int(position[tokens[1] - 1]) + 1

    if words:
        tokens = merge_tokens(language.tokens, groups, [word.text for word in language.words])
    else:
        tokens = tuple(language.tokens[i] for i in groups.first)
    return replace(
        language,
        tokens=tokens,
        words=tuple(replace(word, tokens=span(word.tokens)) for word in language.words),
        sentences=tuple(replace(part, tokens=span(part.tokens)) for part in language.sentences),
    )
