"""Means, over the strongest cells of a head in one text, of what earlier heads bring to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.errors import InputError
from attn_widget.features.qk.cell import attribution, cell_of, row_of
from attn_widget.features.qk.kept import Kept
from attn_widget.features.qk.split import SIDES
from attn_widget.figures.arrays import Float32, Float64

CELLS = 3  # of a text


class Fed(NamedTuple):
    """Means over the strongest cells of a head.

    Attributes
    ----------
    cells : list of (int, int)
        Query and key of each, the strongest first.
    weight, contrast : float
    heads : float32 [2, layer, H]
        What each earlier head brings to the contrast, on the query side and on the key side.
    rest : float32 [2, 2]
        By side: of all feed-forward networks, and of embeddings, biases and positions.
    """

    cells: list[tuple[int, int]]
    weight: float
    contrast: float
    heads: Float32
    rest: Float32


def strongest(kept: Kept, layer: int, head: int, k: int = CELLS) -> list[tuple[int, int]]:
    """The ``k`` cells of largest weight that lead from one word to another, in rows with a third one.

    Special tokens and the first token of a decoder are no words.
    """
    tokens = kept.run.trace.tokens
    weights = np.zeros((len(tokens), len(tokens)))
    for query in range(kept.run.encoder.predicts == "next", len(tokens)):
        if tokens[query].special:
            continue
        row = row_of(kept, layer, head, query)
        plain = row.plain
        if plain.sum() - plain[query] >= 2:
            weights[query] = np.where(plain, row.weights, 0)
            weights[query, query] = 0
    order = np.argsort(-weights, axis=None, kind="stable")[:k]
    places = [divmod(int(at), weights.shape[1]) for at in order]
    return [(query, key) for query, key in places if weights[query, key] > 0]


def fed(analysis: Analysis, layer: int, head: int) -> Fed:
    """Mean of what earlier heads bring to the strongest cells of a head.

    Raises
    ------
    InputError
        A text without three words.
    NotAvailableError
        As `Analysis.qk_attribution` by parts.
    """
    kept, n_heads = analysis._qk_kept, analysis.trace.n_heads  # pyright: ignore[reportPrivateUsage]
    cells = strongest(kept, layer, head)
    if not cells:
        raise InputError("No word of this text looks at another one, and could look at a third.")
    heads: Float64 = np.zeros((2, layer, n_heads))
    rest: Float64 = np.zeros((2, 2))
    weight = contrast = 0.0
    for query, key in cells:
        cell = cell_of(kept, layer, head, query, key, "others", "parts", "apart")
        found = attribution(cell, sources=False)
        weight += found.weight / len(cells)
        contrast += found.contrast / len(cells)
        for at, side in enumerate(SIDES):
            for part, value in zip(*found.parts(side), strict=True):
                if part.layer is not None and part.head is not None:
                    heads[at, part.layer, part.head] += value / len(cells)
                else:
                    rest[at, 0 if part.kind == "ffn" else 1] += value / len(cells)
    return Fed(cells, weight, contrast, heads.astype(np.float32), rest.astype(np.float32))
