"""Attention flow: maximum flow through the layers (docs/definitions.md, section 6; Abnar & Zuidema 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attn_widget.checks import index_in, indices_in
from attn_widget.errors import InputError
from attn_widget.figures.arrays import Float32, Int32
from attn_widget.figures.rollout import with_residual
from attn_widget.host.installed import require

# scipy's maximum flow takes int32 capacities. What leaves the source sums to one row, hence to 1,
# so no flow exceeds UNIT. Rounding moves a cut of c edges by at most c / (2 UNIT): the smallest cut
# has at most n^2 edges a layer, and 128 tokens over 12 layers stay below 1e-4, in practice 1e-7.
UNIT = 1 << 30
MAX_EDGES = 3_000_000  # of the layered graph: about 500 tokens in 12 layers; scipy holds 5 arrays


def attention_flow(
    means: Sequence[Float32], token: int, keys: Sequence[int] | None = None
) -> Float32:
    """Maximum flow from a token of the last layer to tokens of the input.

    The layered graph has a node for every token before and after each layer, and an edge of
    capacity ``A_hat_l[i, j]`` (attention and residual, `with_residual`) from ``i`` after layer ``l``
    to ``j`` before it. Each input token is the sink of a maximum flow of its own.

    ``means``, sequence of float32 [n, n]: mean heads, first layer first. ``token``: the position in the last layer
    that flow leaves from. ``keys``: the input tokens to compute; by default all n. Returns float32 [n] or
    [len(keys)], in [0, 1]: flows to different tokens share edges, so they do not sum to 1. Raises `InputError`: a
    position out of range, or a graph of more than `MAX_EDGES` edges. Raises `InputTypeError`: `keys` is no list of
    positions. Raises `NotAvailableError`: SciPy is not installed.

    Notes
    -----
    Capacities are rounded to multiples of 2^-30, because `scipy.sparse.csgraph.maximum_flow` counts
    in integers.

    References
    ----------
    Abnar & Zuidema, "Quantifying Attention Flow in Transformers", ACL 2020.

    Examples
    --------
    >>> import numpy as np
    >>> attention_flow([np.array([[0, 1], [0, 1]], dtype=np.float32)], 0).tolist()
    [0.5, 0.5]
    """
    require("scipy", "Attention flow")
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n = means[0].shape[0]
    token = index_in(token, n, "token")
    sinks = range(n) if keys is None else indices_in(keys, n, "keys")
    edges = (len(means) - 1) * n * n + n
    if edges > MAX_EDGES:
        raise InputError(
            f"Attention flow through {len(means)} layers of {n} tokens is a graph of {edges:,} "
            f"edges, more than {MAX_EDGES:,}.",
            "Merge subwords into words, take a shorter text, or use rollout.",
        )
    tails: list[Int32] = []
    heads: list[Int32] = []
    capacities: list[Int32] = []
    for layer, mean in enumerate(means):
        capacity = np.rint(with_residual(mean) * UNIT).astype(np.int32)
        if layer == len(means) - 1:  # what does not start at the token cannot carry anything
            capacity[np.arange(n) != token] = 0
        i, j = np.nonzero(capacity)
        tails.append((i + (layer + 1) * n).astype(np.int32))
        heads.append((j + layer * n).astype(np.int32))
        capacities.append(capacity[i, j])
    size = (len(means) + 1) * n
    graph = csr_array(
        (np.concatenate(capacities), (np.concatenate(tails), np.concatenate(heads))),
        shape=(size, size),
    )
    source = len(means) * n + token
    flows = {sink: maximum_flow(graph, source, sink).flow_value / UNIT for sink in set(sinks)}
    return np.minimum(np.array([flows[sink] for sink in sinks]), 1).astype(np.float32)
