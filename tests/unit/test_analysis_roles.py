"""Head roles: recovered, named, laid out, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from attn_widget.errors import NotAvailableError
from attn_widget.figures.roles import MAX_ROLES, head_roles, in_order, role_names
from attn_widget.figures.specialization import standardize
from tests.close import assert_close


def planted(noise: float = 0.01) -> dict[str, np.ndarray]:
    """z-scores of 4 layers of 6 heads: a third look at themselves, a third at [CLS], a third at syntax."""
    rng = np.random.default_rng(0)
    kind = np.arange(24).reshape(4, 6) % 3
    raw = {
        key: (np.where(kind == i, 0.8, 0.1) + noise * rng.normal(size=(4, 6))).astype(np.float32)
        for i, key in enumerate(("self", "cls", "syntax"))
    }
    return {key: standardize(values) for key, values in raw.items()}


def test_planted_roles_are_found_and_named_by_what_stands_out() -> None:
    roles = head_roles(planted())
    assert roles.names == ("self", "cls", "syntax")
    np.testing.assert_array_equal(roles.labels, np.arange(24).reshape(4, 6) % 3)
    assert max(roles.silhouettes, key=roles.silhouettes.__getitem__) == 3
    assert list(roles.silhouettes) == list(range(2, MAX_ROLES + 1))
    assert roles.name(1, 2) == "syntax"


def test_silhouettes_and_centroids_are_what_their_definitions_say() -> None:
    scores = planted(noise=0.2)
    roles = head_roles(scores)
    points = np.stack([scores[axis].ravel() for axis in roles.axes], axis=1).astype(np.float64)
    labels = roles.labels.ravel()
    values = []
    for i, label in enumerate(labels):
        far = np.sqrt(((points - points[i]) ** 2).sum(axis=1))
        own = far[(labels == label) & (np.arange(len(labels)) != i)].mean()
        other = min(far[labels == k].mean() for k in set(labels.tolist()) - {int(label)})
        values.append((other - own) / max(own, other))
    assert_close(max(roles.silhouettes.values()), np.mean(values), terms=len(values), size=1)
    for k, centroid in enumerate(roles.centroids):
        assert_close(centroid, points[labels == k].mean(axis=0), terms=len(points), size=points)


def test_the_same_seed_gives_the_same_roles() -> None:
    first, second = head_roles(planted(0.5), seed=3), head_roles(planted(0.5), seed=3)
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.layout, second.layout)


def test_the_layout_keeps_the_distances_of_two_axes() -> None:
    scores = planted(0.3)
    del scores["syntax"]
    roles = head_roles(scores)
    points = np.stack([scores[axis].ravel() for axis in roles.axes], axis=1)
    flat = roles.layout.reshape(-1, 2)
    assert_close(
        np.linalg.norm(flat[:, None] - flat, axis=-1),
        np.linalg.norm(points[:, None] - points, axis=-1),
        terms=points.shape[1],
        steps=2,
    )
    assert roles.explained == pytest.approx(1)


def test_four_heads_are_tried_with_two_and_three_roles_since_each_alone_has_no_silhouette() -> None:
    scores = {key: values[:1, :4] for key, values in planted(noise=0.3).items()}
    assert list(head_roles(scores).silhouettes) == [2, 3]


def test_one_axis_is_laid_out_on_a_line() -> None:
    roles = head_roles({"self": planted()["self"]})
    assert (roles.layout[..., 1] == 0).all()
    assert np.ptp(roles.layout[..., 0]) > 1


def test_axes_that_are_na_are_left_out() -> None:
    missing = np.full((4, 6), np.nan, dtype=np.float32)
    roles = head_roles({"entities": missing, **planted()})
    assert roles.axes == ("self", "cls", "syntax")


@pytest.mark.parametrize(
    "zscores",
    [
        {"self": np.full((2, 2), np.nan, dtype=np.float32)},
        {"self": np.float32([[-1, 1]])},
        {"self": np.zeros((2, 3), dtype=np.float32)},
        {},
    ],
)
def test_heads_that_cannot_be_told_apart_have_no_roles(zscores: dict[str, np.ndarray]) -> None:
    with pytest.raises(NotAvailableError):
        head_roles(zscores)


def test_a_centroid_below_the_threshold_is_diffuse() -> None:
    centroids = np.array([[0.3, 0.2], [0.31, -2.0], [0.5, 0.9]])
    assert role_names(centroids, ("self", "cls")) == ("diffuse", "self", "cls + self")


def test_roles_are_numbered_by_their_first_head() -> None:
    labels, centroids = in_order(np.int32([2, 0, 2, 1]), np.array([[0.0], [1.0], [2.0]]))
    assert labels.tolist() == [0, 1, 0, 2]
    assert centroids.ravel().tolist() == [2, 0, 1]


def test_a_table_has_a_row_for_each_head() -> None:
    table = head_roles(planted()).to_dataframe()
    assert table.columns.tolist() == ["layer", "head", "role", "name", "x", "y"]
    assert table["name"].tolist() == ["self", "cls", "syntax"] * 8
