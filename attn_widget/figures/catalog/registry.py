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
    """Texts of a metric that has a card of its own.

    Attributes
    ----------
    short : str
        Column heading and filter word.
    unit, summary : str
        ``""`` for a figure without a unit; what it says in half a sentence.
    formula, spoken : str
        In TeX, and for screen readers.
    by_row : (str, str) or None
        Formula and spoken text for a matrix that is not square or has a mask, where they differ; ``m_i`` is the number of
        keys that query i may attend to.
    high, low : str
        What a high and a low figure mean.
    warning : str or None
        For a name that points the wrong way.
    range, chance : str
        The range, and the figure of uniform attention, in symbols.
    bounds : callable of int [n] to (float, float)
        Least and largest possible figure, given how many keys each query may attend to.
    uniform : callable of (int [n], tau) to float
        The figure of a head that attends to every possible key alike.
    references : sequence of Reference
    """

    short: str
    summary: str
    formula: str
    spoken: str
    high: str
    low: str
    range: str
    chance: str
    bounds: Callable[[Counts], tuple[float, float]]
    uniform: Callable[[Counts, Tau], float]
    references: Sequence[Reference]
    unit: str = ""
    warning: str | None = None
    by_row: tuple[str, str] | None = None


@dataclass(frozen=True)
class Metric:
    """A figure of one head's matrix.

    Attributes
    ----------
    key : str
        Its name in tables, files and the protocol.
    name : str
        Its name on the screen.
    value : callable of HeadMatrix to float
        NaN where it is not defined.
    card : Card or None
        None for a figure that stands on another one's card.
    """

    key: str
    name: str
    value: Value
    card: Card | None


_METRICS: dict[str, Metric] = {}
#: Every metric by its key, in the order of their declarations.
METRICS: Mapping[str, Metric] = MappingProxyType(_METRICS)


def metric(key: str, name: str, card: Card | None = None) -> Callable[[Declared], Declared]:
    """Declare the decorated function as the value of a metric.

    Examples
    --------
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
