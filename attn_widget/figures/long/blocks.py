"""Metrics and marginals of one head, from the blocks of rows of its matrix.

A layer with a sliding window gives 129 keys of 8,192 to a query: outside its blocks everything is
forbidden, and neither computed nor kept.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from attn_widget.figures.arrays import Float32, Int32
from attn_widget.figures.catalog.head_matrix import HeadMatrix, Rows, rows_of
from attn_widget.figures.choice import LONG_RANGE, Choice, repeats_of
from attn_widget.figures.marginals import Marginals
from attn_widget.trace.base import Area


def head_of_blocks(
    blocks: Iterable[tuple[Area, Float32]],
    choice: Choice,
    tau: np.float32 | Float32,
    kinds: Int32 | None = None,
) -> tuple[HeadMatrix, Marginals]:
    """The quantities that the metrics of one head are made of, and its marginals.

    ``blocks``, iterable of (Area, float32 [rows, cols]): all rows in order; the mask forbids what lies outside.
    ``choice``: the keys that each query may look at. ``tau``, float32, or float32 [queries with a choice]: the
    weight below which a cell counts as sparse (`attn_widget.figures.metrics.thresholds`). ``kinds``, int32 [n]:
    spelling of each token (`attn_widget.figures.choice.kinds_of`). Returns: with one head: ``received`` is [1, n].

    >>> import numpy as np
    >>> weights = np.array([[1, 0], [0.25, 0.75]], dtype=np.float32)
    >>> area = Area(slice(0, 2), slice(0, 2))
    >>> head, sums = head_of_blocks([(area, weights)], Choice(None, 2), np.float32(0.01))
    >>> head.row_max.tolist(), sums.received.tolist(), sums.on_previous.tolist()
    ([1.0, 0.75], [[1.25, 0.75]], [0.25])
    """
    n, allowed = choice.n, choice.mask
    rows: list[Rows] = []
    cells = np.empty(choice.counts[choice.queries].sum(), dtype=np.float32)
    filled = 0
    total = 0.0
    received = np.zeros(n)
    compare_with = dict.fromkeys((-1, 0, 1), 0.0)
    repeats = [0.0, 0.0]
    repeated = kinds is not None and len(np.unique(kinds)) < n
    far = 0.0
    for area, weights in blocks:
        buffer = np.empty_like(weights)
        block_rows, part = rows_of(weights, buffer)
        rows.append(block_rows)
        total += part
        chosen = choice.queries[area.rows]
        some = weights.reshape(-1)
        if allowed is not None:
            some = weights[allowed[area] & chosen[:, None]]
        cells[filled : filled + some.size] = some
        filled += some.size
        received[area.cols] += chosen.astype(np.float32) @ weights
        np.copyto(buffer, weights)
        if not chosen.all():
            buffer[~chosen] = 0
        # Row and column of the same token are `shift` columns apart.
        shift = area.rows.start - area.cols.start
        for side in compare_with:
            compare_with[side] += float(np.trace(buffer, shift + side, dtype=np.float64))
        if kinds is not None and repeated:
            for k, after in enumerate((False, True)):
                there = repeats_of(kinds, area.rows, area.cols, after=after)
                repeats[k] += float(buffer[there].sum(dtype=np.float64))
        for near in range(-LONG_RANGE + 1, LONG_RANGE):
            _clear_diagonal(buffer, shift + near)
        far += float(buffer.sum(axis=1).sum(dtype=np.float64))
    together = Rows(
        np.concatenate([part.largest for part in rows]),
        np.concatenate([part.entropy for part in rows]),
    )
    head = HeadMatrix(together, cells, -total, tau, choice)
    sums = (compare_with[0], far, compare_with[-1], compare_with[1], *repeats)
    return head, Marginals(received[None], *(np.array([value]) for value in sums))


def _clear_diagonal(matrix: Float32, offset: int) -> None:
    """Set ``matrix[i, i + offset]`` to 0 wherever that is a cell."""
    first, last = max(0, -offset), min(matrix.shape[0], matrix.shape[1] - offset)
    if first < last:
        matrix.reshape(-1)[first * matrix.shape[1] + first + offset :: matrix.shape[1] + 1][
            : last - first
        ] = 0
