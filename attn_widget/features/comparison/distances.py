"""Jensen-Shannon distances of two runs' heads over matched tokens, and the matching of heads (pure arrays)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks.rounding import first_largest
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.host.frames import Records, head_records
from attn_widget.host.installed import require

Heads = NDArray[np.int64]

LARGE = 512  # matched tokens, from which heads are taken one by one: less memory, and no slower


@dataclass(frozen=True)
class HeadMatching:
    """One head of B for each head of A, with the least total distance.

    Attributes
    ----------
    partner : int64 [L, H, 2]
        B's (layer, head) for every head of A; -1 for a head without one.
    distances : float64 [L, H]
        Distance of the two; NaN without a partner.
    unmatched_b : tuple of (int, int)
        Heads of B that no head of A has.
    """

    partner: Heads
    distances: Float64
    unmatched_b: tuple[tuple[int, int], ...]

    def __repr__(self) -> str:
        count = int((self.partner[..., 0] >= 0).sum())
        return f"<HeadMatching of {count} heads, mean distance {np.nanmean(self.distances):.4f}>"


@dataclass(frozen=True)
class HeadDistances(Records):
    """Distance of every head of A from its partner in B.

    Attributes
    ----------
    distances : float64 [L, H]
        Jensen-Shannon distance (natural logarithm, square root of the divergence, 0 to sqrt(ln 2)), mean
        over matched queries; keys restricted to matched ones and renormalized.
    dropped_a, dropped_b : float64 [L, H]
        Mean mass on keys that are not matched.
    partner : int64 [L, H, 2]
        B's (layer, head); the same one where the models have the same shape.
    n_queries : int
        Matched queries.
    """

    distances: Float64
    dropped_a: Float64
    dropped_b: Float64
    partner: Heads
    n_queries: int

    def to_records(self) -> list[dict[str, Any]]:
        """One record a head: ``layer, head, layer_b, head_b, distance, dropped_a, dropped_b``."""
        layer_b, head_b = np.moveaxis(self.partner, -1, 0)
        return head_records(
            layer_b=layer_b,
            head_b=head_b,
            distance=self.distances,
            dropped_a=self.dropped_a,
            dropped_b=self.dropped_b,
        )

    def __repr__(self) -> str:
        layer, head = divmod(first_largest(self.distances), self.distances.shape[1])
        return (
            f"<HeadDistances over {self.n_queries} matched tokens, largest "
            f"{self.distances[layer, head]:.4f}: layer {layer}, head {head}>"
        )


def restricted(
    weights: Float32, positions: NDArray[np.intp], keys: NDArray[np.intp] | None = None
) -> tuple[Float64, Float64]:
    """Rows and keys of matched tokens, rows renormalized, and the mean mass that was dropped.

    ``weights``: float32 [H, n, n], or [H, n, keys] of two texts. ``positions``: int [m]. ``keys``, int [k]: where
    keys are another text; by default ``positions``. Returns float64 [H, m, k], float64 [H]: a row without mass on
    matched keys is NaN.

    >>> rows, dropped = restricted(np.array([[[0.5, 0.5], [0.2, 0.8]]]), np.array([1]))
    >>> rows.tolist(), dropped.round(6).tolist()
    ([[[1.0]]], [0.2])
    """
    part = weights[:, positions[:, None], positions if keys is None else keys].astype(np.float64)
    part[~np.isfinite(part)] = 0
    whole = np.nansum(weights[:, positions], axis=-1, dtype=np.float64)
    mass = part.sum(axis=-1)
    share = np.divide(mass, whole, out=np.zeros_like(mass), where=whole > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows = np.where(mass[..., None] > 0, part / mass[..., None], np.nan)
    return rows, (1 - share).mean(axis=-1)


# Weights in float32 whose last digits differ are this far apart: such rows are equal.
RESOLUTION = 2.0**-20


def jensen_shannon(p: Float64, q: Float64) -> Float64:
    """Jensen-Shannon distance of rows, natural logarithm: float64 [...] of [..., m]; 0 below `RESOLUTION`.

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])).round(6)
    np.float64(0.832555)
    """
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = _times_log(p, middle) + _times_log(q, middle)
    distance = np.sqrt(np.maximum(divergence.sum(axis=-1) / 2, 0))
    return np.where(distance < RESOLUTION, 0, distance)


def mean_distance(p: Float64, q: Float64) -> Float64:
    """Mean over queries of the distance of rows, float64 [...] of [..., m, m]; NaN where no row has mass."""
    if p.ndim > 2 and p.shape[-1] > LARGE:
        pairs = zip(*np.broadcast_arrays(p, q), strict=True)
        return np.stack([mean_distance(pair, other) for pair, other in pairs])
    distances = jensen_shannon(p, q)
    there = ~np.isnan(distances)
    total = np.where(there, distances, 0).sum(axis=-1)
    count = there.sum(axis=-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def every_distance(rows_a: Iterable[Float64], rows_b: Iterable[Float64]) -> Float64:
    """Distance of every head of A from every head of B, float64 [heads of A, heads of B].

    ``rows_a``, ``rows_b``, iterables of float64 [H, m, m]: layers, as `restricted` gives them.
    """
    all_b = list(rows_b)
    return np.concatenate(
        [
            np.stack(
                [
                    np.concatenate([mean_distance(head[None], layer_b) for layer_b in all_b])
                    for head in layer_a
                ]
            )
            for layer_a in rows_a
        ]
    )


def match_heads(costs: Float64, shape_a: tuple[int, int], shape_b: tuple[int, int]) -> HeadMatching:
    """One-to-one matching of heads with the least total distance.

    ``costs``: float64 [L_A * H_A, L_B * H_B]. ``shape_a``, ``shape_b``: layers and heads. Raises
    `NotAvailableError`: SciPy is not installed.

    >>> match_heads(np.array([[0.9, 0.1], [0.2, 0.8]]), (1, 2), (1, 2)).partner.tolist()
    [[[0, 1], [0, 0]]]
    """
    require("scipy", "A matching of heads")
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.nan_to_num(costs, nan=1.0))
    partner = np.full((shape_a[0] * shape_a[1], 2), -1, dtype=np.int64)
    partner[rows] = np.stack(np.divmod(columns, shape_b[1]), axis=-1)
    distances = np.full(len(partner), np.nan)
    distances[rows] = costs[rows, columns]
    taken = {*columns.tolist()}
    left = [divmod(k, shape_b[1]) for k in range(shape_b[0] * shape_b[1]) if k not in taken]
    return HeadMatching(partner.reshape(*shape_a, 2), distances.reshape(shape_a), tuple(left))


def _times_log(p: Float64, middle: Float64) -> Float64:
    """``p ln(p / middle)``, 0 where p is 0, NaN where it is NaN."""
    return np.where(p == 0, 0.0, p * np.log(p / middle))
