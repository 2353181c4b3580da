"""Effect of rounding on a result, and which orders it must not decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-24  # float32: half the distance between 1 and the next number


def rounding(size: float, terms: int, steps: int = 1) -> float:
    """Largest difference of two float32 results that differ only in the order of their sums.

    Each addition is off by up to a `UNIT` of its result. These errors are of both signs, so that they grow with the square
    root of their number. Processors add in different orders, and so do one and two threads.

    ``size``: size of what is summed: the largest sum of absolute values of the terms, or the largest value where
    sums follow on each other. ``terms``: length of the sum. ``steps``: how many such sums follow on each other.
    Returns: largest difference, in the units of ``size``.

    References
    ----------
    Higham and Mary (2019), "A New Approach to Probabilistic Rounding Error Analysis".

    Examples
    --------
    >>> f"{rounding(1.0, 32):.1e}"
    '6.7e-07'
    """
    return 2 * UNIT * math.sqrt(terms * steps) * float(size)


# Two values closer than this share of the largest one are equal: which one is larger may differ between processors.
TIE = 2.0**-16


def first_largest(values: Any) -> int:
    """Flat index of the largest value; of those that rounding may have put in another order, the first.

    NaN counts as smallest.

    >>> first_largest([0.1, 0.3, 0.30000001, 0.2])
    1
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    largest = np.nanmax(flat) if not np.isnan(flat).all() else np.nan
    finite = np.nan_to_num(flat, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return int(np.argmax(finite >= largest - TIE * _scale(flat)))


def largest_first(values: Any) -> list[int]:
    """Flat indices, the largest value first; those that rounding may have put in another order by their index.

    NaN comes last.

    >>> largest_first([0.1, 0.3, 0.30000001, 0.2])
    [1, 2, 3, 0]
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    finite = np.nan_to_num(flat, nan=-np.inf, posinf=np.inf, neginf=-np.inf).tolist()
    within = TIE * _scale(flat)
    groups: list[list[int]] = []
    for index in sorted(range(len(finite)), key=lambda k: -finite[k]):
        # Compared with the first of its group, so that a chain of small steps is no tie.
        if groups and finite[groups[-1][0]] - finite[index] <= within:
            groups[-1].append(index)
        else:
            groups.append([index])
    return [index for group in groups for index in sorted(group)]


def _scale(values: NDArray[np.float64]) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0
