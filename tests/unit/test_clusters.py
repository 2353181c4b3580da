"""K-means and silhouettes of our own against scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import cluster
from sklearn.metrics import silhouette_score

import attn_widget as aw
from attn_widget.figures.clusters import distances, k_means, lloyd, mean_silhouette
from attn_widget.figures.roles import in_order

KMeans: Any = cluster.KMeans


def clouds(seed: int) -> Any:
    """72 points around six centers, in five dimensions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 5))[np.arange(72) % 6] + 0.4 * rng.normal(size=(72, 5))


@pytest.mark.parametrize("k", range(2, 9))
@pytest.mark.parametrize("seed", range(3))
def test_clusters_are_those_of_scikit_learn(k: int, seed: int) -> None:
    points = clouds(seed)
    labels, centers = in_order(*k_means(points, k, seed))
    fit = KMeans(n_clusters=k, n_init=10, random_state=seed).fit(points)
    theirs, their_centers = in_order(fit.labels_, fit.cluster_centers_)
    np.testing.assert_array_equal(labels, theirs)
    np.testing.assert_allclose(centers, their_centers, atol=1e-12)
    assert mean_silhouette(distances(points), labels) == pytest.approx(
        silhouette_score(points, labels)
    )


def test_repeated_points_and_clusters_of_one_point() -> None:
    points = np.array([[0.0], [0.0], [0.0], [5.0], [9.0]])
    labels, centers = k_means(points, 3, 1)
    assert sorted(centers[:, 0]) == pytest.approx([0, 5, 9], abs=1e-12)
    assert mean_silhouette(distances(points), labels) == pytest.approx(
        silhouette_score(points, labels)
    )


def test_a_cluster_that_loses_its_points_gets_the_farthest_as_that_of_scikit_learn_does() -> None:
    points = np.array([[0.0], [1.0], [2.0], [10.0]])
    starts = np.array([[0.0], [40.0], [50.0]])
    fit = KMeans(n_clusters=3, n_init=1, init=starts).fit(points)
    labels, centers = lloyd(points, starts)
    np.testing.assert_array_equal(labels, fit.labels_)
    np.testing.assert_allclose(centers, fit.cluster_centers_)


def test_roles_of_a_text_are_those_that_scikit_learn_finds() -> None:
    a = aw.analyze("The keys to the old cabinet in the hall are here.", progress=False)
    scores = a.heads.specialization.zscores()
    roles = a.heads.roles()
    points = np.stack([scores[axis].ravel() for axis in roles.axes], axis=1).astype(np.float64)
    fits = {k: KMeans(n_clusters=k, n_init=10, random_state=0).fit(points) for k in range(2, 9)}
    expected = {k: silhouette_score(points, fit.labels_) for k, fit in fits.items()}
    assert roles.silhouettes == pytest.approx(expected)
    best = fits[max(expected, key=lambda k: expected[k])]
    labels, centroids = in_order(best.labels_, best.cluster_centers_)
    np.testing.assert_array_equal(roles.labels.ravel(), labels)
    np.testing.assert_allclose(roles.centroids, centroids, rtol=1e-6)
