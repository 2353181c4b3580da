"""WeightsTrace: attention weights computed elsewhere. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError
from attn_widget.model.tokens import Token
from attn_widget.trace.base import Bools, Floats, Outputs, Trace, count_bytes, frozen


class WeightsTrace(Trace):
    """Holds the weights themselves: for families that do not dispatch, and for tensors from outside.

    Parameters
    ----------
    tokens : sequence of Token, length n
    weights : sequence of float [H, n, n], length L
        Rows sum to 1, or to less with `has_rest`.
    scores : sequence of float32 [H, n, n], optional
        Scaled, with mask and bias: ``softmax(scores) = weights``.
    queries, keys, values : sequence of float32 [H, n, head_dim], optional
    scaling : sequence of float, optional
        By layer; goes with the queries.
    allowed : sequence of (bool [n, n] or None), optional
        By layer; None where every cell is possible.
    outputs : Outputs, optional
    has_rest : bool
        Whether rows may sum to less than 1.
    mask_found : bool
        Whether `allowed` was found in the weights.
    key_tokens : sequence of Token, length m, optional
        Where they are another text than the queries: weights are then [H, n, m].
    reason : str
        Why a part is missing, for the error.
    """

    def __init__(
        self,
        tokens: Sequence[Token],
        weights: Sequence[Any],
        *,
        scores: Sequence[Any] | None = None,
        queries: Sequence[Any] | None = None,
        keys: Sequence[Any] | None = None,
        values: Sequence[Any] | None = None,
        scaling: Sequence[float] | None = None,
        allowed: Sequence[Bools | None] | None = None,
        outputs: Outputs | None = None,
        has_rest: bool = False,
        mask_found: bool = False,
        key_tokens: Sequence[Token] | None = None,
        reason: str = "only the attention weights are known",
    ) -> None:
        self._weights = _layers(weights)
        self._held: dict[str, Sequence[Any] | None] = {
            "scores": None if scores is None else _layers(scores),
            "queries": None if queries is None else _layers(queries),
            "keys": None if keys is None else _layers(keys),
            "values": None if values is None else _layers(values),
            "scaling": scaling,
        }
        self._allowed = allowed
        self._reason = reason
        self.has_rest = has_rest
        self.mask_found = mask_found
        self.has_scores = scores is not None
        self.has_qkv = queries is not None
        head_dim = 0 if queries is None else int(queries[0].shape[-1])
        heads = self._weights[0].shape[0]
        super().__init__(tokens, len(self._weights), heads, head_dim, outputs, key_tokens)

    def layer_weights(self, layer: int) -> Floats:
        return self._weights[self._layer(layer)]

    def picked_rows(self, layer: int, rows: NDArray[np.intp]) -> Floats:
        return self.layer_weights(layer)[:, rows]

    def layer_scores(self, layer: int) -> Floats:
        return self._part("scores", layer)

    def queries(self, layer: int, head: int) -> Floats:
        return self._part("queries", layer)[self._no_mean(head)]

    def keys(self, layer: int, head: int) -> Floats:
        return self._part("keys", layer)[self._no_mean(head)]

    def values(self, layer: int, head: int) -> Floats:
        return self._part("values", layer)[self._no_mean(head)]

    def bias(self, layer: int, head: int) -> Floats | None:
        product = self.queries(layer, head) @ self.keys(layer, head).T * self.scaling(layer)
        return self.scores(layer, head) - product

    def allowed(self, layer: int) -> Bools | None:
        layer = self._layer(layer)
        return None if self._allowed is None else self._allowed[layer]

    def scaling(self, layer: int) -> float:
        return float(self._part("scaling", layer))

    def _part(self, name: str, layer: int) -> Any:
        layer, held = self._layer(layer), self._held[name]
        if held is None:
            raise NotAvailableError(f"No {name} here: {self._reason}.")
        return held[layer]

    @property
    def nbytes(self) -> int:
        parts: list[Any] = [*self._weights, *(self._allowed or ()), *self._outputs.parts()]
        for name in ("scores", "queries", "keys", "values"):
            parts += self._held[name] or ()
        return count_bytes(parts)


def _layers(arrays: Sequence[Any]) -> list[Floats]:
    return [frozen(np.asarray(layer, dtype=np.float32)) for layer in arrays]
