"""`QKAttribution`: a score of one head as an exact sum over pairs of parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from attn_widget.checks import check_choice, check_count
from attn_widget.errors import InputError
from attn_widget.features.qk.against import Against
from attn_widget.features.qk.node import Node
from attn_widget.features.qk.split import SIDES, By, Part, Side
from attn_widget.features.qk.table import Effects
from attn_widget.figures.arrays import Float32, Float64
from attn_widget.host.frames import Records
from attn_widget.trace.forward import Progress

PAIRS = 8  # that are named; the others are a rest


class Further(NamedTuple):
    """Questions that follow on an attribution, answered above this file.

    Attributes
    ----------
    effects : callable
        ``(found, k, side, parts, progress) -> Effects``
    trace : callable
        ``(found, depth, progress) -> Node``
    """

    effects: Callable[..., Effects]
    trace: Callable[..., Node]


@dataclass(frozen=True, eq=False)
class QKAttribution(Records):
    """Why a head looks from one token at another: its score, against others of its row, as an exact sum.

    ``matrix.sum() + gap = contrast``.

    Attributes
    ----------
    layer, head, query, key : int
    by : {"tokens", "parts"}
    score : float
        The scaled score, with what positions add.
    weight : float
        The attention weight.
    contrast : float
        ``sum_k c_k score_k`` with 1 at the key: how far it stands above the others.
    constant : float
        What makes log-odds of the contrast against "rivals" and "sink"; else 0.
    against : str or int
        What the score is compared with: "all" where there is no other word.
    distance : float
        What scores have from positions alone, in the contrast; 0 in models where they have nothing.
    matrix : float32 [A, B]
        By part of the query (rows) and part of the key (columns).
    query_parts, key_parts : tuple of Part
        What rows and columns are.
    query_sums, key_sums : float64 [A], [B]
        Sums of rows and columns.
    biases : float or None
        Of all pairs with the part "biases"; None where each bias stands with the token at which it enters, or there is none.
    gap : float
        What the sum misses, by rounding.
    fallback : str or None
        Why "all" took the place of "others".
    capped : float or None
        What a cap leaves of the score, where it is below 0.9.
    cell, further
        What it was computed from, and what answers `total_effects` and `trace`.
    """

    layer: int
    head: int
    query: int
    key: int
    by: By
    score: float
    weight: float
    contrast: float
    constant: float
    against: Against | int
    distance: float
    matrix: Float32
    query_parts: tuple[Part, ...]
    key_parts: tuple[Part, ...]
    query_sums: Float64
    key_sums: Float64
    biases: float | None
    gap: float
    fallback: str | None = None
    capped: float | None = None
    cell: Any = field(default=None, repr=False)
    further: Further | None = field(default=None, repr=False)

    @property
    def unreliable(self) -> bool:
        """True if the weight is so small that its logarithm says little."""
        return self.weight < 1e-6

    @property
    def rest(self) -> float:
        """Sum of all pairs besides the eight largest."""
        return self.contrast - sum(value for *_, value in self.pairs())

    def pairs(self, k: int = PAIRS) -> list[tuple[int, int, float]]:
        """The ``k`` largest pairs by size: row, column and what the pair brings.

        Raises
        ------
        InputError, InputTypeError
            ``k`` is no number of pairs.
        """
        check_count(k, "k", 1, self.matrix.size)
        flat = np.abs(self.matrix).ravel()
        k = min(k, flat.size)
        top = np.argpartition(-flat, k - 1)[:k]
        top = top[np.lexsort((top, -flat[top]))]
        rows, columns = np.unravel_index(top, self.matrix.shape)
        return [
            (int(row), int(column), float(self.matrix[row, column]))
            for row, column in zip(rows, columns, strict=True)
        ]

    def parts(self, side: Side) -> tuple[tuple[Part, ...], Float64]:
        """The parts of a side, and what each brings."""
        check_choice(side, "side", SIDES)
        if side == "query":
            return self.query_parts, self.query_sums
        return self.key_parts, self.key_sums

    def to_records(self) -> list[dict[str, Any]]:
        """One record a pair: ``query_part, key_part, value``."""
        rows = [part.name for part in self.query_parts]
        columns = [part.name for part in self.key_parts]
        return [
            {"query_part": rows[row], "key_part": columns[column], "value": float(value)}
            for (row, column), value in np.ndenumerate(self.matrix)
        ]

    def total_effects(
        self, k: int = 5, side: Side = "key", *, parts: Any = (), progress: Progress | None = None
    ) -> Effects:
        """Effects of taking parts out while the network runs on, next to what they bring directly.

        By parts, on the key side: at the key, the part is replaced where it is written by its average over the other
        keys (with the contrast's coefficients); on the query side it is taken out at the query. By tokens: the token is
        masked, or in a decoder replaced by the mean of the other tokens' vectors, and the direct number is row and column together.

        Parameters
        ----------
        k : int
            How many: the largest by size.
        side : {"key", "query"}
        parts : sequence of int, optional
            Which parts of that side instead.
        progress : callable, optional
            Called with ``(done, all)``.

        Returns
        -------
        Effects

        Raises
        ------
        InputError, InputTypeError
            No such parts.
        NotAvailableError
            An encoder-decoder.
        """
        assert self.further is not None  # of every attribution of an analysis
        return self.further.effects(self, k, side, parts, progress)

    def trace(self, depth: int = 3, *, progress: Progress | None = None) -> Node:
        """Tree of the cells in which the largest heads read what they bring, each a question of its own.

        Parameters
        ----------
        depth : int
            1 to 5.
        progress : callable, optional
            Called with ``(cells done, cells found)``.

        Raises
        ------
        InputError, InputTypeError
            A depth out of range; an attribution by tokens, which names no heads.
        """
        if self.by != "parts":
            raise InputError(
                "A trace follows heads, and this attribution is by tokens.", "Ask by='parts'."
            )
        assert self.further is not None
        return self.further.trace(self, depth, progress)

    def __repr__(self) -> str:
        where = f"layer {self.layer}, head {self.head}, {self.query} -> {self.key}"
        return f"QKAttribution({where}: {self.contrast:+.4f} against {self.against}, by {self.by})"
