"""Metrics and marginals of one head, from the blocks of rows of its matrix.

A layer with a sliding window gives 129 keys of 8,192 to a query: outside its blocks everything is
forbidden, and neither computed nor kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from attn_widget.figures.arrays import Float32
from attn_widget.figures.catalog.head_matrix import HeadMatrix, Rows, rows_of
from attn_widget.figures.marginals import LONG_RANGE, Marginals
from attn_widget.trace.base import Area
from attn_widget.trace.windows.masks import Mask, keys_per_query


def head_of_blocks(
    blocks: Iterable[tuple[Area, Float32]],
    n: int,
    allowed: Mask | None,
    tau: np.float32,
    most: float,
) -> tuple[HeadMatrix, Marginals]:
    """The quantities that the metrics of one head are made of, and its marginals.

    Parameters
    ----------
    blocks : iterable of (Area, float32 [rows, cols])
        All rows in order; the mask forbids what lies outside.
    n : int
        Number of tokens.
    allowed : bool [n, n] or RowSpans, optional
        False where the mask forbids a cell.
    tau : float32
        The weight below which a cell counts as sparse.
    most : float
        The largest entropy that the mask allows, in nats.

    Returns
    -------
    HeadMatrix
    Marginals
        With one head: ``received`` is [1, n].

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.array([[1, 0], [0.25, 0.75]], dtype=np.float32)
    >>> area = Area(slice(0, 2), slice(0, 2))
    >>> head, sums = head_of_blocks([(area, weights)], 2, None, np.float32(0.01), 1.0)
    >>> head.row_max.tolist(), sums.received.tolist(), sums.on_previous.tolist()
    ([1.0, 0.75], [[1.25, 0.75]], [0.25])
    """
    rows: list[Rows] = []
    cells = np.empty(n * n if allowed is None else keys_per_query(allowed).sum(), dtype=np.float32)
    filled = 0
    total = 0.0
    received = np.zeros(n)
    beside = dict.fromkeys((-1, 0, 1), 0.0)
    far = 0.0
    for area, weights in blocks:
        buffer = np.empty_like(weights)
        block_rows, part = rows_of(weights, buffer)
        rows.append(block_rows)
        total += part
        some = weights.reshape(-1) if allowed is None else weights[allowed[area]]
        cells[filled : filled + some.size] = some
        filled += some.size
        received[area.cols] += np.ones(len(weights), dtype=np.float32) @ weights
        # Row and column of the same token are `shift` columns apart.
        shift = area.rows.start - area.cols.start
        for side in beside:
            beside[side] += float(np.trace(weights, shift + side, dtype=np.float64))
        np.copyto(buffer, weights)
        for near in range(-LONG_RANGE + 1, LONG_RANGE):
            _clear_diagonal(buffer, shift + near)
        far += float(buffer.sum(axis=1).sum(dtype=np.float64))
    together = Rows(
        np.concatenate([part.largest for part in rows]),
        np.concatenate([part.entropy for part in rows]),
    )
    head = HeadMatrix(together, cells, -total, tau, most)
    sums = Marginals(
        received[None],
        np.array([beside[0]]),
        np.array([far]),
        np.array([beside[-1]]),
        np.array([beside[1]]),
    )
    return head, sums


def _clear_diagonal(matrix: Float32, offset: int) -> None:
    """Set ``matrix[i, i + offset]`` to 0 wherever that is a cell."""
    first, last = max(0, -offset), min(matrix.shape[0], matrix.shape[1] - offset)
    if first < last:
        matrix.reshape(-1)[first * matrix.shape[1] + first + offset :: matrix.shape[1] + 1][
            : last - first
        ] = 0
