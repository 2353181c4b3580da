"""Where a picture of a long text opens, from a sample of rows: not all matrices are computed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.opening import word_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attn_widget.analysis import Analysis

SAMPLED_ROWS = 32  # queries, evenly over the text


def sampled_links(analysis: Analysis, layers: Sequence[int] | None = None) -> NDArray[np.float64]:
    """`attn_widget.analysis.opening.links_beyond_chance` over a sample of the queries, float64 [L, H].

    Parameters
    ----------
    layers : sequence of int, optional
        By default all; the others stay 0.
    """
    trace, n = analysis.trace, analysis.n_tokens
    words = np.flatnonzero([not token.special for token in trace.tokens])
    links = np.zeros((analysis.n_layers, analysis.n_heads))
    if words.size == 0:
        return links
    picked = words[np.unique(np.linspace(0, words.size - 1, SAMPLED_ROWS).astype(int))]
    pairs = word_pairs(trace.tokens, picked)
    count = int(pairs.sum())
    counted = pairs.ravel().astype(np.float32)
    chance = np.float32(1 / n)
    for layer in range(analysis.n_layers) if layers is None else layers:
        beyond = trace.picked_rows(layer, picked) - chance
        np.maximum(np.nan_to_num(beyond, copy=False), 0, out=beyond)
        links[layer] = beyond.reshape(len(beyond), -1) @ counted / max(count, 1)
    return links
