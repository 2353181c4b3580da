"""Opening of a picture of a long text, from a sample of rows: not all matrices are computed for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.opening import chance_of, word_pairs

SAMPLED_ROWS = 32  # queries, evenly over the text


def sampled_links(analysis: Analysis) -> NDArray[np.float64]:
    """`attn_widget.analysis.opening.links_beyond_chance` over a sample of the queries, float64 [L, H]."""
    trace, n = analysis.trace, analysis.n_tokens
    words = np.flatnonzero([not token.special for token in trace.tokens])
    links = np.zeros((analysis.n_layers, analysis.n_heads))
    if words.size == 0:
        return links
    picked = words[np.unique(np.linspace(0, words.size - 1, SAMPLED_ROWS).astype(int))]
    by_mask: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
    for layer in range(analysis.n_layers):
        mask = trace.mask(layer)
        if id(mask) not in by_mask:
            pairs = word_pairs(trace.tokens, picked, mask)
            by_mask[id(mask)] = pairs.ravel().astype(np.float32), chance_of(mask, n)[picked]
        counted, chance = by_mask[id(mask)]
        beyond = trace.picked_rows(layer, picked) - chance
        np.maximum(np.nan_to_num(beyond, copy=False), 0, out=beyond)
        links[layer] = beyond.reshape(len(beyond), -1) @ counted / max(int(counted.sum()), 1)
    return links
