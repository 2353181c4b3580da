"""K-means, silhouettes and ranks against those of scikit-learn and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn import cluster
from sklearn.metrics import silhouette_score

import attn_widget as aw
from attn_widget.figures.clusters import k_means, mean_silhouette
from attn_widget.figures.ranks import mean_ranks
from attn_widget.figures.roles import in_order

KMeans: Any = cluster.KMeans


def squares(points: Any, labels: Any) -> float:
    means = np.stack([points[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    return float(((points - means[labels]) ** 2).sum())


def clouds(seed: int) -> Any:
    """72 points around six centers, in five dimensions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 5))[np.arange(72) % 6] + 0.4 * rng.normal(size=(72, 5))


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("seed", range(3))
def test_no_clusters_of_scikit_learn_are_tighter(k: int, seed: int) -> None:
    points = clouds(seed)
    labels, centers = k_means(points, k, seed)
    assert sorted(set(labels.tolist())) == list(range(k))
    theirs = KMeans(n_clusters=k, n_init=20, random_state=seed).fit(points)
    assert squares(points, labels) <= 1.02 * theirs.inertia_  # of local optima
    np.testing.assert_allclose(
        centers, np.stack([points[labels == i].mean(axis=0) for i in range(k)])
    )
    assert mean_silhouette(points, labels) == pytest.approx(silhouette_score(points, labels))


def test_clusters_of_clear_groups_are_those_of_scikit_learn() -> None:
    points = clouds(0)
    ours = in_order(*k_means(points, 6, 0))
    fit = KMeans(n_clusters=6, n_init=20, random_state=0).fit(points)
    theirs = in_order(fit.labels_, fit.cluster_centers_)
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-12)


def test_repeated_points_and_clusters_of_one_point() -> None:
    points = np.array([[0.0], [0.0], [0.0], [5.0], [9.0]])
    labels, centers = k_means(points, 3, 1)
    assert sorted(centers[:, 0].tolist()) == [0, 5, 9]
    assert mean_silhouette(points, labels) == pytest.approx(silhouette_score(points, labels))


def test_roles_of_a_text_are_those_that_scikit_learn_finds() -> None:
    a = aw.analyze("The keys to the old cabinet in the hall are here.", progress=False)
    scores = a.heads.specialization.zscores()
    roles = a.roles()
    points = np.stack([scores[axis].ravel() for axis in roles.axes], axis=1).astype(np.float64)
    found = {}
    for k in roles.silhouettes:
        fit = KMeans(n_clusters=k, n_init=50, random_state=0).fit(points)
        found[k] = fit, float(silhouette_score(points, fit.labels_))
    best = max(found, key=lambda k: found[k][1])
    labels, _ = in_order(found[best][0].labels_, found[best][0].cluster_centers_)
    np.testing.assert_array_equal(roles.labels.ravel(), labels)


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 9), (2, 4, 6), (0,)])
def test_ranks_are_those_of_scipy(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(-3, 4, shape) / 7
    np.testing.assert_array_equal(mean_ranks(values), rankdata(values, axis=-1))
    if len(shape) > 1:
        values.reshape(-1)[0] = np.nan
        np.testing.assert_array_equal(mean_ranks(values), rankdata(values, axis=-1))
