"""The strongest links of a matrix that comes in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from attn_widget.figures.arrays import Bool, Float32, Int32
from attn_widget.trace.base import Area


@dataclass(frozen=True)
class Links:
    """Links, the strongest first; equal ones in the order of the text."""

    queries: Int32  # queries, keys: int32 [k]
    keys: Int32
    weights: Float32  # [k]
    total: int  # how many there are at or above the least weight


def strongest_links(
    blocks: Iterable[tuple[Area, Float32]],
    count: int,
    *,
    least: float = -np.inf,
    keep: tuple[Bool, Bool] | None = None,
    neighbors: bool = True,
    itself: bool = True,
) -> Links:
    """The ``count`` largest cells of a matrix.

    ``blocks``: iterable of (Area, float32 [rows, cols]). ``least``: smaller cells do not count; cells of -inf and
    NaN never do. ``keep``, (bool [n], bool [m]): only queries and keys that are True here. ``neighbors``,
    ``itself``: whether a token's links to the token before and after it, and to itself, count.

    >>> import numpy as np
    >>> weights = np.array([[0.5, 0.25, 0.25], [0.0, 1, 0], [0.7, 0, 0.3]], dtype=np.float32)
    >>> area = Area(slice(0, 3), slice(0, 3))
    >>> found = strongest_links([(area, weights)], 2, least=0.2, itself=False)
    >>> found.queries.tolist(), found.keys.tolist(), found.total
    ([2, 0], [0, 1], 3)
    """
    queries = np.empty(0, dtype=np.int64)
    keys = np.empty(0, dtype=np.int64)
    weights = np.empty(0, dtype=np.float32)
    total = 0
    for area, block in blocks:
        left = np.flatnonzero(keep[0][area.rows]) if keep is not None else np.arange(len(block))
        rows = left + area.rows.start
        cells = block[left] if len(left) < len(block) else block.copy()
        if keep is not None:
            cells[:, ~keep[1][area.cols]] = -np.inf
        apart = [*([0] if not itself else []), *([-1, 1] if not neighbors else [])]
        for away in apart:
            columns = rows + away - area.cols.start
            inside = (columns >= 0) & (columns < cells.shape[1])
            cells[np.flatnonzero(inside), columns[inside]] = -np.inf
        flat = cells.reshape(-1)
        with np.errstate(invalid="ignore"):
            counted = (flat >= np.float32(least)) & (flat > -np.inf)
        total += int(np.count_nonzero(counted))
        floor = weights[-1] if len(weights) == count else -np.inf
        places = np.flatnonzero(counted & (flat > floor))
        if len(places) > count:
            smallest = np.partition(flat[places], len(places) - count)[len(places) - count]
            # Equal ones at the border stay: which of them are kept is decided by their place.
            places = places[flat[places] >= smallest]
        weights = np.concatenate([weights, flat[places]])
        queries = np.concatenate([queries, rows[places // cells.shape[1]]])
        keys = np.concatenate([keys, places % cells.shape[1] + area.cols.start])
        order = np.lexsort((keys, queries, -weights))[:count]
        weights, queries, keys = weights[order], queries[order], keys[order]
    return Links(queries.astype(np.int32), keys.astype(np.int32), weights, total)
