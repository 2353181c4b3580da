"""Patterns of attention in two dimensions, and how clearly a head separates a picture: arrays in, arrays out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attn_widget.features.images.blank import FLOOR
from attn_widget.figures.arrays import Float32, Float64

PATTERNS = ("self", "near", "far", "row", "column", "special")
NEAR = 2  # patches, in the larger of the two directions
LEAST = 0.05  # of the patches, in each of two groups: one bright patch is no group
ALIKE = 0.75  # of the neighbors: with fewer in one group a border follows nothing that a reader can name
FEWEST = 36  # patches; with fewer even a ramp may lie within chance
CLEAR = 4.75  # standard deviations above chance: a normal number is so high once in 1,000,000


def shares(weights: Float32, rows: int, columns: int, first: int) -> Float32:
    """Share of the patches' weight on each of `PATTERNS`, float32 [H, 6]: a mean over the patches.

    ``weights`` [H, n, n]; the patches are ``rows * columns`` positions from ``first``.
    """
    patches = slice(first, first + rows * columns)
    given = weights[:, patches]
    # [H, row, column, row, column]: views, so that no copy of a layer's weights is made.
    cells = given[:, :, patches].reshape(-1, rows, columns, rows, columns)

    def total(part: Float32) -> Float64:
        return part.sum(axis=tuple(range(1, part.ndim)), dtype=np.float64)

    itself = total(np.einsum("hrcrc->hrc", cells))
    near = np.zeros(len(weights))
    for down, across in _steps():
        (rows_from, rows_to), (from_, to) = _shifted(rows, down), _shifted(columns, across)
        near += total(np.einsum("hrcrc->hrc", cells[:, rows_from, from_, rows_to, to]))
    found = (
        itself,
        near,
        total(cells) - itself - near,
        total(np.einsum("hrcrd->hrcd", cells)) - itself,
        total(np.einsum("hrcsc->hrcs", cells)) - itself,
        total(given[:, :, :first]) + total(given[:, :, patches.stop :]),
    )
    return np.maximum(np.stack(found, axis=-1) / (rows * columns), 0).astype(np.float32)


def chance(rows: int, columns: int, n: int) -> Float32:
    """The shares of a head that looks at each of ``n`` tokens alike, float32 [6].

    >>> [round(float(share), 3) for share in chance(16, 16, 257)]
    [0.004, 0.079, 0.913, 0.058, 0.058, 0.004]
    """
    count = rows * columns
    near = sum(
        max(0, rows - abs(down)) * max(0, columns - abs(across)) for down, across in _steps()
    )
    pairs = (count, near, count**2 - count - near, count * (columns - 1), count * (rows - 1))
    return (np.array([*pairs, count * (n - count)]) / (count * n)).astype(np.float32)


def _steps() -> list[tuple[int, int]]:
    """Steps to near patches: down and across."""
    sides = range(-NEAR, NEAR + 1)
    return [(down, across) for down in sides for across in sides if down or across]


def _shifted(size: int, step: int) -> tuple[slice, slice]:
    """Positions of ``size`` that have one ``step`` further, and those."""
    return slice(max(0, -step), max(0, size - max(0, step))), slice(max(0, step), max(0, size + min(0, step)))  # fmt: skip


class Separated(NamedTuple):
    """Two groups of patches in what each head looks at. Maps are over the grid, row by row."""

    # [..., ]: share of the variance of the logarithms of the weights that is between the groups, 0 to 1.
    separation: Float32
    groups: NDArray[np.uint8]  # [..., patches]; 1: more weight
    # [...]: Moran's I of the groups, -1 to 1: how much neighbors are of one group; and its distance from chance in standard deviations.
    contiguity: Float32
    deviations: Float32
    needed: Float32  # [...]: deviations above which a head is clear
    # [...]: share of the neighbors that share a group, and that of the same groups in any order.
    alike: Float32
    alike_chance: Float32

    @property
    def clear(self) -> NDArray[np.bool_]:
        """True where the groups hang together more than patches in any order do, and most neighbors share a group (`ALIKE`)."""
        return (self.deviations > self.needed) & (self.alike >= ALIKE)

    @property
    def clarity(self) -> Float32:
        """Separation times contiguity, 0 to 1: two groups that differ, each in one piece."""
        return self.separation * np.maximum(self.contiguity, 0)


def separated(maps: Float32, rows: int, columns: int) -> Separated:
    """Two groups of the patches of each map [..., patches] by Otsu's threshold of the logarithms of the weights.

    Logarithms, because weights of a softmax are ratios, and a patch that is brighter than all others would else be a group by itself; so
    would it be without `LEAST`. Numbers of noise have a high share between groups too, so that `Separated.clarity`
    also asks for neighbors of one group.

    References
    ----------
    Otsu (1979), A Threshold Selection Method from Gray-Level Histograms. Moran (1950), Notes on Continuous Stochastic Phenomena.

    >>> import numpy as np
    >>> half = np.repeat([1.0, 9.0], 32).reshape(1, 64) / 320
    >>> found = separated(half.astype(np.float32), 8, 8)
    >>> found.separation.round(3).tolist(), int(found.groups.sum()), found.contiguity.round(2).tolist()
    ([1.0], 32, [0.86...])
    """
    logs = np.log(np.maximum(maps.astype(np.float64), FLOOR))
    shape, count = maps.shape[:-1], maps.shape[-1]
    share, cut = _otsu(logs.reshape(-1, count))
    groups = logs.reshape(-1, count) > cut[:, None]
    index, apart = morans(groups.astype(np.float64), rows, columns)
    return Separated(
        share.reshape(shape).astype(np.float32),
        groups.reshape(maps.shape).astype(np.uint8),
        index.reshape(shape).astype(np.float32),
        apart.reshape(shape).astype(np.float32),
        needed(groups.sum(axis=1), rows, columns).reshape(shape).astype(np.float32),
        *alike(groups.reshape(maps.shape).astype(np.uint8), rows, columns),
    )


def alike(groups: NDArray[np.uint8], rows: int, columns: int) -> tuple[Float32, Float32]:
    """Share of the neighbors (above, below, left, right) that share a group, and that of the same groups in any order, float32 [...].

    ``groups`` [..., patches]. 1 of a single patch.

    >>> import numpy as np
    >>> [float(share) for share in alike(np.array([1, 1, 0, 0], np.uint8), 2, 2)]
    [0.5, 0.333...]
    """
    grid = groups.reshape(*groups.shape[:-1], rows, columns)
    pairs = rows * (columns - 1) + columns * (rows - 1)
    same = (grid[..., 1:, :] == grid[..., :-1, :]).sum(axis=(-2, -1))
    same = same + (grid[..., 1:] == grid[..., :-1]).sum(axis=(-2, -1))
    n, more = rows * columns, groups.sum(axis=-1, dtype=np.int64)
    equal = more * (more - 1) + (n - more) * (n - more - 1)
    if n == 1:
        one = np.ones(groups.shape[:-1], np.float32)
        return one, one
    return (same / pairs).astype(np.float32), (equal / (n * (n - 1))).astype(np.float32)


def needed(sizes: NDArray[Any], rows: int, columns: int) -> Float64:
    """Deviations of Moran's I above which a group of each of ``sizes`` patches is clear.

    Few patches have few neighbors by chance, whose number is skewed as that of rare events is: so much more is asked of small groups
    (Cornish & Fisher 1938, with the skewness of a Poisson number). Infinite where no two patches of the group can be neighbors.
    """
    n = rows * columns
    pairs = rows * (columns - 1) + columns * (rows - 1)
    sizes = np.minimum(sizes, n - sizes).astype(np.float64)
    expected = pairs * sizes * (sizes - 1) / max(1, n * (n - 1))
    some = expected > 0
    skewness = np.divide(1, np.sqrt(expected), out=np.full(sizes.shape, np.inf), where=some)
    return CLEAR + (CLEAR**2 - 1) / 6 * skewness


def hangs_together(pixels: Float32, rows: int, columns: int) -> bool:
    """True if neighboring patches of a picture are more alike than patches in any order: in a mean color, or in contrast.

    ``pixels`` [1, 3, h, w], as the model gets them. By `morans` of the ranks, whose distance from chance must be above `CLEAR` for one of the
    four. Ranks, as a few bright patches would else decide.

    >>> import numpy as np
    >>> stripes = np.zeros((1, 3, 64, 64), np.float32)
    >>> stripes[..., :32] = 1
    >>> hangs_together(stripes, 8, 8), hangs_together(np.ones_like(stripes), 8, 8)
    (True, False)
    """
    _, channels, height, width = pixels.shape
    high, wide = height // rows, width // columns
    cut = pixels[0, :, : rows * high, : columns * wide].astype(np.float64)
    patches = cut.reshape(channels, rows, high, columns, wide).transpose(0, 1, 3, 2, 4)
    patches = patches.reshape(channels, rows * columns, high * wide)
    contrast = patches.mean(axis=0).std(axis=-1)
    values = np.stack([*patches.mean(axis=-1), contrast])
    _, deviations = morans(np.stack([_ranks(row) for row in values]), rows, columns)
    return bool(deviations.max() > CLEAR)


def _ranks(values: Float64) -> Float64:
    """Ranks of some numbers [p]; equal ones, up to rounding, share the mean of theirs."""
    _, at, counts = np.unique(values.round(6), return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[at.reshape(-1)]


def _otsu(values: Float64) -> tuple[Float64, Float64]:
    """The largest share of variance between two groups of each row [k, p], and the value that divides them, [k]."""
    count = values.shape[1]
    ordered = np.sort(values, axis=1)
    least = max(1, int(np.ceil(LEAST * count)))
    total = values.var(axis=1)
    if count < 2 * least or count < 2:
        return np.zeros(len(values)), ordered[:, -1]
    below = np.arange(1, count)
    low = np.cumsum(ordered, axis=1)[:, :-1] / below
    whole = values.mean(axis=1, keepdims=True)
    high = (whole * count - low * below) / (count - below)
    between = below * (count - below) / count**2 * (high - low) ** 2
    # Equal numbers stay in one group.
    allowed = (below >= least) & (count - below >= least) & (ordered[:, 1:] > ordered[:, :-1])
    between = np.where(allowed, between, 0)
    best = between.argmax(axis=1)
    share = np.divide(between.max(axis=1), total, out=np.zeros(len(values)), where=total > 1e-12)
    cut = ordered[np.arange(len(values)), best]
    return np.minimum(share, 1), np.where(share > 0, cut, ordered[:, -1])


def morans(values: Float64, rows: int, columns: int) -> tuple[Float64, Float64]:
    """Moran's I of each row [k, p] over neighbors above, below, left and right, and its distance from chance in standard deviations.

    Chance: the same numbers in any order; mean and variance are those of Cliff & Ord (1981). 0 where all are equal, or patches are fewer than four.
    """
    n = rows * columns
    pairs = rows * (columns - 1) + columns * (rows - 1)
    none = np.zeros(len(values))
    if n < 4 or not pairs:
        return none, none
    centered = values - values.mean(axis=1, keepdims=True)
    squares = (centered**2).sum(axis=1)
    grid = centered.reshape(-1, rows, columns)
    products = (grid[:, :, 1:] * grid[:, :, :-1]).sum(axis=(1, 2))
    products = products + (grid[:, 1:] * grid[:, :-1]).sum(axis=(1, 2))
    flat = squares < 1e-12
    safe = np.where(flat, 1, squares)
    index = n / pairs * products / safe
    degree = np.full((rows, columns), 4.0)
    for edge in (degree[0], degree[-1], degree[:, 0], degree[:, -1]):
        edge -= 1
    s0, s1, s2 = 2.0 * pairs, 4.0 * pairs, float(((2 * degree) ** 2).sum())
    kurtosis = n * (centered**4).sum(axis=1) / safe**2
    expected = -1 / (n - 1)
    first = n * ((n**2 - 3 * n + 3) * s1 - n * s2 + 3 * s0**2)
    second = kurtosis * ((n**2 - n) * s1 - 2 * n * s2 + 6 * s0**2)
    variance = (first - second) / ((n - 1) * (n - 2) * (n - 3) * s0**2) - expected**2
    apart = (index - expected) / np.sqrt(np.maximum(variance, 1e-12))
    return np.where(flat, 0, index), np.where(flat, 0, apart)
