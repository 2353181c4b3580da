"""QKVTrace: attention computed from Q and K whenever it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import is_mean
from attn_widget.host.memory import check_memory
from attn_widget.host.threads import one_blas_thread
from attn_widget.model.numpy_modules import softmax as numpy_softmax
from attn_widget.model.tokens import Token
from attn_widget.trace.base import (
    EVERY,
    LONG_TOKENS,
    Area,
    Bools,
    Floats,
    Head,
    Outputs,
    Trace,
    count_bytes,
    frozen,
    to_numpy,
)
from attn_widget.trace.windows.masks import Mask, RowSpans

if TYPE_CHECKING:
    import torch


MASKED = -5000.0  # half of the smallest number that a model adds to a score to forbid a cell


@dataclass
class LayerQKV:
    """Arguments of one layer's attention function; arrays where the pass was numpy's."""

    query: torch.Tensor | Floats  # [H, n, head_dim]
    key: torch.Tensor | Floats  # key, value: [H or fewer (grouped), n, head_dim]
    value: torch.Tensor | Floats
    scaling: float
    allowed: torch.Tensor | None = None  # bool tensor [1 or H, n, n]; False = forbidden by the mask
    bias: torch.Tensor | None = None  # float tensor [1 or H, n, n]; added to the scaled scores
    spans: RowSpans | None = None  # in place of ``allowed``: the rule of a long text's mask
    # Scores ``s`` become ``softcap * tanh(s / softcap)`` before bias and mask.
    softcap: float | None = None
    # Float tensor [H]; a learned score of each head that takes part in the softmax and is no key: rows sum to less
    # than 1.
    sinks: torch.Tensor | None = None


class QKVTrace(Trace):
    """Holds Q, K and V, and recomputes any head's scores and weights from them exactly.

    Memory grows with ``n``, not with ``n^2``.
    """

    has_scores = True
    has_qkv = True

    def __init__(
        self,
        tokens: Sequence[Token],
        layers: Sequence[LayerQKV],
        outputs: Outputs | None = None,
        key_tokens: Sequence[Token] | None = None,
    ) -> None:
        heads, _, head_dim = layers[0].query.shape
        super().__init__(tokens, len(layers), int(heads), int(head_dim), outputs, key_tokens)
        self._layers = list(layers)
        self.has_rest = any(layer.sinks is not None for layer in layers)
        # Weights are the softmax over the keys of products, plus a bias.
        self.plain = not self.has_rest and all(layer.softcap is None for layer in layers)
        self._masks: dict[int, Bools] = {}

    def _scores(
        self, layer: int, heads: slice = EVERY, rows: slice | list[int] = EVERY, cols: slice = EVERY
    ) -> Any:
        held = self._layers[layer]
        if isinstance(held.query, np.ndarray):
            query = held.query[heads, rows] * np.float32(held.scaling)
            with one_blas_thread():
                return query @ held.key[heads, cols].swapaxes(1, 2)
        import torch

        key = grouped(held.key, self.n_heads)[heads, cols].float()
        query = held.query[heads, rows].float() * held.scaling
        scores = torch.bmm(query, key.transpose(1, 2))
        if held.softcap is not None:
            scores = (scores / held.softcap).tanh_() * held.softcap
        if held.bias is not None:
            scores += held.bias[_shared(held.bias, heads), rows, cols]
        if held.allowed is not None:
            scores.masked_fill_(~held.allowed[_shared(held.allowed, heads), rows, cols], -torch.inf)
        if held.spans is not None:
            forbidden = torch.from_numpy(~held.spans[rows, cols])
            scores.masked_fill_(forbidden.to(scores.device), -torch.inf)
        return scores

    def _weights(
        self, layer: int, heads: slice = EVERY, rows: slice | list[int] = EVERY, cols: slice = EVERY
    ) -> Any:
        scores = self._scores(layer, heads, rows, cols)
        return softmax(scores, self._layers[layer].sinks, heads)

    def _rows(self, rows: slice | None) -> tuple[slice, slice]:
        """Rows to compute, and rows to cut out of those: a short head is computed whole, so that rows are bit-equal."""
        if self.n_tokens <= LONG_TOKENS:
            return EVERY, rows or EVERY
        return rows or EVERY, EVERY

    def layer_weights(self, layer: int) -> Floats:
        self._check_layer()
        return to_numpy(self._weights(self._layer(layer)))

    def _check_layer(self) -> None:
        """Refuse the matrices of a whole layer that the memory will not do."""
        if self.n_tokens > LONG_TOKENS:
            heads, instead = self.n_heads, "Or ask for one head at a time: weights(layer, head)."
            check_memory("A layer's matrices", lambda n: 8 * heads * n**2, self.n_tokens, instead)

    def layer_scores(self, layer: int) -> Floats:
        self._check_layer()
        return to_numpy(self._scores(self._layer(layer)))

    def weights(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Floats:
        layer, (part, rest) = self._layer(layer), self._rows(rows)
        if is_mean(head):
            weights = self._mean(layer, part)
        else:
            index = self._head(head)
            weights = self._weights(layer, slice(index, index + 1), part)[0]
        return to_numpy(weights)[rest, cols or EVERY]

    def _mean(self, layer: int, rows: slice) -> Any:
        """The mean head, one head at a time where the matrices of all would fill the memory."""
        if self.n_tokens <= LONG_TOKENS:
            return self._weights(layer, EVERY, rows).mean(0)
        total = self._weights(layer, slice(0, 1), rows)[0]
        for head in range(1, self.n_heads):
            total += self._weights(layer, slice(head, head + 1), rows)[0]
        return total / self.n_heads

    def picked_rows(self, layer: int, rows: NDArray[np.intp]) -> Floats:
        return to_numpy(self._weights(self._layer(layer), EVERY, rows.tolist()))

    def head_blocks(
        self, layer: int, head: int, areas: Sequence[Area]
    ) -> Iterator[tuple[Area, Floats]]:
        layer, index = self._layer(layer), self._no_mean(head)
        heads = slice(index, index + 1)
        for area in areas:
            yield area, to_numpy(self._weights(layer, heads, area.rows, area.cols)[0])

    def scores(
        self, layer: int, head: int, rows: slice | None = None, cols: slice | None = None
    ) -> Floats:
        layer, head = self._layer(layer), self._no_mean(head)
        part, rest = self._rows(rows)
        scores = self._scores(layer, slice(head, head + 1), part)[0]
        return to_numpy(scores)[rest, cols or EVERY]

    def queries(self, layer: int, head: int) -> Floats:
        return frozen(to_numpy(self._layers[self._layer(layer)].query[self._no_mean(head)]))

    def keys(self, layer: int, head: int) -> Floats:
        key = self._layers[self._layer(layer)].key
        return frozen(to_numpy(key[self._no_mean(head) * key.shape[0] // self.n_heads]))

    def values(self, layer: int, head: int) -> Floats:
        value = self._layers[self._layer(layer)].value
        return frozen(to_numpy(value[self._no_mean(head) * value.shape[0] // self.n_heads]))

    def bias(self, layer: int, head: int) -> Floats | None:
        held = self._layers[self._layer(layer)].bias
        head = self._no_mean(head)
        return None if held is None else to_numpy(held[head if held.shape[0] > 1 else 0])

    @property
    def n_key_heads(self) -> int:
        return int(self._layers[0].key.shape[0])

    def softcap(self, layer: int) -> float | None:
        return self._layers[self._layer(layer)].softcap

    def mask(self, layer: int) -> Mask | None:
        spans = self._layers[self._layer(layer)].spans
        return self.allowed(layer) if spans is None else spans

    def allowed(self, layer: int) -> Bools | None:
        spans = self._layers[self._layer(layer)].spans
        if spans is not None:
            return spans[:]
        held = self._layers[self._layer(layer)].allowed
        if held is None:
            return None
        key = held.data_ptr()  # layers of a kind share their mask
        if key not in self._masks:
            shared = held[0] if held.shape[0] == 1 else held.any(dim=0)
            mask = shared.cpu().numpy().view()
            mask.flags.writeable = False
            self._masks[key] = mask
        return self._masks[key]

    def scaling(self, layer: int) -> float:
        return self._layers[self._layer(layer)].scaling

    @property
    def nbytes(self) -> int:
        parts = self._outputs.parts()
        for held in self._layers:
            parts += [held.query, held.key, held.value, held.allowed, held.bias, held.sinks]
        rules = {id(held.spans): held.spans.nbytes for held in self._layers if held.spans}
        return count_bytes(parts) + sum(rules.values())


def large_negative(added: Any, possible: Any) -> Any:
    """Cells [n, n] that a mask of large negative numbers forbids in all heads: -10,000 of early models, -1e9.

    None where there are none: numbers of such a size that do not stand apart from the other ones, or that would leave a
    query without a key, are scores.

    ``added``, float tensor [1 or H, n, n]: scores, or what is added to them. ``possible``, bool tensor [n, n]:
    cells that are not known to be forbidden.
    """
    low = (added < MASKED).all(dim=0) & possible
    rest = added[:, possible & ~low]
    if not bool(low.any()) or not rest.numel() or float(rest.min()) < MASKED / 2:
        return None
    return low if bool((possible & ~low).any(dim=-1).all()) else None


def softmax(scores: Any, sinks: torch.Tensor | None = None, heads: slice = EVERY) -> Any:
    """Weights [H, r, n] of scores: over the keys, and over the heads' ``sinks`` where there are such."""
    if isinstance(scores, np.ndarray):
        return numpy_softmax(scores)
    if sinks is None:
        return scores.softmax(dim=-1)
    import torch

    column = sinks.float()[heads, None, None].expand(-1, scores.shape[1], 1)
    return torch.cat([scores, column], dim=-1).softmax(dim=-1)[..., :-1]


def grouped(key: Any, heads: int) -> Any:
    """Keys for every query head: grouped ones are shared by neighboring heads."""
    return key if key.shape[0] == heads else key.repeat_interleave(heads // key.shape[0], dim=0)


def _shared(mask: torch.Tensor, heads: slice) -> slice:
    return EVERY if mask.shape[0] == 1 else heads
