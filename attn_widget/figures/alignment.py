"""Alignment of two texts by cross-attention: where in the source each target token looks, and whether in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.catalog.specializations import ALIGNMENT
from attn_widget.figures.ranks import mean_ranks
from attn_widget.host.frames import dataframe, head_records

if TYPE_CHECKING:
    from pandas import DataFrame


MIN_ROWS = 3  # target tokens from which an order says something
DECIMALS = (
    4  # of a source place: places that agree in these are equal, and rounding decides no order
)


@dataclass(frozen=True)
class Monotony:
    """Places in the source at which target tokens look, by every head.

    Attributes
    ----------
    expected : float32 [L, H, n]
        Expected source place of each target token, ``sum_j j A[i, j]``: 0 is the first source token, m - 1 the last.
    monotony : float32 [L, H]
        Spearman's correlation of that place with the target token's own: 1 where a head goes through the source from
        left to right, -1 where it goes backwards; NaN for fewer than three target tokens, or where all places are equal.
    n_keys : int
        Number of source tokens, m. A head that looks everywhere alike expects place (m - 1) / 2.
    """

    expected: Float32
    monotony: Float32
    n_keys: int

    def to_dataframe(self) -> DataFrame:
        """One row a head: ``layer``, ``head``, ``monotony`` and the mean ``expected`` place (needs pandas)."""
        return dataframe(head_records(**self.as_dict()))

    def as_dict(self) -> dict[str, Float32]:
        """A figure of each head by name, float32 [L, H]."""
        figures = (self.monotony, self.expected.mean(axis=-1))
        return {metric.key: values for metric, values in zip(ALIGNMENT, figures, strict=True)}

    def __repr__(self) -> str:
        layers, heads, n = self.expected.shape
        return (
            f"Monotony({layers} layers, {heads} heads, {n} target by {self.n_keys} source tokens)"
        )


def alignment(layers: Sequence[Float32]) -> Monotony:
    """The alignment of every head.

    ``layers``, sequence of float32 [H, n, m]: weights of each layer: rows are target tokens.

    References
    ----------
    Raffel, Luong, Liu, Weiss & Eck (2017), Online and Linear-Time Attention by Enforcing Monotonic Alignments, ICML.

    Examples
    --------
    >>> import numpy as np
    >>> there = np.eye(4, dtype=np.float32)[None]
    >>> a = alignment([np.concatenate([there, there[:, ::-1], np.full((1, 4, 4), 0.25)])])
    >>> a.expected[0, 0].tolist(), a.monotony.tolist()
    ([0.0, 1.0, 2.0, 3.0], [[1.0, -1.0, nan]])
    """
    m = layers[0].shape[-1]
    expected = np.stack([weights.astype(np.float64) @ np.arange(m) for weights in layers])
    return Monotony(expected.astype(np.float32), _monotony(expected).astype(np.float32), m)


def _monotony(expected: Float64) -> Float64:
    """Spearman's correlation of places [..., n] with 0 to n - 1."""
    n = expected.shape[-1]
    if n < MIN_ROWS:
        return np.full(expected.shape[:-1], np.nan)
    ranks = mean_ranks(expected.round(DECIMALS))
    ranks = ranks - ranks.mean(axis=-1, keepdims=True)
    order = np.arange(n) - (n - 1) / 2
    scale = np.sqrt((ranks**2).sum(axis=-1) * (order**2).sum())
    found = np.full(expected.shape[:-1], np.nan)
    return np.divide(ranks @ order, scale, out=found, where=scale > 0)
