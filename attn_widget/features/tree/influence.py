"""The token influence tree (docs/definitions.md, section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attn_widget.checks import check_count, index_in
from attn_widget.errors import InputError
from attn_widget.figures.arrays import Bool, Float32
from attn_widget.host.frames import dataframe

if TYPE_CHECKING:
    from pandas import DataFrame


MAX_NODES = 20_000  # more than a page can draw or a reader can read


@dataclass(frozen=True)
class Influence:
    """A token of the tree, with the edge from its parent.

    Attributes
    ----------
    token : int
        Position in the text.
    depth : int
        Edges from the root.
    weight : float or None
        ``A[parent, token]``; None for the root.
    product : float
        Product of the weights on the path from the root; 1 for the root.
    score : float or None
        Scaled score ``S[parent, token]``; None for the root, and where attention has no scores of
        its own (mean head, rollout).
    children : tuple of Influence
        By weight, then by position.
    """

    token: int
    depth: int
    weight: float | None
    product: float
    score: float | None
    children: tuple[Influence, ...] = ()

    def walk(self) -> Iterator[Influence]:
        """The node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def to_dict(self) -> dict[str, Any]:
        """Nested dicts, for JSON: ``token, depth, weight, product, score, children``."""
        return {
            "token": self.token,
            "depth": self.depth,
            "weight": self.weight,
            "product": self.product,
            "score": self.score,
            "children": [child.to_dict() for child in self.children],
        }

    def to_dataframe(self) -> DataFrame:
        """One row an edge: ``parent, token, depth, weight, product, score`` (needs pandas)."""
        return dataframe(
            {
                "parent": node.token,
                "token": child.token,
                "depth": child.depth,
                "weight": child.weight,
                "product": child.product,
                "score": child.score,
            }
            for node in self.walk()
            for child in node.children
        )

    def __repr__(self) -> str:
        nodes = sum(1 for _ in self.walk())
        return f"Influence(token={self.token}, depth={self.depth}, {nodes} nodes)"


def influence_tree(
    weights: Float32,
    root: int,
    *,
    top_k: int = 3,
    depth: int = 3,
    scores: Float32 | None = None,
    keep: Bool | None = None,
    allowed: Bool | None = None,
) -> Influence:
    """The tokens that a token looks at most, those that they look at most, and so on.

    The children of ``t`` are the `top_k` keys with the largest ``A[t, .]``, by weight and then by
    position, never a token that is already on the path from the root.

    ``weights``, float32 [n, n]: of one head, of a layer's mean head, or a rollout. ``top_k``, ``depth``: children
    of each token, at least 1; edges from the root to a leaf, at least 0. ``scores``, float32 [n, n]: scaled scores,
    reported with each weight. ``keep``, bool [n]: False for tokens that are left out, such as special ones. The
    root always stays. ``allowed``, bool [n, n]: False where the model's mask makes a weight impossible. Raises
    `InputError`: the root is no position, `top_k` or `depth` is out of range, or the tree could have more than
    `MAX_NODES` tokens. Raises `InputTypeError`: `top_k` or `depth` is no int.

    >>> import numpy as np
    >>> a = np.array([[0.1, 0.6, 0.3], [0.5, 0.1, 0.4], [0.2, 0.7, 0.1]], dtype=np.float32)
    >>> tree = influence_tree(a, 0, top_k=1, depth=2)
    >>> [(node.token, round(node.product, 2)) for node in tree.walk()]
    [(0, 1.0), (1, 0.6), (2, 0.24)]
    """
    n = weights.shape[0]
    root = index_in(root, n, "token")
    top_k, depth = check_count(top_k, "top_k", 1), check_count(depth, "depth", 0)
    nodes = level = 1
    for above in range(min(depth, n - 1)):
        level *= min(top_k, n - 1 - above)
        nodes += level
        if nodes > MAX_NODES:
            raise InputError(
                f"A tree with top_k {top_k} and depth {depth} could have over {MAX_NODES:,} tokens.",
                "Take fewer children or levels.",
            )
    usable = ~np.isnan(weights)
    if keep is not None:
        usable = usable & keep
    if allowed is not None:
        usable = usable & allowed
    ranked: dict[int, list[int]] = {}

    def keys_of(token: int) -> list[int]:
        if token not in ranked:
            keys = np.flatnonzero(usable[token])
            # A path bars at most `depth` keys, so this many are enough.
            order = np.argsort(-weights[token, keys], kind="stable")[: top_k + depth]
            ranked[token] = keys[order].tolist()
        return ranked[token]

    def grow(token: int, above: tuple[int, ...], product: float) -> tuple[Influence, ...]:
        if len(above) == depth:
            return ()
        path = (*above, token)
        children = [key for key in keys_of(token) if key not in path][:top_k]
        return tuple(edge(token, key, path, product) for key in children)

    def edge(parent: int, token: int, path: tuple[int, ...], above: float) -> Influence:
        weight = float(weights[parent, token])
        product = above * weight
        score = None if scores is None else float(scores[parent, token])
        return Influence(token, len(path), weight, product, score, grow(token, path, product))

    return Influence(root, 0, None, 1.0, None, grow(root, (), 1.0))
