"""The tree of a head, as a name of ``a.heads``."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Literal

import numpy as np

from attn_widget.analysis.heads import HeadFigures
from attn_widget.checks import check_flag, is_mean
from attn_widget.features.tree.influence import Influence, influence_tree


class TreeFigures(HeadFigures):
    """Tokens that a token looks at, level by level."""

    def tree(
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
        self._analysis.trace.check_square("A tree of influence")
        allowed = scores = None
        special = check_flag(special, "special")
        if isinstance(head, str) and head == "rollout":
            weights = self._analysis.rollout(layer)
            masked = any(
                self._analysis.trace.mask(i) is not None
                for i in range(self._analysis.trace.n_layers)
            )
            allowed = weights > 0 if masked else None
        else:
            weights = self._analysis.attention(layer, head)
            allowed = self._analysis.trace.allowed(layer)
            if not is_mean(head) and self._analysis.trace.has_scores:
                scores = self._analysis.scores(layer, head)  # pyright: ignore[reportArgumentType]
        keep = None if special else np.array([not t.special for t in self._analysis.trace.tokens])
        return influence_tree(
            weights, token, top_k=top_k, depth=depth, scores=scores, keep=keep, allowed=allowed
        )
