"""Large matrices as small ones: cells that fall together show the one that is largest in size."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=Any)

PICTURE_CELLS = 128  # a side, at most


def pooled(
    matrix: NDArray[Kind], most: int = PICTURE_CELLS, *, rows: int | None = None
) -> NDArray[Kind]:
    """At most ``most`` rows and columns; NaN where all cells that fall together are NaN.

    ``rows``: number of rows of the result, instead.

    >>> pooled(np.array([[0.25, -0.5, 0.0], [np.nan, 0.0, 1.0]]), 2, rows=1).tolist()
    [[0.25, 1.0]]
    """
    sizes = (min(matrix.shape[0], most) if rows is None else rows, min(matrix.shape[1], most))
    starts = [
        np.arange(size) * whole // size for size, whole in zip(sizes, matrix.shape, strict=True)
    ]

    def extreme(of: np.ufunc) -> NDArray[Any]:
        return of.reduceat(of.reduceat(matrix, starts[0], axis=0), starts[1], axis=1)

    if matrix.dtype == np.bool_:
        return extreme(np.maximum)
    largest, least = extreme(np.fmax), extreme(np.fmin)
    return np.where(-least > largest, least, largest)
