"""Figures of attention, of one head and across all: they need the trace alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attn_widget.analysis.base import AnalysisBase
from attn_widget.analysis.long.layered import LayeredWalk
from attn_widget.checks import (
    index_in,
    slice_in,
)
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32, Head
from attn_widget.figures.long import Visit
from attn_widget.figures.marginals import Marginals
from attn_widget.figures.metrics import (
    Metrics,
)
from attn_widget.figures.rollout import mean_heads, rollout, rollout_of_mask
from attn_widget.host.memory import check_memory
from attn_widget.trace.base import LONG_TOKENS
from attn_widget.trace.windows.masks import Mask, looks_back

MASK_EXPLAINS = (
    0.5  # share of the last position from which a rollout says more of the mask than of the model
)
ROLLOUT_BUFFERS = 3  # matrices besides those of the layers


class AttentionFigures(AnalysisBase):
    """Figures of the attention matrices."""

    def attention(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        """Attention weights, float32 [n, n] or the rows (queries) and columns (keys) asked for.

        Of cross-attention [n, m]: rows are target tokens, columns source tokens.

        Parameters
        ----------
        layer : int
            0 to L - 1.
        head : int or "mean"
            0 to H - 1; ``"mean"`` averages the layer's matrices.
        rows, cols : slice, optional

        Raises
        ------
        InputError
            A layer or head that does not exist, rows or columns that hold nothing.
        InputTypeError
            Rows or columns that are no slice.
        """
        return self.trace.weights(layer, head, *self._area(rows, cols))

    def scores(
        self, layer: int, head: int, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        """Scaled scores with the model's mask and bias, float32 [n, n]; their softmax is `attention`.

        ``-inf`` where the mask forbids.

        Parameters
        ----------
        layer, head : int
        rows, cols : slice, optional
            Queries and keys; by default all.

        Raises
        ------
        NotAvailableError
            For ``"mean"``, and where only weights are known.
        InputError, InputTypeError
            As in `attention`.
        """
        return self.trace.scores(layer, head, *self._area(rows, cols))

    def rollout(self, layer: int | None = None) -> Float32:
        """Attention rollout after a layer (the last one by default), float32 [n, n].

        Row ``i``: how much of position ``i`` comes from each input token (Abnar & Zuidema 2020).

        Parameters
        ----------
        layer : int, optional
            0 to L - 1.

        Raises
        ------
        NotAvailableError
            The masks alone explain it: see `rollout_of_mask`. A causal mask does so after a few layers.
        """
        self._check_rolls("Rollout")
        layer = (
            self.trace.n_layers - 1
            if layer is None
            else index_in(layer, self.trace.n_layers, "layer")
        )
        self._check_rollout(layer)
        if self.trace.n_tokens > LONG_TOKENS and "rollout" not in self._cache:
            layers = self.trace.n_layers + ROLLOUT_BUFFERS
            check_memory("Rollout", lambda n: 4 * layers * n**2, self.trace.n_tokens)
        steps = self._cached("rollout", lambda: list(rollout(mean_heads(self.trace))))
        return steps[layer]

    def _check_rolls(self, what: str) -> None:
        """Refuse ``what``, which multiplies the layers' matrices, where these are not all that a layer reads."""
        self.trace.check_one_pass(what)
        self.trace.check_square(what)
        if self.part == "decoder":
            raise NotAvailableError(
                f"{what} follows attention through the layers, and between those of this decoder stands attention to "
                "the source, which has no place in it.",
                'Ask why.contributions() for the shares of source and target, or of("encoder") for a rollout.',
            )

    def _check_rollout(self, layer: int) -> None:
        """Refuse a rollout that says where the masks let attention go, and little of the model."""
        limit = self._rollout_limit()
        if limit is None or layer < limit[0]:
            return
        token, share = rollout_of_mask(self._masks()[: layer + 1], self.trace.n_tokens)
        raise NotAvailableError(
            f"A rollout to layer {layer} shows the mask, not the model: attention that is uniform over the "
            f"keys that the mask allows gives {share:.3f} of the last position to token {token} "
            f"({self.tokens[token].text}).",
            f"Choose {'' if limit[0] == 0 else f'a layer below {limit[0]}, '}the weights themselves, or the rollout "
            "of ALTI.",
        )

    def _rollout_limit(self) -> tuple[int, int, float] | None:
        """See `HeadFigures.rollout_limit`."""
        masks = self._masks()
        if not any(looks_back(mask) for mask in {id(mask): mask for mask in masks}.values()):
            return None

        def first() -> tuple[int, int, float] | None:
            for layer in range(self.trace.n_layers):
                token, share = rollout_of_mask(masks[: layer + 1], self.trace.n_tokens)
                if share > MASK_EXPLAINS:
                    return layer, token, share
            return None

        return self._cached("rollout_limit", first)

    def _area(self, rows: Any, cols: Any) -> tuple[slice, slice]:
        return slice_in(rows, self.trace.n_tokens, "rows"), slice_in(
            cols, self.trace.n_keys, "cols"
        )

    def _walk(self) -> tuple[Metrics, Marginals]:
        """All figures of the matrices themselves, in one pass over them."""

        def walk() -> tuple[Metrics, Marginals]:
            layers = self._layered()
            layers.finish()
            return layers.result()

        return self._cached_unlocked("walk", walk)

    def _layered(
        self, visit: Visit | None = None, begin: Callable[[int], None] | None = None
    ) -> LayeredWalk:
        """The pass over all heads, or one that ``visit`` shares."""
        with self._lock:
            started: LayeredWalk | None = self._cache.get("layered")
            if visit is None and started is not None:
                return started
            walk = LayeredWalk(self.trace, visit, begin, self._cache.get("walk"))
            self._cache.setdefault("layered", walk)
            return walk

    def _masks(self) -> list[Mask | None]:
        return [self.trace.mask(layer) for layer in range(self.trace.n_layers)]


def walk(
    analysis: AttentionFigures, visit: Visit, begin: Callable[[int], None] | None = None
) -> LayeredWalk:
    """A pass that calls ``visit(layer, heads, area, weights)`` with all weights, float32 [heads, rows, cols].

    A layer comes whole; in long texts head by head, a block of rows at a time, from several threads.
    Metrics and marginals are computed in the same pass, so that no layer is computed twice.
    ``begin`` is called with each layer's number before its weights come.
    """
    return analysis._layered(visit, begin)  # pyright: ignore[reportPrivateUsage]
