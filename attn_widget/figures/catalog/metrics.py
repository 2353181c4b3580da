"""The metrics of a head (docs/definitions.md, section 2): add one by declaring it here."""

from __future__ import annotations

import numpy as np

from attn_widget.figures.arrays import Tau
from attn_widget.figures.catalog.head_matrix import CELLS_AT_ONCE, HeadMatrix
from attn_widget.figures.catalog.references import CLARK, GOLSHANRAD, VOITA
from attn_widget.figures.catalog.registry import METRICS, Card, Counts, metric

__all__ = ["METRICS"]


def _mean_share(counts: Counts) -> float:
    return float((1 / counts).mean())


def _uniform_median(counts: Counts) -> float:
    """Median of all cells: row ``i`` has ``counts[i]`` of ``1 / counts[i]``."""
    kinds, rows = np.unique(counts, return_counts=True)
    values, reach = 1 / kinds[::-1], np.cumsum((kinds * rows)[::-1])  # from the least value on
    middle = [(int(reach[-1]) - 1) // 2, int(reach[-1]) // 2]
    return float(values[np.searchsorted(reach, middle, side="right")].mean())


def _one_hot_deviation(counts: Counts) -> float:
    center = len(counts) / counts.sum()
    share = center if counts.min() == counts.max() else _mean_share(counts)
    return float(np.sqrt(center * (1 - share)))


def _uniform_sparsity(counts: Counts, tau: Tau) -> float:
    if tau == "uniform":
        return 0.0
    return float(counts[1 / counts < tau].sum() / counts.sum())


@metric(
    "confidence_max",
    "Confidence (max)",
    Card(
        short="Conf. max",
        summary="the sharpest single link",
        formula=r"\max_{i,j} A_{ij}",
        spoken="the largest weight of the whole matrix",
        high="at least one query puts nearly all its attention on one key.",
        low="no single link stands out anywhere.",
        range="1/n to 1",
        chance="1/n",
        scale=lambda counts, _: (share := float(1 / counts.min()), 1, share),
        references=[GOLSHANRAD],
    ),
)
def confidence_max(head: HeadMatrix) -> float:
    return float(head.row_max.max())


@metric(
    "confidence_avg",
    "Confidence (average)",
    Card(
        short="Conf. avg",
        summary="how sure a typical query is",
        formula=r"\frac{1}{n} \sum_i \max_j A_{ij}",
        spoken="the mean, over queries, of each row’s largest weight",
        high="most queries settle on one key each: a sharp head.",
        low="most queries spread their attention over many keys.",
        range="1/n to 1",
        chance="1/n",
        scale=lambda counts, _: (share := _mean_share(counts), 1, share),
        references=[GOLSHANRAD, VOITA],
    ),
)
def confidence_avg(head: HeadMatrix) -> float:
    return float(head.row_max.mean(dtype=np.float64))


@metric(
    "focus_entropy",
    "Focus (entropy)",
    Card(
        short="Entropy",
        unit="nats",
        summary="how diffuse the head is, summed over queries",
        formula=r"-\sum_{i,j} A_{ij} \ln A_{ij}",
        spoken="minus the sum over all cells of the weight times its natural logarithm",
        high="diffuse: queries look at many keys alike.",
        low="sharp: each query looks at few keys.",
        warning="High is diffuse, not focused.",
        range="0 to n\u00a0ln\u00a0n",
        chance="n\u00a0ln\u00a0n",
        scale=lambda counts, _: (0, most := float(np.log(counts).sum()), most),
        references=[GOLSHANRAD, CLARK],
    ),
)
def focus_entropy(head: HeadMatrix) -> float:
    return head.entropy


@metric(
    "sparsity",
    "Sparsity",
    Card(
        short="Sparsity",
        summary="share of weights below τ",
        formula=r"\frac{1}{n^2} \sum_{i,j} 1(A_{ij} < \tau)",
        spoken="the share of cells whose weight is strictly below tau",
        by_row=(
            r"\frac{1}{\sum_i m_i} \sum_{i,j} 1(A_{ij} < \tau)",
            "the share of possible cells whose weight is strictly below tau",
        ),
        high="most weights are close to zero: attention rests on few keys.",
        low="hardly any weight is close to zero.",
        range="0 to 1",
        chance="0, or 1 where 1/n < τ",
        scale=lambda counts, tau: (0, 1, _uniform_sparsity(counts, tau)),
        references=[GOLSHANRAD],
    ),
)
def sparsity(head: HeadMatrix) -> float:
    if isinstance(head.tau, np.ndarray):
        low = sum(np.count_nonzero(part < tau) for part, tau in head.by_query(head.tau))
        return low / head.cells.size
    return np.count_nonzero(head.cells < head.tau) / head.cells.size


@metric(
    "distribution_median",
    "Distribution (median)",
    Card(
        short="Median",
        summary="the weight in the middle",
        formula=r"\operatorname*{median}_{i,j} A_{ij}",
        spoken="the median of all cells",
        high="attention is spread: half of the cells carry at least this much.",
        low="half of the cells carry next to nothing: attention sits on few keys.",
        range="0 to 1",
        chance="1/n",
        scale=lambda counts, _: (0, 1, _uniform_median(counts)),
        references=[GOLSHANRAD],
    ),
)
def distribution_median(head: HeadMatrix) -> float:
    return head.quartiles[1]


@metric(
    "uniformity",
    "Uniformity",
    Card(
        short="Uniformity",
        summary="standard deviation of the weights",
        formula=r"\sqrt{\frac{1}{n^2} \sum_{i,j} (A_{ij} - \frac{1}{n})^2}",
        spoken="the population standard deviation of all cells, whose mean is one over n",
        by_row=(
            r"\sqrt{\frac{1}{\sum_i m_i} \sum_{i,j} (A_{ij} - \frac{1}{m_i})^2}",
            "the root mean square of each possible cell’s distance from one over the number of its query’s keys",
        ),
        high="weights differ much: a few large ones among many small ones.",
        low="weights are alike: near-uniform attention.",
        warning="High is less uniform.",
        range="0 to √(n − 1) / n",
        chance="0",
        scale=lambda counts, _: (0, _one_hot_deviation(counts), 0.0),
        references=[GOLSHANRAD],
    ),
)
def uniformity(head: HeadMatrix) -> float:
    """In two passes: one would cancel for even attention. By parts, which stay in the cache."""
    if head.counts is not None:
        shares = (1 / head.counts).astype(np.float32)
        parts = (part - share for part, share in head.by_query(shares))
        forced = head.forced - 1
        squares = sum(float(part @ part) for part in parts) + float(forced @ forced)
        return float(np.sqrt(squares / (head.cells.size + forced.size)))
    cells = head.cells
    mean = np.float32(cells.mean(dtype=np.float64))
    parts = (cells[i : i + CELLS_AT_ONCE] - mean for i in range(0, cells.size, CELLS_AT_ONCE))
    return float(np.sqrt(sum(float(part @ part) for part in parts) / cells.size))


@metric("q25", "Lower quartile")
def q25(head: HeadMatrix) -> float:
    return head.quartiles[0]


@metric("q75", "Upper quartile")
def q75(head: HeadMatrix) -> float:
    return head.quartiles[2]


@metric("focus_normalized", "Focus, normalized")
def focus_normalized(head: HeadMatrix) -> float:
    return head.entropy / head.most if head.most > 0 else float("nan")


@metric("focus_per_row", "Focus per row")
def focus_per_row(head: HeadMatrix) -> float:
    return head.entropy / head.n


@metric("effective_keys", "Effective keys")
def effective_keys(head: HeadMatrix) -> float:
    return float(np.exp(head.row_entropy).mean())
