"""Figures of attention, of one head and across all: they need the trace alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from attn_widget.analysis.base import AnalysisBase
from attn_widget.analysis.long.layered import LayeredWalk
from attn_widget.checks import (
    check_flag,
    check_seed,
    index_in,
    indices_in,
    is_mean,
    slice_in,
)
from attn_widget.figures.arrays import Float32, Head, Tau
from attn_widget.figures.flow import attention_flow
from attn_widget.figures.influence import Influence, influence_tree
from attn_widget.figures.long import Visit, walk_heads
from attn_widget.figures.marginals import Marginals
from attn_widget.figures.metrics import (
    TAU,
    Metrics,
    compute_metrics,
    threshold,
)
from attn_widget.figures.patterns import Patterns, positional_patterns
from attn_widget.figures.roles import Roles, head_roles
from attn_widget.figures.rollout import layer_change, mean_heads, rollout
from attn_widget.figures.sentences import SentenceAttention
from attn_widget.figures.specialization import Specialization, specialize
from attn_widget.figures.tables import head_records
from attn_widget.host.frames import dataframe
from attn_widget.host.memory import check_memory
from attn_widget.trace.base import LONG_TOKENS

ROLLOUT_BUFFERS = 3  # matrices beside those of the layers


class AttentionFigures(AnalysisBase):
    """Figures of the attention matrices."""

    # Attention of one head

    def attention(
        self, layer: int, head: Head, rows: slice | None = None, cols: slice | None = None
    ) -> Float32:
        """Attention weights, float32 [n, n] or the rows (queries) and columns (keys) asked for.

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

    def queries(self, layer: int, head: int) -> Float32:
        """Queries of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self.trace.queries(layer, head)

    def keys(self, layer: int, head: int) -> Float32:
        """Keys of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self.trace.keys(layer, head)

    def values(self, layer: int, head: int) -> Float32:
        """Values of one head, float32 [n, head_dim].

        Parameters
        ----------
        layer, head : int
        """
        return self.trace.values(layer, head)

    # Figures of every head

    @property
    def metrics(self) -> Metrics:
        """The attention metrics of every head, float32 [L, H] each; see `layer_metrics`."""
        return self.metrics_at()

    def metrics_at(self, tau: Tau = TAU, *, mean_head: bool = False) -> Metrics:
        """The attention metrics with another threshold of sparsity, or of the mean heads.

        Parameters
        ----------
        tau : float or "uniform"
            0.01 as published, or ``1 / n``.
        mean_head : bool
            Of each layer's mean matrix, a pseudo-head: arrays are [L, 1].
        """
        threshold(tau, self.n_tokens)  # refuses what is no threshold
        mean_head = check_flag(mean_head, "mean_head")
        if tau == TAU and not mean_head:
            return self._walk()[0]
        key = ("metrics", tau, mean_head)
        if self.n_tokens > LONG_TOKENS and not mean_head:
            return self._once(key, lambda: walk_heads(self.trace, tau)[0])
        return self._once(key, lambda: compute_metrics(self.trace, tau, mean_head=mean_head))

    @property
    def marginals(self) -> Marginals:
        """Attention that each key receives in every head, and the sums near the diagonal."""
        return self._walk()[1]

    @property
    def specialization(self) -> Specialization:
        """The seven specialization metrics of every head; see `specialize`."""
        return self._once("specialization", self._specialize)

    @property
    def patterns(self) -> Patterns:
        """Mean weight of every head on the previous and the next token; see `positional_patterns`."""

        def find() -> Patterns:
            allowed = [self.trace.mask(layer) for layer in range(self.n_layers)]
            return positional_patterns(self.marginals, allowed)

        return self._once("patterns", find)

    def roles(self, seed: int = 0) -> Roles:
        """Heads clustered by their specialization on this text: k-means, with k in 2..8 by silhouette.

        Parameters
        ----------
        seed : int
            The same seed gives the same roles.

        Raises
        ------
        NotAvailableError
            Nothing tells the heads apart.
        InputError, InputTypeError
            ``seed`` is no int from 0 to 2**32 - 1.
        """
        seed = check_seed(seed)
        key = ("roles", seed)
        if key not in self._cache:  # found without the lock: to load scikit-learn takes seconds
            roles = head_roles(self.specialization.zscores(), seed)
            return self._once(key, lambda: roles)
        return self._cache[key]

    def to_dataframe(self) -> Any:
        """One row per head: ``layer``, ``head``, every metric (needs pandas)."""
        columns = {**self.metrics.as_dict(), **self.specialization.raw}
        return dataframe(head_records(columns))

    # Figures across heads and layers

    @property
    def sentences(self) -> SentenceAttention:
        """Attention between the sentences of the text."""
        return self._once("sentences", self._sentences)

    def influence(
        self,
        token: int,
        *,
        layer: int,
        head: int | Literal["mean", "rollout"],
        top_k: int = 3,
        depth: int = 3,
        special: bool = True,
    ) -> Influence:
        """The tree of tokens that a token looks at; see `influence_tree`.

        Parameters
        ----------
        token : int
            The root.
        layer : int
        head : int, "mean" or "rollout"
            One head, the layer's mean head, or rollout up to the layer.
        top_k, depth : int
            Children of each token; edges from the root to a leaf.
        special : bool
            Whether special tokens may be children.

        Raises
        ------
        InputError, InputTypeError
            A token, layer, head or count that does not exist or is no int, or a tree too large to read.
        """
        allowed = scores = None
        special = check_flag(special, "special")
        if isinstance(head, str) and head == "rollout":
            weights = self.rollout(layer)
            masked = any(self.trace.mask(i) is not None for i in range(self.n_layers))
            allowed = weights > 0 if masked else None
        else:
            weights = self.attention(layer, head)
            allowed = self.trace.allowed(layer)
            if not is_mean(head) and self.trace.has_scores:
                scores = self.scores(layer, head)  # pyright: ignore[reportArgumentType]
        keep = None if special else np.array([not t.special for t in self.trace.tokens])
        return influence_tree(
            weights, token, top_k=top_k, depth=depth, scores=scores, keep=keep, allowed=allowed
        )

    def rollout(self, layer: int | None = None) -> Float32:
        """Attention rollout after a layer (the last one by default), float32 [n, n].

        Row ``i``: how much of position ``i`` comes from each input token (Abnar & Zuidema 2020).

        Parameters
        ----------
        layer : int, optional
            0 to L - 1.
        """
        self.trace.check_one_pass("Rollout")
        if self.n_tokens > LONG_TOKENS and "rollout" not in self._cache:
            layers = self.n_layers + ROLLOUT_BUFFERS
            check_memory("Rollout", lambda n: 4 * layers * n**2, self.n_tokens)
        steps = self._once("rollout", lambda: list(rollout(mean_heads(self.trace))))
        return steps[-1 if layer is None else index_in(layer, self.n_layers, "layer")]

    def flow(self, token: int, keys: Sequence[int] | None = None) -> Float32:
        """Maximum flow from a token of the last layer to each token of the input separately, 0 to 1.

        Through the layers' mean heads and residuals (Abnar & Zuidema 2020). Flows to different tokens share
        edges, so they do not sum to 1.

        Parameters
        ----------
        token : int
            Position in the last layer.
        keys : sequence of int, optional
            Input tokens; by default all n.

        Returns
        -------
        float32 [n] or [len(keys)]

        Raises
        ------
        InputError
            A position out of range, or a text that is too long (about 500 tokens in 12 layers).
        InputTypeError
            ``keys`` is no list of positions.
        """
        self.trace.check_one_pass("Attention flow")
        token = index_in(token, self.n_tokens, "token")
        keys = None if keys is None else indices_in(keys, self.n_tokens, "keys")
        key = ("flow", token, None if keys is None else tuple(keys))
        return self._once(key, lambda: attention_flow(list(mean_heads(self.trace)), token, keys))

    @property
    def layer_change(self) -> Float32:
        """Jensen-Shannon distance from each layer's mean head to the next, float32 [L - 1]."""
        return self._once("layer_change", lambda: layer_change(mean_heads(self.trace)))

    def _area(self, rows: Any, cols: Any) -> tuple[slice, slice]:
        n = self.n_tokens
        return slice_in(rows, n, "rows"), slice_in(cols, n, "cols")

    def _walk(self) -> tuple[Metrics, Marginals]:
        """All figures of the matrices themselves, in one pass over them."""

        def walk() -> tuple[Metrics, Marginals]:
            layers = self._layered()
            layers.finish()
            return layers.result()

        return self._freely("walk", walk)

    def _layered(
        self, visit: Visit | None = None, begin: Callable[[int], None] | None = None
    ) -> LayeredWalk:
        """The pass over all heads, or one that ``visit`` shares."""
        with self.lock:
            started: LayeredWalk | None = self._cache.get("layered")
            if visit is None and started is not None:
                return started
            walk = LayeredWalk(self.trace, visit, begin, self._cache.get("walk"))
            self._cache.setdefault("layered", walk)
            return walk

    def _specialize(self) -> Specialization:
        from attn_widget.language import key_sets

        sets, reasons = key_sets(self.language)
        first = self.tokens[0].special
        return specialize(self.marginals, sets, reasons, first_is_summary=first)

    def _sentences(self) -> SentenceAttention:
        language = self.language
        members: list[list[int]] = [[] for _ in language.sentences]
        for i, token in enumerate(language.tokens):
            if token.sentence is not None and not token.special:
                members[token.sentence].append(i)
        return SentenceAttention(self.trace, members, [s.text for s in language.sentences])


def walk(
    analysis: AttentionFigures, visit: Visit, begin: Callable[[int], None] | None = None
) -> LayeredWalk:
    """A pass that calls ``visit(layer, heads, area, weights)`` with all weights, float32 [heads, rows, cols].

    A layer comes whole; in long texts head by head, a block of rows at a time, from several threads.
    Metrics and marginals are computed in the same pass, so that no layer is computed twice.
    ``begin`` is called with each layer's number before its weights come.
    """
    return analysis._layered(visit, begin)  # pyright: ignore[reportPrivateUsage]
