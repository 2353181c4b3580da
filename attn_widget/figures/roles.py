"""Head roles: heads clustered by what they attend to (docs/definitions.md, section 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attn_widget.checks import index_in
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.figures.arrays import Float32, Float64, Int32
from attn_widget.figures.clusters import distances, k_means, mean_silhouette
from attn_widget.host.frames import dataframe

if TYPE_CHECKING:
    from pandas import DataFrame


MAX_ROLES = 8
STANDS_OUT = 0.3  # standard deviations above the mean of all heads
DIFFUSE = "diffuse"


@dataclass(frozen=True)
class Roles:
    """Clusters of heads on the z-scores of their specialization, named and laid out.

    Attributes
    ----------
    labels : int32 [L, H]
        Role of each head.
    names : tuple of str, [k]
        What stands out in the role's centroid, strongest first; ``"diffuse"`` when nothing does.
    centroids : float32 [k, F]
        In standard deviations, over `axes`.
    axes : tuple of str, [F]
        The metrics that were used; what is N/A or the same for all heads is left out.
    layout : float32 [L, H, 2]
        The first two principal components of the z-scores.
    explained : float
        Share of the variance that the layout shows, in [0, 1].
    silhouettes : dict of int to float
        Mean silhouette for each number of clusters that was tried, in [-1, 1]; the best was taken.
    seed : int
    """

    labels: Int32
    names: tuple[str, ...]
    centroids: Float32
    axes: tuple[str, ...]
    layout: Float32
    explained: float
    silhouettes: dict[int, float]
    seed: int

    def name(self, layer: int, head: int) -> str:
        """The role of one head, in words."""
        layers, heads = self.labels.shape
        return self.names[
            self.labels[index_in(layer, layers, "layer"), index_in(head, heads, "head")]
        ]

    def to_dataframe(self) -> DataFrame:
        """One row a head: ``layer, head, role, name, x, y`` (needs pandas)."""
        layers, heads = self.labels.shape
        return dataframe(
            {
                "layer": layer,
                "head": head,
                "role": int(self.labels[layer, head]),
                "name": self.name(layer, head),
                "x": float(self.layout[layer, head, 0]),
                "y": float(self.layout[layer, head, 1]),
            }
            for layer in range(layers)
            for head in range(heads)
        )

    def __repr__(self) -> str:
        return f"Roles({', '.join(self.names)})"


def head_roles(zscores: Mapping[str, Float32], seed: int = 0) -> Roles:
    """Cluster heads by k-means, with k in 2..8 chosen by silhouette.

    Roles of one input are a reading of that input, not a fact about the model.

    ``zscores``, mapping of str to float32 [L, H]: global z-scores of the specialization metrics; one with NaN is
    left out. ``seed``: the same seed gives the same roles. Raises `NotAvailableError`: nothing tells the heads
    apart.

    References
    ----------
    Rousseeuw, Journal of Computational and Applied Mathematics 20, 1987 (silhouettes).

    Examples
    --------
    >>> import numpy as np
    >>> z = {"self": np.array([[-1, -1, 1, 1]], dtype=np.float32)}
    >>> roles = head_roles(z)
    >>> [roles.name(0, head) for head in range(4)]
    ['diffuse', 'diffuse', 'self', 'self']
    """
    axes = tuple(key for key, values in zscores.items() if np.isfinite(values).all())
    if not axes:
        raise NotAvailableError(
            "Heads have no roles here: every specialization metric is N/A or the same for all heads.",
            "See Analysis.heads.specialization.reasons; a longer text tells more.",
        )
    shape = zscores[axes[0]].shape
    points: Float64 = np.stack([zscores[axis].ravel() for axis in axes], axis=1).astype(np.float64)
    # Rounded, because heads that differ by float32 rounding are no clusters.
    distinct = np.unique(points.round(4), axis=0).shape[0]
    if distinct < 2 or len(points) < 3:
        raise NotAvailableError(
            f"{len(points)} heads with {distinct} different profiles cannot be clustered."
        )
    tried = range(2, min(MAX_ROLES, distinct, len(points) - 1) + 1)
    fits = {k: k_means(points, k, seed) for k in tried}
    apart = distances(points)
    silhouettes = {k: mean_silhouette(apart, labels) for k, (labels, _) in fits.items()}
    best = max(silhouettes, key=lambda k: silhouettes[k])  # the smallest k on a tie
    labels, centroids = in_order(*fits[best])
    layout, explained = principal_plane(points)
    return Roles(
        labels.reshape(shape),
        role_names(centroids, axes),
        centroids.astype(np.float32),
        axes,
        layout.reshape(*shape, 2).astype(np.float32),
        explained,
        silhouettes,
        seed,
    )


def in_order(labels: Int32, centroids: Float64) -> tuple[Int32, Float64]:
    """Number the clusters by the first head that is in them, instead of by chance."""
    _, first = np.unique(labels, return_index=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return number[labels].astype(np.int32), centroids[order]


def role_names(centroids: Float64, axes: tuple[str, ...]) -> tuple[str, ...]:
    """Name of each centroid: up to two axes above 0.3 SD, strongest first.

    Roles that would share a name are numbered.

    >>> import numpy as np
    >>> role_names(np.array([[2.0, 1.0], [0.1, -1.0], [0.0, 0.0]]), ("self", "cls"))
    ('self + cls', 'diffuse 1', 'diffuse 2')
    """
    names: list[str] = []
    for centroid in centroids:
        leading = largest_first(centroid)[:2]
        names.append(" + ".join(axes[i] for i in leading if centroid[i] > STANDS_OUT) or DIFFUSE)
    return tuple(
        name if names.count(name) == 1 else f"{name} {names[: i + 1].count(name)}"
        for i, name in enumerate(names)
    )


def principal_plane(points: Float64) -> tuple[Float64, float]:
    """The first two principal components of ``points`` [m, F], with signs fixed.

    ``layout``, float64 [m, 2]: the second column is 0 when there is one axis. ``explained``: share of the variance.
    """
    centered = points - points.mean(axis=0)
    u, s, vt = np.linalg.svd(centered, full_matrices=False)
    # The direction of a component is arbitrary: its largest loading points up, the first of equal ones.
    # Two standard scores always load equally; float32 leaves them equal to some digits alone.
    signs = np.sign(vt[np.arange(len(vt)), np.abs(vt).round(3).argmax(axis=1)])
    layout = np.zeros((len(points), 2))
    n_axes = min(2, s.size)
    layout[:, :n_axes] = (u * s * signs)[:, :n_axes]
    return layout, float((s[:n_axes] ** 2).sum() / (s**2).sum())
