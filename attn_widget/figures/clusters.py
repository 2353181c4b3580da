"""K-means and silhouettes of a few hundred points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from attn_widget.figures.arrays import Float64, Int32

RESTARTS = 50  # Lloyd's steps end in local optima
STEPS = 300


def k_means(points: Float64, k: int, seed: int) -> tuple[Int32, Float64]:
    """Labels, int32 [m], and centers, float64 [k, F], of points [m, F] that are k different ones at least.

    Lloyd's steps until no label changes, from `RESTARTS` starts by k-means++; the smallest sum of squares is taken. The same
    seed gives the same.

    References
    ----------
    Arthur & Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.

    Examples
    --------
    >>> import numpy as np
    >>> labels, centers = k_means(np.array([[0.0], [1.0], [10.0], [11.0]]), 2, seed=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3]), sorted(centers[:, 0].tolist())
    (True, [0.5, 10.5])
    """
    random = np.random.default_rng(seed)
    centers = _starts(points, k, random)  # [R, k, F]
    labels = np.full((len(points), RESTARTS), -1)
    for _ in range(STEPS):
        squares = _squares(points, centers)
        before, labels = labels, squares.argmin(axis=-1)
        member = (labels[..., None] == np.arange(k)).astype(np.float64)
        for start in np.flatnonzero((member.sum(axis=0) == 0).any(axis=-1)):
            _fill(labels[:, start], member[:, start], squares[:, start])
        counts = member.sum(axis=0)
        sums = member.reshape(len(points), -1).T @ points
        centers = sums.reshape(centers.shape) / counts[..., None]
        if np.array_equal(before, labels):
            break
    best = int(_squares(points, centers).min(axis=-1).sum(axis=0).argmin())
    return labels[:, best].astype(np.int32), centers[best]


def _starts(points: Float64, k: int, random: np.random.Generator) -> Float64:
    """Points that are far from each other, float64 [R, k, F]: each the best of a few, drawn by the squared distance to those before."""
    tries, rows = 2 + int(math.log(k)), np.arange(RESTARTS)
    first = random.integers(len(points), size=RESTARTS)
    chosen = [first]
    nearest = _squares(points, points[first][:, None])[..., 0].T  # [R, m]
    for _ in range(k - 1):
        shares = nearest.cumsum(axis=1)
        drawn = random.random((RESTARTS, tries)) * shares[:, -1:]
        places = (shares[:, None] <= drawn[..., None]).sum(axis=-1).clip(max=len(points) - 1)
        left = np.minimum(nearest[:, None], _squares(points, points[places]).transpose(1, 2, 0))
        best = left.sum(axis=-1).argmin(axis=1)
        chosen.append(places[rows, best])
        nearest = left[rows, best]
    return points[np.stack(chosen, axis=1)]


def _squares(points: Float64, centers: Float64) -> Float64:
    """Squared distances to centers [R, k, F], float64 [m, R, k]."""
    products = points @ centers.reshape(-1, points.shape[1]).T
    lengths = (centers**2).sum(axis=-1)
    squares = (points**2).sum(axis=1)[:, None, None] + lengths - 2 * products.reshape(-1, *lengths.shape)  # fmt: skip
    return np.maximum(squares, 0)


def _fill(labels: Any, member: Float64, squares: Float64) -> None:
    """Give each cluster without a point the one that is worst off where it is."""
    for empty in np.flatnonzero(member.sum(axis=0) == 0):
        own = squares[np.arange(len(labels)), labels]
        own = np.where(member.sum(axis=0)[labels] > 1, own, -1)
        far = int(own.argmax())
        member[far], labels[far] = 0, empty
        member[far, empty] = 1


def mean_silhouette(points: Float64, labels: Int32) -> float:
    """Mean of ``(b - a) / max(a, b)``: ``a`` the mean distance to the rest of its cluster, ``b`` to the nearest other; 0 of one that is alone.

    References
    ----------
    Rousseeuw, Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> round(mean_silhouette(np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])), 3)
    0.9
    """
    member = labels[:, None] == np.unique(labels)
    counts = member.sum(axis=0)
    sums = np.stack([np.linalg.norm(points - one, axis=1) for one in points]) @ member
    own = member.argmax(axis=1)
    rows = np.arange(len(points))
    alone = counts[own] == 1
    inner = sums[rows, own] / np.maximum(counts[own] - 1, 1)
    others = sums / counts
    others[rows, own] = np.inf
    outer = others.min(axis=1)
    largest = np.maximum(inner, outer)
    scores = np.divide(outer - inner, largest, out=np.zeros(len(points)), where=largest > 0)
    return float(np.where(alone, 0, scores).mean())
