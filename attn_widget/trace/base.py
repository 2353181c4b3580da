"""Trace: what one forward pass leaves, as float32 numpy arrays (``docs/architecture.md``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import index_in, is_mean
from attn_widget.errors import NotAvailableError
from attn_widget.model.tokens import Token
from attn_widget.trace.windows.masks import Mask, reach_of
from attn_widget.trace.windows.plan import Windows

Floats = NDArray[np.float32]
Bools = NDArray[np.bool_]
Head = int | Literal["mean"]
EVERY = slice(None)
LONG_TOKENS = (
    1024  # beyond, matrices are computed by blocks of rows, and never those of a whole layer
)
BLOCK_ROWS = 128  # of a long text: such a block of 8,192 keys is 4 MB


class Area(NamedTuple):
    """Queries and keys."""

    rows: slice
    cols: slice


@dataclass
class Outputs:
    """The model's outputs besides attention; every part may be missing."""

    # Sequence of arrays or tensors [n, d], length L + 1; the first is the embeddings' output. Stacked when it is
    # first asked for.
    hidden_states: Any = None
    # Tensor [n, vocabulary]; of the language-model head; None without one, and where they are not kept
    # (`LogitsCache`).
    logits: Any = None
    # ``rows -> tensor [r, vocabulary]``, for logits that are not kept.
    compute_logits: Callable[[Any], Any] | None = None
    # [classes], [n, classes] (token) or [n, 2] (start and end of an answer).
    classifier_logits: Floats | None = None
    nsp_logits: Floats | None = None  # [2]; ``is next``, ``is not next``

    def parts(self) -> list[Any]:
        """The stored arrays and tensors."""
        states = self.hidden_states
        held = states if isinstance(states, (list, tuple)) else [states]
        return [*held, self.logits, self.classifier_logits, self.nsp_logits]


