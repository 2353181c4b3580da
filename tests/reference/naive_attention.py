"""Figures of one head, written from the definitions as float64 loops: slow, and plain to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log, sqrt
from typing import Literal

Matrix = Sequence[Sequence[float]]


Mask = Sequence[Sequence[bool]]


def possible(matrix: Matrix, allowed: Mask | None) -> list[list[int]]:
    """The keys that each query may look at."""
    n = len(matrix)
    return [[j for j in range(n) if allowed is None or allowed[i][j]] for i in range(n)]


def choosing(keys: Sequence[Sequence[int]]) -> list[int]:
    """Queries with two or more possible keys, or all that have one where none has two."""
    several = [i for i, some in enumerate(keys) if len(some) >= 2]
    return several or [i for i, some in enumerate(keys) if some]


def quantile(values: list[float], q: float) -> float:
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    k = int(position)
    if k + 1 == len(ordered):
        return ordered[k]
    return ordered[k] + (position - k) * (ordered[k + 1] - ordered[k])


def metrics(
    matrix: Matrix, tau: float | Literal["uniform"], allowed: Mask | None = None
) -> dict[str, float]:
    keys = possible(matrix, allowed)
    rows = choosing(keys)
    values = [float(matrix[i][j]) for i in rows for j in keys[i]]
    limits = [1 / len(keys[i]) if tau == "uniform" else tau for i in rows for _ in keys[i]]
    largest = [max(float(matrix[i][j]) for j in keys[i]) for i in rows]
    entropies: list[float] = []
    for i in rows:
        weights = [float(matrix[i][j]) for j in keys[i]]
        entropies.append(-sum(a * log(a) for a in weights if a > 0))
    most = sum(log(len(keys[i])) for i in rows)
    away = [
        (float(a) - 1 / len(keys[i])) ** 2
        for i in range(len(keys))
        for a in _of(matrix[i], keys[i])
    ]
    return {
        "confidence_max": max(largest),
        "confidence_avg": sum(largest) / len(rows),
        "focus_entropy": sum(entropies),
        "sparsity": sum(1 for a, limit in zip(values, limits, strict=True) if a < limit)
        / len(values),
        "distribution_median": quantile(values, 0.5),
        "uniformity": sqrt(sum(away) / len(away)),
        "effective_keys": sum(exp(entropy) for entropy in entropies) / len(rows),
        "q25": quantile(values, 0.25),
        "q75": quantile(values, 0.75),
        "focus_normalized": sum(entropies) / most if most > 0 else float("nan"),
        "focus_per_row": sum(entropies) / len(rows),
    }


def _of(row: Sequence[float], keys: Sequence[int]) -> list[float]:
    return [row[j] for j in keys]


def share(matrix: Matrix, keys: Sequence[int], allowed: Mask | None = None) -> float:
    rows = choosing(possible(matrix, allowed))
    inside = sum(float(matrix[i][j]) for i in rows for j in keys)
    return inside / sum(float(a) for i in rows for a in matrix[i])


def share_by_chance(matrix: Matrix, keys: Sequence[int], allowed: Mask | None = None) -> float:
    possible_keys = possible(matrix, allowed)
    rows = choosing(possible_keys)
    return sum(len({*keys} & {*possible_keys[i]}) / len(possible_keys[i]) for i in rows) / len(rows)


def mean_of_cells(
    matrix: Matrix, wanted: Callable[[int, int], bool], allowed: Mask | None = None
) -> tuple[float, float]:
    """Mean weight of the possible cells ``(i, j)`` that are wanted, and that of uniform attention."""
    keys = possible(matrix, allowed)
    cells = [(i, j) for i in choosing(keys) for j in keys[i] if wanted(i, j)]
    if not cells:
        return float("nan"), float("nan")
    found = sum(float(matrix[i][j]) for i, j in cells) / len(cells)
    return found, sum(1 / len(keys[i]) for i, _ in cells) / len(cells)


def mean_of_sums(
    matrix: Matrix, wanted: Callable[[int, int], bool], allowed: Mask | None = None
) -> tuple[float, float]:
    """Mean over the queries with a wanted key of the sum over these, and that of uniform attention."""
    keys = possible(matrix, allowed)
    by_query = [(i, [j for j in keys[i] if wanted(i, j)]) for i in choosing(keys)]
    by_query = [(i, some) for i, some in by_query if some]
    if not by_query:
        return float("nan"), float("nan")
    sums = [sum(float(matrix[i][j]) for j in some) for i, some in by_query]
    chance = sum(len(some) / len(keys[i]) for i, some in by_query)
    return sum(sums) / len(sums), chance / len(by_query)


def cls(matrix: Matrix) -> float:
    return mean_of_cells(matrix, lambda _, j: j == 0)[0]


def on_self(matrix: Matrix) -> float:
    return mean_of_cells(matrix, lambda i, j: i == j)[0]


def long_range(matrix: Matrix) -> float:
    return mean_of_cells(matrix, lambda i, j: abs(i - j) >= 5)[0]


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
