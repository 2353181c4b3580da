"""Ranks of numbers, ties sharing their mean: what Spearman's correlation is of."""

from __future__ import annotations

from typing import Any

import numpy as np

from attn_widget.figures.arrays import Float64


def mean_ranks(values: Any) -> Float64:
    """Ranks from 1 along the last axis, float64 [..., n]; NaN throughout a row that holds one. SciPy's take a second to import.

    >>> mean_ranks([30, 10, 30, 20]).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    given = np.asarray(values, dtype=np.float64)
    n = given.shape[-1]
    order = np.argsort(given, axis=-1, kind="stable")
    ordered = np.take_along_axis(given, order, axis=-1)
    place = np.broadcast_to(np.arange(n), given.shape)
    new = np.ones(given.shape, dtype=np.bool_)
    new[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    ends = np.ones(given.shape, dtype=np.bool_)
    ends[..., :-1] = new[..., 1:]
    last = np.minimum.accumulate(np.where(ends, place, n)[..., ::-1], axis=-1)[..., ::-1]
    ranks = np.empty(given.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    ranks[np.isnan(given).any(axis=-1)] = np.nan
    return ranks