class Trace(ABC):
    """One forward pass over ``n`` tokens: ``L`` layers of ``H`` heads.

    Where queries and keys are two texts (cross-attention), matrices are [n, m] instead of [n, n], with ``m`` the number
    of ``key_tokens``.
    """

    has_scores: bool
    has_qkv: bool
    has_rest: bool = False
    """True if rows may sum to less than 1: a learned sink, which is no token, takes the rest."""
    mask_found: bool = False
    """True if the mask was found in the weights, instead of given by the model or the caller."""
    windows: Windows | None = None
    """Windows that the text was read in; None for one pass over all of it."""
    parts: Mapping[str, Trace] = MappingProxyType({})
    """The traces of a run's three kinds of attention (encoder, decoder, cross), this one among them; none of a run of one."""

    def __init__(
        self,
        tokens: Sequence[Token],
        n_layers: int,
        n_heads: int,
        head_dim: int,
        outputs: Outputs | None = None,
        key_tokens: Sequence[Token] | None = None,
    ) -> None:
        self.tokens: tuple[Token, ...] = tuple(tokens)
        # The same tuple, except in attention from one text to another.
        self.key_tokens = self.tokens if key_tokens is None else tuple(key_tokens)
        self.n_layers = n_layers
        self.n_heads = n_heads
        self.n_tokens = len(self.tokens)
        self.n_keys = len(self.key_tokens)
        self.head_dim = head_dim
        self._outputs = outputs or Outputs()

    # Attention of one layer

    @abstractmethod
    def layer_weights(self, layer: int) -> Floats:
        """Attention weights of a layer, float32 [H, n, n]: ``softmax(layer_scores)`` by row."""

    @abstractmethod
    def layer_scores(self, layer: int) -> Floats:
        """Scaled scores with mask and bias, float32 [H, n, n]; ``-inf`` where the mask forbids.

        Raises `NotAvailableError`: the trace holds weights only.
        """

    @abstractmethod
    def allowed(self, layer: int) -> Bools | None:
        """Which cells the model's mask allows, bool [n, n]; None when it allows all of them."""

    def mask(self, layer: int) -> Mask | None:
        """`allowed` by rule where the trace has one: of a long text no matrix [n, n]."""
        return self.allowed(layer)

    def rest(self, layer: int) -> Floats:
        """Share that each query gives to no key, float32 [H, n]: one minus the sum of its row; 0 without learned sinks."""
        if not self.has_rest:
            self._layer(layer)
            return np.zeros((self.n_heads, self.n_tokens), np.float32)
        rows = [
            1 - self.weights(layer, head).sum(axis=-1, dtype=np.float64)
            for head in range(self.n_heads)
        ]
        return np.maximum(np.stack(rows), 0).astype(np.float32)

    @abstractmethod
    def scaling(self, layer: int) -> float:
        """Factor of ``Q K^T``: ``1 / sqrt(d_k)`` in most models."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that the trace holds."""

    # Long texts

    def row_blocks(self, layer: int) -> list[Area]:
        """The rows of a layer, `BLOCK_ROWS` at a time, each with the keys outside which all is forbidden.

        A layer with a sliding window has few keys a block: the others need not be computed.
        """
        n, mask = self.n_tokens, self.mask(layer)
        blocks: list[Area] = []
        for start in range(0, n, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, n))
            reach = None if mask is None else reach_of(mask, rows)
            blocks.append(Area(rows, slice(*(reach or (0, self.n_keys)))))
        return blocks

    def head_blocks(
        self, layer: int, head: int, areas: Sequence[Area]
    ) -> Iterator[tuple[Area, Floats]]:
        """The weights of one head, block by block: each area with its weights, float32 [rows, cols]."""
        whole = self.weights(layer, head)
        for area in areas:
            yield area, whole[area]

    def picked_rows(self, layer: int, rows: NDArray[np.intp]) -> Floats:
        """The weights of a few queries in all heads of a layer, float32 [H, r, n]."""
        heads = [self.weights(layer, head)[rows] for head in range(self.n_heads)]
        return np.stack(heads)

    # One head

    @abstractmethod
    def queries(self, layer: int, head: int) -> Floats:
        """Queries of one head, float32 [n, head_dim], after any rotation."""

    @abstractmethod
    def keys(self, layer: int, head: int) -> Floats:
        """Keys of one head, float32 [n, head_dim], after any rotation."""

    @abstractmethod
    def values(self, layer: int, head: int) -> Floats:
        """Values of one head, float32 [n, head_dim]."""

    def weights(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Floats:
        """Attention weights of one head, or of the layer's mean head, float32 [rows, cols]: queries and keys."""
        area = (rows or EVERY, cols or EVERY)
        if is_mean(head):
            return self.layer_weights(self._layer(layer)).mean(axis=0)[area]
        return self.layer_weights(self._layer(layer))[self._head(head)][area]

    def scores(
        self, layer: int, head: int, rows: slice | None = None, cols: slice | None = None
    ) -> Floats:
        """Scaled scores of one head, float32 [rows, cols]; see `layer_scores`.

        Raises `NotAvailableError`: for ``"mean"``, as the softmax of averaged scores is not the average of the weights.
        """
        self._no_mean(head)
        return self.layer_scores(self._layer(layer))[self._head(head)][rows or EVERY, cols or EVERY]

    @abstractmethod
    def bias(self, layer: int, head: int) -> Floats | None:
        """Bias that the model adds to ``Q K^T * scaling``, float32 [n, n]; None without one.

        Relative position terms, mostly; the mask is not in it.
        """

    @property
    def n_key_heads(self) -> int:
        """Sets of keys and values; fewer than heads where these are grouped."""
        return self.n_heads

    def softcap(self, layer: int) -> float | None:
        """``c`` where scores ``s`` become ``c * tanh(s / c)`` before bias and mask; None without such a cap."""
        self._layer(layer)
        return None

    def head_output(self, layer: int, head: int) -> Floats:
        """``weights @ values`` of one head, float32 [n, head_dim]."""
        return self.weights(layer, self._no_mean(head)) @ self.values(layer, head)

    # Beyond attention

    @property
    def hidden_states(self) -> Floats | None:
        """Embeddings' output and every layer's output, float32 [L + 1, n, d]."""
        states = self._outputs.hidden_states
        if states is None or isinstance(states, np.ndarray):
            return states
        stacked = np.empty((len(states), *states[0].shape), dtype=np.float32)
        for i, state in enumerate(states):
            stacked[i] = to_numpy(state)
        self._outputs.hidden_states = frozen(stacked)
        return self._outputs.hidden_states

    @property
    def logits(self) -> Floats | None:
        """Logits of the language-model head, float32 [n, vocabulary]; computed again when not kept."""
        logits = self.logits_tensor()
        return None if logits is None else to_numpy(logits)

    def logits_tensor(self, rows: Any = EVERY) -> Any:
        """Rows of the language-model head's logits as a tensor [r, vocabulary], in the model's type."""
        outputs = self._outputs
        logits = outputs.logits  # read once: another run may drop it
        if logits is not None:
            return logits[rows]
        return None if outputs.compute_logits is None else outputs.compute_logits(rows)

    @property
    def classifier_logits(self) -> Floats | None:
        """Float32 [classes]; [n, classes] for a token classifier; [n, 2] for question answering."""
        return self._outputs.classifier_logits

    @property
    def nsp_logits(self) -> Floats | None:
        """Next-sentence logits, float32 [2]: is next, is not next."""
        return self._outputs.nsp_logits

    # Checks

    def _layer(self, layer: int) -> int:
        return index_in(layer, self.n_layers, "layer")

    def _head(self, head: Any) -> int:
        return index_in(head, self.n_heads, "head")

    @property
    def square(self) -> bool:
        """True if queries and keys are the same tokens."""
        return self.key_tokens is self.tokens

    def check_square(self, what: str) -> None:
        """Refuse ``what``, for which queries and keys have to be the same tokens."""
        if not self.square:
            raise NotAvailableError(
                f"{what} needs one text, and here queries and keys are two texts: {self.n_tokens} target tokens look at "
                f"{self.n_keys} source tokens.",
                'Ask of("encoder") or of("decoder") for it.' if self.parts else "",
            )

    def check_one_pass(self, what: str) -> None:
        """Refuse ``what``, which joins what a text's windows have apart."""
        if self.windows is not None:
            raise NotAvailableError(
                f"{what} would join {len(self.windows.spans)} windows that the model has read separately.",
                "Analyze a part of the text that the model reads at once.",
            )

    def _no_mean(self, head: Any) -> int:
        if is_mean(head):
            raise NotAvailableError(
                "The mean head averages weights; it has no scores, queries, keys or values.",
                "Choose a head by its number.",
            )
        return self._head(head)

    def __repr__(self) -> str:
        by = "" if self.square else f" by {self.n_keys}"
        return (
            f"<{type(self).__name__} of {self.n_tokens}{by} tokens, {self.n_layers} layers of "
            f"{self.n_heads} heads, {self.nbytes / 1e6:.1f} MB>"
        )


def to_numpy(tensor: Any) -> Floats:
    """A tensor (or array) as float32 numpy, without a copy where it is one already."""
    if isinstance(tensor, np.ndarray):
        return tensor.astype(np.float32, copy=False)
    return tensor.detach().float().cpu().numpy()


def copy_of(tensor: Any) -> Any:
    """A tensor or an array that may be changed in place, in memory of its own."""
    return tensor.copy() if isinstance(tensor, np.ndarray) else tensor.clone()


def frozen(array: Floats) -> Floats:
    """The same memory, read-only: the trace gives out what it holds."""
    view = array.view()
    view.flags.writeable = False
    return view


def count_bytes(parts: Iterable[Any]) -> int:
    """Bytes of arrays and tensors; memory that several share counts once."""
    seen: dict[int, int] = {}
    for part in parts:
        if isinstance(part, np.ndarray):
            seen[part.__array_interface__["data"][0]] = part.nbytes
        elif part is not None:
            storage = part.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
    return sum(seen.values())
