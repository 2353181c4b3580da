"""Figures of all heads, layer by layer: for whoever waits for all, and for a page that draws what is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from attn_widget.figures.arrays import Float32
from attn_widget.figures.choice import Choice, kinds_of
from attn_widget.figures.long import Visit, visit_layer, walk_layer
from attn_widget.figures.marginals import (
    Marginals,
    layer_marginals,
    received_alone,
    stack_marginals,
)
from attn_widget.figures.metrics import (
    TAU,
    Metrics,
    layer_metrics,
    stack_metrics,
    usable_cores,
)
from attn_widget.host.memory import check_memory
from attn_widget.trace import Trace
from attn_widget.trace.base import LONG_TOKENS, Area

STREAMED_CELLS = 6e7  # weights of all heads: some 0.7 s of figures on two cores
STREAMED_OF_PATCHES = 1e6  # of tokens that spell nothing: a model of images is small, and its view asks for rows of its own


def comes_in_layers(trace: Trace) -> bool:
    """True if the figures of all heads take so long that a picture should not wait for them; never of two texts."""
    if not trace.square:
        return False
    last = trace.tokens[-1]
    spelled = last.special or last.end or not trace.has_qkv
    most = STREAMED_CELLS if spelled else STREAMED_OF_PATCHES
    return trace.n_layers * trace.n_heads * trace.n_tokens**2 > most


class LayerFigures(NamedTuple):
    """Figures of one layer: metrics by key, float32 [H] each, and marginals."""

    metrics: dict[str, Float32]
    marginals: Marginals


class LayeredWalk:
    """One pass over the heads of all layers, of which several threads may do a part.

    ``visit``: sees all weights on their way; see `attn_widget.figures.long.Visit`. ``begin``: called with a layer
    before its weights come, also where an earlier attempt was given up. ``known``: figures that need not be
    computed again: then all is for ``visit``.
    """

    def __init__(
        self,
        trace: Trace,
        visit: Visit | None = None,
        begin: Callable[[int], None] | None = None,
        computed: tuple[Metrics, Marginals] | None = None,
    ) -> None:
        self._trace = trace
        self._visit = visit
        self._begin = begin
        self._known = computed
        self._first = 0
        self._working = threading.Lock()
        self._found: dict[int, LayerFigures | None] = {}  # in the order in which they were computed

    @property
    def done(self) -> tuple[int, ...]:
        """Layers whose figures are here, in the order in which they came."""
        return tuple(self._found)

    @property
    def complete(self) -> bool:
        """True if all layers are here."""
        return len(self._found) == self._trace.n_layers

    def prefer(self, layer: int) -> None:
        """Take this layer next, if it is not here."""
        self._first = layer

    def metrics_of(self, layer: int) -> dict[str, Float32]:
        """Metrics of the heads of a layer that is here, float32 [H] each."""
        computed = self._found[layer]
        if computed is not None:
            return computed.metrics
        assert self._known is not None
        return {key: values[layer] for key, values in self._known[0].values.items()}

    def step(self, check: Callable[[], None] | None = None) -> bool:
        """Compute one more layer; False when none is left.

        ``check`` is called before each block of weights; what it raises ends the work on this layer, and
        comes out of here. The layers that are here stay.
        """
        with self._working:
            layer = next(
                (i for i in (self._first, *range(self._trace.n_layers)) if i not in self._found),
                None,
            )
            if layer is None:
                return False
            self._found[layer] = self._compute(layer, check)
            return True

    def finish(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Compute all that is missing; ``progress`` gets ``(layers done, n_layers)``, and may raise."""
        total = self._trace.n_layers
        while True:
            if progress is not None and not self.complete:
                progress(len(self._found), total)
            if not self.step():
                return

    def result(self) -> tuple[Metrics, Marginals]:
        """The figures of all layers, once they are complete."""
        if self._known is not None:
            return self._known
        layers = [self._found[layer] for layer in range(self._trace.n_layers)]
        computed = [layer for layer in layers if layer is not None]
        return (
            stack_metrics([layer.metrics for layer in computed], TAU),
            stack_marginals([layer.marginals for layer in computed]),
        )

    def _compute(self, layer: int, check: Callable[[], None] | None) -> LayerFigures | None:
        n = self._trace.n_tokens
        if (
            n > LONG_TOKENS
        ):  # each core has the cells of one head, and what the quartiles copy of them
            check_memory("The heads' figures", lambda n: 6 * usable_cores() * n**2, n)
        if self._begin is not None:
            self._begin(layer)
        visit = checked(self._visit, check)
        trace = self._trace
        if trace.n_tokens > LONG_TOKENS and trace.square:
            if self._known is None:
                return LayerFigures(*walk_layer(trace, layer, TAU, visit))
            if visit is not None:
                visit_layer(trace, layer, visit)
            return None
        weights = trace.layer_weights(layer)
        every, keys = slice(0, trace.n_tokens), slice(0, trace.n_keys)
        if visit is not None:
            visit(layer, slice(0, trace.n_heads), Area(every, keys), weights)
        if self._known is not None:
            return None
        mask = trace.allowed(layer)
        if not trace.square:
            figures = layer_metrics(weights, mask, square=False)
            return LayerFigures(figures, received_alone(weights))
        queries = None if mask is None else Choice(mask, n).queries
        sums = layer_marginals(weights, queries, kinds_of(trace.tokens))
        return LayerFigures(layer_metrics(weights, mask), sums)


def checked(visit: Visit | None, check: Callable[[], None] | None) -> Visit | None:
    """``visit``, with ``check`` before each of its calls."""
    if check is None:
        return visit

    def both(layer: int, heads: slice, area: Area, weights: Float32) -> None:
        check()
        if visit is not None:
            visit(layer, heads, area, weights)

    return both
