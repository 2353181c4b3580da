"""The metrics of many small matrices at once (docs/definitions.md, section 2).

The figures are those of `layer_metrics`, to rounding. For a short text the calls cost more than the arithmetic;
here one call serves as many matrices as the cache holds. A metric that `_metrics` lacks is computed matrix by matrix.
"""

from __future__ import annotations

import numpy as np

from attn_widget.figures.arrays import Float32, Float64
from attn_widget.figures.catalog.head_matrix import HeadMatrix
from attn_widget.figures.catalog.metrics import METRICS
from attn_widget.figures.choice import Choice
from attn_widget.figures.metrics import KEYS, TAU, threshold
from attn_widget.figures.quartiles import COUNTED_FROM, quartiles

CELLS = 2**16  # at once: a quarter of a megabyte stays in the cache
_SMALLEST = np.finfo(np.float32).tiny


def batched_metrics(weights: Float32) -> Float32:
    """The metrics of every matrix at the usual threshold; where a matrix holds NaN, all are NaN.

    ``weights``, float32 [M, n, n]: rows are queries; each sums to 1. No cell is impossible. Returns float32
    [keys, M]: in the order of `KEYS`.

    >>> uniform = np.full((2, 4, 4), 0.25, dtype=np.float32)
    >>> batched_metrics(uniform)[KEYS.index("focus_normalized")].tolist()
    [1.0, 1.0]
    """
    n_matrices, n, _ = weights.shape
    tau32 = threshold(TAU, n)
    figures = np.empty((len(KEYS), n_matrices), np.float32)
    step = max(1, CELLS // n**2)

    def fill(start: int) -> None:
        part = slice(start, start + step)
        metrics = _metrics(weights[part], tau32)
        others = [key for key in KEYS if key not in metrics]
        for key, values in {**metrics, **_one_by_one(weights[part], tau32, others)}.items():
            figures[KEYS.index(key), part] = values

    for start in range(0, n_matrices, step):
        fill(start)
    figures[:, np.isnan(figures[KEYS.index("confidence_max")])] = np.nan
    return figures


def _metrics(weights: Float32, tau: np.float32) -> dict[str, Float32 | Float64]:
    """Each metric by its key, [M]."""
    n_matrices, n, _ = weights.shape
    cells = weights.reshape(n_matrices, n * n)
    row_max = weights.max(axis=2)
    buffer = np.maximum(weights, _SMALLEST)  # 0 ln 0 = 0
    np.log(buffer, out=buffer)
    np.multiply(buffer, weights, out=buffer)
    row_entropy = -buffer.sum(axis=2, dtype=np.float64)
    entropy = np.maximum(row_entropy.sum(axis=1), 0)
    distance = buffer.reshape(cells.shape)
    np.subtract(
        cells, cells.mean(axis=1, dtype=np.float64)[:, None].astype(np.float32), out=distance
    )
    np.square(distance, out=distance)
    deviation = np.sqrt(distance.mean(axis=1, dtype=np.float64))
    first, middle, last = _quartiles(cells)
    most = n * np.log(n)
    return {
        "confidence_max": row_max.max(axis=1),
        "confidence_avg": row_max.mean(axis=1, dtype=np.float64),
        "focus_entropy": entropy,
        "sparsity": np.count_nonzero(cells < tau, axis=1) / cells.shape[1],
        "distribution_median": middle,
        "uniformity": deviation,
        "q25": first,
        "q75": last,
        "focus_normalized": entropy / most if most > 0 else np.full(n_matrices, np.nan),
        "focus_per_row": entropy / n,
        "effective_keys": np.exp(row_entropy).mean(axis=1),
    }


def _one_by_one(weights: Float32, tau: np.float32, keys: list[str]) -> dict[str, list[float]]:
    if not keys:
        return {}
    n = weights.shape[1]
    choice, buffer = Choice(None, n), np.empty((n, n), np.float32)
    heads = [HeadMatrix.of(matrix, choice, tau, buffer) for matrix in weights]
    return {key: [METRICS[key].value(head) for head in heads] for key in keys}


def _quartiles(cells: Float32) -> Float64:
    """The quartiles of each row of ``cells`` [M, N], float64 [3, M]."""
    size = cells.shape[1]
    if size >= COUNTED_FROM:
        return np.array([quartiles(row) for row in cells]).T
    ordered = np.sort(cells, axis=1)
    cut = np.empty((3, len(cells)))
    for k in range(3):
        rank, quarter = divmod((size - 1) * (k + 1), 4)
        below = ordered[:, rank].astype(np.float64)
        above = ordered[:, min(rank + 1, size - 1)]
        cut[k] = below + (above - below) * quarter / 4 if quarter else below
    return cut
