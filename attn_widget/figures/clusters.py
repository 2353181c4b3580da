"""K-means and silhouettes of a few hundred points, as scikit-learn computes them, whose import takes a second."""

from __future__ import annotations

import math

import numpy as np

from attn_widget.figures.arrays import Float64, Int32

RESTARTS = 10  # Lloyd's steps end in local optima
STEPS = 300
TOLERANCE = 1e-4  # of the mean variance: centers that move less have arrived


def k_means(points: Float64, k: int, seed: int) -> tuple[Int32, Float64]:
    """Labels, int32 [m], and centers, float64 [k, F], of points [m, F] that are k different ones at least.

    The tightest of `RESTARTS` clusterings, each from starts by greedy k-means++. The same seed gives the same, and what
    ``sklearn.cluster.KMeans`` finds with it.

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
    random = np.random.RandomState(seed)
    mean = points.mean(axis=0)
    points = points - mean
    fits = [lloyd(points, _starts(points, k, random)) for _ in range(RESTARTS)]
    labels, centers = min(fits, key=lambda fit: float(((points - fit[1][fit[0]]) ** 2).sum()))
    return labels.astype(np.int32), centers + mean


def _starts(points: Float64, k: int, random: np.random.RandomState) -> Float64:
    """Points far from each other, [k, F]: each the best of a few, drawn by the squared distance to those before."""
    tries, m = 2 + int(math.log(k)), len(points)
    chosen = [int(random.choice(m, p=np.full(m, 1 / m)))]
    nearest = _squares(points[chosen], points)[0]
    while len(chosen) < k:
        drawn = np.cumsum(nearest).searchsorted(random.uniform(size=tries) * nearest.sum())
        drawn = drawn.clip(max=m - 1)
        left = np.minimum(nearest, _squares(points[drawn], points))
        best = int(left.sum(axis=1).argmin())
        chosen.append(int(drawn[best]))
        nearest = left[best]
    return points[chosen]


def _squares(some: Float64, points: Float64) -> Float64:
    """Squared distances, [n, m]."""
    squares = -2 * (some @ points.T) + (some**2).sum(axis=1)[:, None] + (points**2).sum(axis=1)
    return np.maximum(squares, 0)


def lloyd(points: Float64, centers: Float64) -> tuple[Int32, Float64]:
    """Labels of the nearest centers, and the means of what has them, until neither changes."""
    limit = TOLERANCE * points.var(axis=0).mean()
    labels = _nearest(points, centers)
    for _ in range(STEPS):
        means = _means(points, labels, centers)
        moved = ((means - centers) ** 2).sum()
        before, centers = labels, means
        labels = _nearest(points, centers)
        if moved <= limit or np.array_equal(labels, before):
            break
    return labels, centers


def _nearest(points: Float64, centers: Float64) -> Int32:
    return ((centers**2).sum(axis=1) - 2 * (points @ centers.T)).argmin(axis=1)


def _means(points: Float64, labels: Int32, centers: Float64) -> Float64:
    """The mean of each cluster; one without points gets the point that is farthest from the center it has."""
    member = (labels == np.arange(len(centers))[:, None]).astype(np.float64)  # [k, m]
    empty = np.flatnonzero(member.sum(axis=1) == 0)
    if empty.size:
        far = np.argsort(-((points - centers[labels]) ** 2).sum(axis=1), kind="stable")
        member[:, far[: empty.size]] = 0
        member[empty, far[: empty.size]] = 1
    return member @ points / np.maximum(member.sum(axis=1), 1)[:, None]


def distances(points: Float64) -> Float64:
    """Euclidean distances between points [m, F], float64 [m, m]."""
    return np.stack([np.linalg.norm(points - one, axis=1) for one in points])


def mean_silhouette(apart: Float64, labels: Int32) -> float:
    """Mean of ``(b - a) / max(a, b)``: ``a`` the mean distance to the rest of its cluster, ``b`` to the nearest other; 0 of one that is alone.

    ``apart``: the `distances`.

    References
    ----------
    Rousseeuw, Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> apart = distances(np.array([[0.0], [1.0], [10.0], [11.0]]))
    >>> round(mean_silhouette(apart, np.array([0, 0, 1, 1])), 3)
    0.9
    """
    member = labels[:, None] == np.unique(labels)
    counts = member.sum(axis=0)
    sums = apart @ member
    own = member.argmax(axis=1)
    rows = np.arange(len(labels))
    inner = sums[rows, own] / np.maximum(counts[own] - 1, 1)
    others = sums / counts
    others[rows, own] = np.inf
    outer = others.min(axis=1)
    largest = np.maximum(inner, outer)
    scores = np.divide(outer - inner, largest, out=np.zeros(len(labels)), where=largest > 0)
    return float(np.where(counts[own] == 1, 0, scores).mean())
