"""The positions of a view as the page has them (``js/src/figures/derive/units.ts``): tokens or words, special or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attn_widget.figures.arrays import Bool, Float32
from attn_widget.protocol.paint import token_columns

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis


Index: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class Unit:
    """One row or column: the tokens ``[token, end)`` and what they are called.

    Attributes
    ----------
    token, end : int
        First token; one past the last.
    text : str
        A token as the tokenizer has it, a word as it stands in the text.
    surface : str
        As it stands in the text.
    special : bool
    """

    token: int
    end: int
    text: str
    surface: str
    special: bool


def units_of(analysis: Analysis, *, words: bool, special: bool) -> list[Unit]:
    """The positions that a widget shows, in the order of the text.

    Parameters
    ----------
    words : bool
        Tokens of a word are one position.
    special : bool
        Special tokens are positions too.

    Raises
    ------
    NotAvailableError
        Words of tensors whose text is not known.

    Examples
    --------
    >>> from attn_widget import analyze
    >>> a = analyze("unhappily", tagger=None, progress=False)
    >>> [unit.text for unit in units_of(a, words=True, special=False)]
    ['unhappily']
    """
    tokens = analysis.language.tokens if words else analysis.tokens
    before = token_columns(tokens, analysis.text, analysis.text_pair)["before"]
    units: list[Unit] = []
    start = 0
    while start < len(tokens):
        word = tokens[start].word if words else None
        end = start + 1
        while word is not None and end < len(tokens) and tokens[end].word == word:
            end += 1
        first = tokens[start]
        parts = [before[i] + tokens[i].surface for i in range(start + 1, end)]
        surface = "".join([first.surface, *parts])
        if special or not first.special:
            text = first.text if end - start == 1 else surface
            units.append(Unit(start, end, text, surface, first.special))
        start = end
    return units


def project(weights: Float32, units: Sequence[Unit]) -> Float32:
    """Attention between units: mean over a unit's query rows, sum over its key columns.

    Columns that are left out are not given back to the others. The sums run in float64 and in the
    page's order, so that the last digit is the same there and here.

    Parameters
    ----------
    weights : float32 [n, n]
    units : sequence of m Unit

    Returns
    -------
    float32 [m, m]
    """
    if len(units) == len(weights):
        return weights
    first, sizes = spans(units)
    total = np.zeros((len(units), len(units)))
    largest = int(sizes.max(initial=0))
    for i in range(largest):
        for j in range(largest):
            inside = (i < sizes)[:, None] & (j < sizes)
            cells = weights[np.ix_(*(np.minimum(first + k, len(weights) - 1) for k in (i, j)))]
            total += np.where(inside, cells.astype(np.float64), 0)
    return (total / sizes[:, None]).astype(np.float32)


def project_allowed(allowed: Bool, units: Sequence[Unit]) -> Bool:
    """Whether any of the cells between two units is possible, bool [m, m]."""
    cells = np.zeros((len(units), len(units)), dtype=bool)
    for a, query in enumerate(units):
        for b, key in enumerate(units):
            cells[a, b] = allowed[query.token : query.end, key.token : key.end].any()
    return cells


def spans(units: Sequence[Unit]) -> tuple[Index, Index]:
    """First token and number of tokens of each unit."""
    first = np.array([unit.token for unit in units], dtype=np.intp)
    return first, np.array([unit.end - unit.token for unit in units], dtype=np.intp)
