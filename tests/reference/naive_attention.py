"""Figures of one head, written from the definitions as float64 loops: slow, and plain to read."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

Matrix = Sequence[Sequence[float]]


def cells(matrix: Matrix, allowed: Sequence[Sequence[bool]] | None = None) -> list[float]:
    n = len(matrix)
    return [
        float(matrix[i][j]) for i in range(n) for j in range(n) if allowed is None or allowed[i][j]
    ]


def quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    k = int(position)
    if k + 1 == len(ordered):
        return ordered[k]
    return ordered[k] + (position - k) * (ordered[k + 1] - ordered[k])


def metrics(
    matrix: Matrix, tau: float, allowed: Sequence[Sequence[bool]] | None = None
) -> dict[str, float]:
    n = len(matrix)
    values = cells(matrix, allowed)
    entropy = 0.0
    for i in range(n):
        for j in range(n):
            a = float(matrix[i][j])
            if a > 0:
                entropy -= a * log(a)
    most = 0.0
    for i in range(n):
        possible = n if allowed is None else sum(1 for j in range(n) if allowed[i][j])
        if possible:
            most += log(possible)
    mean = sum(values) / len(values)
    return {
        "confidence_max": max(float(a) for row in matrix for a in row),
        "confidence_avg": sum(max(float(a) for a in row) for row in matrix) / n,
        "focus_entropy": entropy,
        "sparsity": sum(1 for a in values if a < tau) / len(values),
        "distribution_median": quantile(values, 0.5),
        "uniformity": sqrt(sum((a - mean) ** 2 for a in values) / len(values)),
        "effective_keys": sum(exp(-sum(float(a) * log(a) for a in row if a > 0)) for row in matrix)
        / n,
        "q25": quantile(values, 0.25),
        "q75": quantile(values, 0.75),
        "focus_normalized": entropy / most if most > 0 else float("nan"),
        "focus_per_row": entropy / n,
    }


def share(matrix: Matrix, keys: Sequence[int]) -> float:
    n = len(matrix)
    inside = sum(float(matrix[i][j]) for i in range(n) for j in keys)
    return inside / sum(float(a) for row in matrix for a in row)


def cls(matrix: Matrix) -> float:
    return sum(float(row[0]) for row in matrix) / len(matrix)


def on_self(matrix: Matrix) -> float:
    return sum(float(matrix[i][i]) for i in range(len(matrix))) / len(matrix)


def long_range(matrix: Matrix) -> float:
    n = len(matrix)
    far = [float(matrix[i][j]) for i in range(n) for j in range(n) if abs(i - j) >= 5]
    return sum(far) / len(far) if far else float("nan")


def mean_head(heads: Sequence[Matrix]) -> list[list[float]]:
    n = len(heads[0])
    return [
        [sum(float(head[i][j]) for head in heads) / len(heads) for j in range(n)] for i in range(n)
    ]


def isa_mass(mean: Matrix, a: Sequence[int], b: Sequence[int]) -> float:
    return sum(float(mean[i][j]) for i in a for j in b) / len(a)


def isa_max(
    layers: Sequence[Sequence[Matrix]], a: Sequence[int], b: Sequence[int]
) -> tuple[float, int, int, int, int]:
    """The maximum and its layer, head, query and key."""
    best = (-1.0, 0, 0, 0, 0)
    for layer, heads in enumerate(layers):
        for head, matrix in enumerate(heads):
            for i in a:
                for j in b:
                    if float(matrix[i][j]) > best[0]:
                        best = (float(matrix[i][j]), layer, head, i, j)
    return best


def product(a: Matrix, b: Matrix) -> list[list[float]]:
    n = len(a)
    return [[sum(a[i][k] * b[k][j] for k in range(n)) for j in range(n)] for i in range(n)]


def residual(matrix: Matrix) -> list[list[float]]:
    n = len(matrix)
    mixed = [
        [0.5 * float(matrix[i][j]) + (0.5 if i == j else 0.0) for j in range(n)] for i in range(n)
    ]
    return [[a / sum(row) for a in row] for row in mixed]


def rollout(means: Sequence[Matrix]) -> list[list[list[float]]]:
    n = len(means[0])
    rolled = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    steps: list[list[list[float]]] = []
    for mean in means:
        rolled = product(residual(mean), rolled)
        steps.append(rolled)
    return steps


def softmax(row: Sequence[float]) -> list[float]:
    largest = max(row)
    exps = [exp(x - largest) for x in row]
    return [x / sum(exps) for x in exps]


def merge(matrix: Matrix, groups: Sequence[Sequence[int]]) -> list[list[float]]:
    """Mean over the query rows of a group, sum over the key columns of a group."""
    return [
        [sum(float(matrix[i][j]) for i in rows for j in columns) / len(rows) for columns in groups]
        for rows in groups
    ]


def tree_edges(
    matrix: Matrix, root: int, top_k: int, depth: int, kept: Sequence[int]
) -> list[tuple[tuple[int, ...], float, float]]:
    """Every edge as (path from the root, weight, path product), parents before children."""
    edges: list[tuple[tuple[int, ...], float, float]] = []

    def grow(path: tuple[int, ...], product: float) -> None:
        if len(path) - 1 == depth:
            return
        row = matrix[path[-1]]
        candidates = [key for key in kept if key not in path]
        candidates.sort(key=lambda key: (-float(row[key]), key))
        for key in candidates[:top_k]:
            weight = float(row[key])
            edges.append(((*path, key), weight, product * weight))
            grow((*path, key), product * weight)

    grow((root,), 1.0)
    return edges
