"""Declarations of the figures of a head: name, formula, meaning, and function of each.

The page's texts and formulas (``js/src/figures/catalog.ts``) are written from these declarations by
``make catalog``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Tau
from attn_widget.figures.catalog.head_matrix import HeadMatrix
from attn_widget.figures.catalog.references import Reference

#: How many keys each query may attend to: int [n].
Counts: TypeAlias = NDArray[np.integer[Any]]
Value: TypeAlias = Callable[[HeadMatrix], float]
Declared = TypeVar("Declared", bound=Value)


@dataclass(frozen=True, kw_only=True)
class Card:
    """Texts of a metric that has a card of its own."""

    short: str  # column heading and filter word
    summary: str
    formula: str  # formula, spoken: in TeX, and for screen readers
    spoken: str
    high: str  # high, low: what a high and a low figure mean
    low: str
    range: str  # range, chance: the range, and the figure of uniform attention, in symbols
    chance: str
    # Least and largest possible figure, given how many keys each query may attend to, and that of a head that attends to
    # every possible key alike.
    scale: Callable[[Counts, Tau], tuple[float, float, float]]
    references: Sequence[Reference]
    # unit, summary: ``""`` for a figure without a unit; what it says in half a sentence.
    unit: str = ""
    warning: str | None = None  # for a name that points the wrong way
    # Formula and spoken text for a matrix that is not square or has a mask, where they differ; ``m_i`` is the
    # number of keys that query i may attend to.
    by_row: tuple[str, str] | None = None


@dataclass(frozen=True)
class Metric:
    """A figure of one head's matrix."""

    key: str  # its name in tables, files and the protocol
    name: str  # its name on the screen
    value: Value  # NaN where it is not defined
    card: Card | None  # None for a figure that stands on another one's card


_METRICS: dict[str, Metric] = {}
#: Every metric by its key, in the order of their declarations.
METRICS: Mapping[str, Metric] = MappingProxyType(_METRICS)


def metric(key: str, name: str, card: Card | None = None) -> Callable[[Declared], Declared]:
    """Declare the decorated function as the value of a metric.

    >>> from attn_widget.figures.catalog.metrics import METRICS
    >>> METRICS["sparsity"].name, METRICS["sparsity"].card.range
    ('Sparsity', '0 to 1')
    """

    def declare(value: Declared) -> Declared:
        if key in _METRICS:
            raise ValueError(f"There is a metric {key!r} already.")
        _METRICS[key] = Metric(key, name, value, card)
        return value

    return declare
