"""K-means and silhouettes of a few hundred points."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from attn_widget.figures.arrays import Float64, Int32

RESTARTS = 30  # each ends in a local optimum
STEPS = 30


def k_means(points: Float64, k: int, seed: int) -> tuple[Int32, Float64]:
    """Labels, int32 [m], and centers, float64 [k, F], of points [m, F] that are k different ones at least.

    SciPy's k-means with starts by k-means++, the tightest of `RESTARTS`; the same seed gives the same. scikit-learn's takes a
    second to import, for which the first page would wait.

    Examples
    --------
    >>> import numpy as np
    >>> labels, centers = k_means(np.array([[0.0], [1.0], [10.0], [11.0]]), 2, seed=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3]), sorted(centers[:, 0].tolist())
    (True, [0.5, 10.5])
    """
    from scipy.cluster.vq import ClusterError, kmeans2

    # `rng` from SciPy 1.15 on, which takes both
    random: Any = {"seed": np.random.default_rng(seed)}
    fits: list[Any] = []
    while not fits:
        for _ in range(RESTARTS):
            with suppress(ClusterError):  # a cluster lost all its points
                fits.append(kmeans2(points, k, STEPS, minit="++", missing="raise", **random))
    _, labels = min(fits, key=lambda fit: float(((points - fit[0][fit[1]]) ** 2).sum()))
    centers = np.stack([points[labels == i].mean(axis=0) for i in range(k)])
    return labels.astype(np.int32), centers


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
