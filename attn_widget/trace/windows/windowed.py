"""WindowedTrace: the traces of overlapping windows, seen as one over the whole text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import NotAvailableError
from attn_widget.model.tokens import Token
from attn_widget.trace.base import EVERY, Area, Bools, Floats, Head, Outputs, Trace
from attn_widget.trace.windows.masks import Mask, RowSpans
from attn_widget.trace.windows.plan import Windows

HINT = "Analyze a part of the text that the model reads at once."


class WindowedTrace(Trace):
    """Attention of a text that a model read in overlapping windows.

    The row of a query is a whole row of the window in which it is most central: it sums to 1. Keys outside
    of that window are forbidden, as by a mask: no weight is made up between windows. All windows' leading
    special tokens share their positions on the axis, and so do the trailing ones: a query looks at those of its
    own window.

    ``tokens``: of the whole text. ``traces``: one for each window. ``token_logits``: whether a classifier labels
    tokens, each in its own window. ``local``, int [n]: number of each token in its own window.
    """

    has_qkv = False

    def __init__(
        self,
        tokens: Sequence[Token],
        traces: Sequence[Trace],
        windows: Windows,
        *,
        token_logits: bool = False,
    ) -> None:
        first = traces[0]
        super().__init__(tokens, first.n_layers, first.n_heads, first.head_dim, Outputs())
        self.windows = self.plan = windows
        self.has_scores = first.has_scores
        self._traces = list(traces)
        n = len(tokens)
        before = windows.spans[0][0]
        after = n - windows.spans[-1][1]
        ends = (np.arange(before), np.arange(n - after, n))
        # Position on the axis of every token of a window.
        self._places = [
            np.concatenate([ends[0], np.arange(*span), ends[1]]) for span in windows.spans
        ]
        self.local = np.empty(n, dtype=np.intp)
        for number, places in enumerate(self._places):
            own = windows.of[places] == number
            self.local[places[own]] = np.flatnonzero(own)
        self._masks: dict[int, Mask] = {}
        if token_logits:
            rows = [trace.classifier_logits for trace in traces]
            self._outputs.classifier_logits = self._gathered(rows)

    # Attention

    def layer_weights(self, layer: int) -> Floats:
        layer = self._layer(layer)
        return np.stack([self.weights(layer, head) for head in range(self.n_heads)])

    def layer_scores(self, layer: int) -> Floats:
        layer = self._layer(layer)
        return np.stack([self.scores(layer, head) for head in range(self.n_heads)])

    def weights(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Floats:
        layer = self._layer(layer)
        return self._rows(rows, cols, 0, lambda trace: trace.weights(layer, head))

    def scores(
        self, layer: int, head: int, rows: slice | None = None, cols: slice | None = None
    ) -> Floats:
        layer, head = self._layer(layer), self._no_mean(head)
        return self._rows(rows, cols, -np.inf, lambda trace: trace.scores(layer, head))

    def picked_rows(self, layer: int, rows: NDArray[np.intp]) -> Floats:
        rows_of_heads = np.zeros((self.n_heads, len(rows), self.n_tokens), dtype=np.float32)
        for number in np.unique(self.plan.of[rows]):
            mine = np.flatnonzero(self.plan.of[rows] == number)
            part = self._traces[number].picked_rows(layer, self.local[rows[mine]])
            rows_of_heads[:, mine[:, None], self._places[number]] = part
        return rows_of_heads

    def head_blocks(
        self, layer: int, head: int, areas: Sequence[Area]
    ) -> Iterator[tuple[Area, Floats]]:
        layer, head = self._layer(layer), self._no_mean(head)
        matrices: dict[int, Floats] = {}

        def matrix(trace: Trace) -> Floats:
            if id(trace) not in matrices:
                while len(matrices) > 1:  # rows come in order, and so do windows
                    matrices.pop(next(iter(matrices)))
                matrices[id(trace)] = trace.weights(layer, head)
            return matrices[id(trace)]

        for area in areas:
            yield area, self._rows(area.rows, area.cols, 0, matrix)

    def _rows(
        self,
        rows: slice | None,
        cols: slice | None,
        outside: float,
        ask: Callable[[Trace], Floats],
    ) -> Floats:
        """Rows of the whole text, [r, n] cut to ``cols``: each from its window, with ``outside`` beyond it."""
        wanted = np.arange(self.n_tokens)[rows or EVERY]
        of = self.plan.of[wanted]
        matrix = np.full((len(wanted), self.n_tokens), outside, dtype=np.float32)
        for number in np.unique(of):
            mine = np.flatnonzero(of == number)
            part = ask(self._traces[number])[self.local[wanted[mine]]]
            matrix[mine[:, None], self._places[number]] = part
        return matrix[:, cols or EVERY]

    def allowed(self, layer: int) -> Bools | None:
        """Keys in the window of each query, where the model's own mask allows them too."""
        mask = self.mask(layer)
        return mask[:] if isinstance(mask, RowSpans) else mask

    def mask(self, layer: int) -> Mask:
        masks = [trace.allowed(self._layer(layer)) for trace in self._traces]
        key = 0 if masks[0] is None else id(masks[0])
        if key not in self._masks and all(mask is None for mask in masks):
            # The special tokens at the ends are those of every window.
            start, stop = np.array(self.plan.spans, dtype=np.int32)[self.plan.of].T
            common = np.ones(self.n_tokens, dtype=np.bool_)
            common[self.plan.spans[0][0] : self.plan.spans[-1][1]] = False
            self._masks[key] = RowSpans(start, stop, common)
        if key not in self._masks:
            joined = np.zeros((self.n_tokens, self.n_tokens), dtype=np.bool_)
            for number, places in enumerate(self._places):
                mine = np.flatnonzero(self.plan.of == number)
                mask = masks[number]
                joined[mine[:, None], places] = True if mask is None else mask[self.local[mine]]
            joined.flags.writeable = False
            self._masks[key] = joined
        return self._masks[key]

    def scaling(self, layer: int) -> float:
        return self._traces[0].scaling(layer)

    # A token has one query, key and value in every window that reads it.

    def queries(self, layer: int, head: int) -> Floats:
        raise self._several("queries", layer, head)

    def keys(self, layer: int, head: int) -> Floats:
        raise self._several("keys", layer, head)

    def values(self, layer: int, head: int) -> Floats:
        raise self._several("values", layer, head)

    def bias(self, layer: int, head: int) -> Floats | None:
        raise self._several("biases", layer, head)

    def head_output(self, layer: int, head: int) -> Floats:
        return self._gathered([trace.head_output(layer, head) for trace in self._traces])

    # Beyond attention

    @property
    def hidden_states(self) -> Floats | None:
        """Hidden states of each token in its window, float32 [L + 1, n, d]."""
        states = self._outputs.hidden_states
        if states is None and self._traces[0].hidden_states is not None:
            parts = [trace.hidden_states for trace in self._traces]
            states = self._gathered([np.moveaxis(part, 1, 0) for part in parts if part is not None])
            states = self._outputs.hidden_states = np.moveaxis(states, 0, 1)
        return states

    def logits_tensor(self, rows: Any = EVERY) -> Any:
        """Logits of each token in its window, [r, vocabulary]; None without a language-model head."""
        wanted = np.arange(self.n_tokens)[rows]
        logits: Any = None
        of = self.plan.of[wanted]
        for number in np.unique(of):
            mine = np.flatnonzero(of == number)
            part = self._traces[number].logits_tensor(self.local[wanted[mine]].tolist())
            if part is None:
                return None
            if logits is None:
                shape = (len(wanted), part.shape[-1])
                arrays = isinstance(part, np.ndarray)
                logits = np.empty(shape, part.dtype) if arrays else part.new_empty(shape)
            logits[mine] = part
        return logits

    @property
    def nbytes(self) -> int:
        return sum(trace.nbytes for trace in self._traces)

    def _several(self, what: str, layer: int, head: int) -> NotAvailableError:
        """Error for what a token has in every window that reads it."""
        self._layer(layer)
        self._no_mean(head)
        return NotAvailableError(
            f"The text was read in windows, and the {what} of a token differ between them.", HINT
        )

    def _gathered(self, parts: Sequence[Any]) -> Any:
        """Rows of each window [w, ...] as rows of the whole text [n, ...]; None where there are none."""
        if any(part is None for part in parts):
            return None
        joined = np.empty((self.n_tokens, *parts[0].shape[1:]), dtype=parts[0].dtype)
        for number, part in enumerate(parts):
            mine = np.flatnonzero(self.plan.of == number)
            joined[mine] = part[self.local[mine]]
        return joined
