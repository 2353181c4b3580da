"""Attention rollout, and how much attention changes from layer to layer (docs/definitions.md, section 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.trace import Trace
from attn_widget.trace.windows.masks import Mask, keys_per_query, sums_by_key


def mean_heads(trace: Trace) -> Iterator[Float32]:
    """The mean matrix of each layer's heads, float32 [n, n], one layer at a time."""
    for layer in range(trace.n_layers):
        yield trace.weights(layer, "mean")


def with_residual(mean: Float32) -> Float64:
    """``0.5 A + 0.5 I`` with rows renormalized, float64 [n, n]: attention and the residual stream.

    A row without weights (NaN: all of it lay on tokens that were left out) passes by the residual.

    >>> import numpy as np
    >>> with_residual(np.array([[0, 1], [0, 1]], dtype=np.float32)).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    mixed = 0.5 * np.nan_to_num(np.asarray(mean, dtype=np.float64))
    mixed[np.diag_indices_from(mixed)] += 0.5
    return mixed / mixed.sum(axis=1, keepdims=True)


def rollout(means: Iterable[Float32]) -> Iterator[Float32]:
    """Attention rollout after each layer: ``R_l = A_hat_l R_{l-1}``, ``R_{-1} = I``.

    ``means``, iterable of float32 [n, n]: mean heads, first layer first; at least one. Returns float32 [n, n]:
    ``R_l[i, j]``: how much of position ``i`` after layer ``l`` comes from input token ``j``. Rows sum to 1.

    References
    ----------
    Abnar & Zuidema, "Quantifying Attention Flow in Transformers", ACL 2020.

    Examples
    --------
    >>> import numpy as np
    >>> first, second = rollout([np.array([[0, 1], [0, 1]], dtype=np.float32)] * 2)
    >>> second.tolist()
    [[0.25, 0.75], [0.0, 1.0]]
    """
    rolled: Float64 | None = None
    for mean in means:
        step = with_residual(mean)
        rolled = step if rolled is None else step @ rolled
        yield rolled.astype(np.float32)


def rollout_of_mask(masks: Sequence[Mask | None], n: int) -> tuple[int, float]:
    """The token that attention uniform over the possible keys gives most to, and how much: what a rollout owes to the masks.

    ``masks``, sequence of (bool [n, n], a rule, or None): of the layers up to the one of the rollout, first layer
    first. ``token``: other than the last one, which the rollout starts from. ``share``: of the last position; 0 for
    one token.

    >>> token, share = rollout_of_mask([np.tri(14, dtype=bool)] * 30, 14)
    >>> token, round(share, 3)
    (0, 0.998)
    """
    row = np.zeros(n)
    row[-1] = 1
    for mask in reversed(masks):
        even = np.full(n, n) if mask is None else np.maximum(keys_per_query(mask), 1)
        given = row / even
        carried = np.full(n, given.sum()) if mask is None else sums_by_key(mask, given)
        row = 0.5 * row + 0.5 * carried
    others = row[:-1]
    if not others.size:
        return 0, 0.0
    return int(others.argmax()), float(others.max())


def layer_change(means: Iterable[Float32]) -> Float32:
    """Jensen-Shannon distance between the mean heads of neighboring layers, averaged over rows.

    ``sqrt((KL(p, m) + KL(q, m)) / 2)`` with ``m = (p + q) / 2`` and natural logarithms.

    ``means``, iterable of float32 [n, n]: mean heads, first layer first; rows are rescaled to sum to 1. Returns
    float32 [L - 1], in [0, sqrt(ln 2)]: from layer ``l`` to layer ``l + 1``. NaN when no row has any weight.

    References
    ----------
    Endres & Schindelin, IEEE Transactions on Information Theory 49, 2003 (the distance is a metric).

    Examples
    --------
    >>> import numpy as np
    >>> eye, swap = np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32)[::-1]
    >>> [f"{change:.4f}" for change in layer_change([eye, eye, swap])]
    ['0.0000', '0.8326']
    """
    changes: list[float] = []
    before: Float64 | None = None
    for mean in means:
        wide = np.asarray(mean, dtype=np.float64)
        totals = wide.sum(axis=1, keepdims=True)
        rows = wide / np.where(totals > 0, totals, np.nan)
        if before is not None:
            middle = (rows + before) / 2
            divergence = (entropy(rows, middle) + entropy(before, middle)).sum(axis=1) / 2
            # Rounding leaves rows that agree a little below zero.
            distances = np.sqrt(np.maximum(divergence, 0))
            defined = distances[~np.isnan(distances)]
            changes.append(float(defined.mean()) if defined.size else float("nan"))
        before = rows
    return np.array(changes, dtype=np.float32)


def entropy(p: Float64, q: Float64) -> Float64:
    """``p log(p / q)``, 0 where ``p`` is 0: `scipy.special.rel_entr`, whose import takes longer than a first picture."""
    return p * np.log(np.divide(p, q, out=np.ones_like(p), where=p > 0))
