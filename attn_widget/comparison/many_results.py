"""Results of compare_many(): distances of every head over many pairs, as tables and pictures."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_count, check_kind, check_seed
from attn_widget.checks.rounding import largest_first
from attn_widget.comparison.plots import head_grid
from attn_widget.corpus.statistics import intervals, means
from attn_widget.corpus.storage import Rows
from attn_widget.errors import InputError
from attn_widget.host.frames import dataframe


class ManyComparisons:
    """Distances of every head over many pairs of texts. `compare_many` makes it.

    Parameters
    ----------
    rows : Rows
        Figures of each pair: ``distance``, ``dropped_a``, ``dropped_b``.
    meta : dict
        ``model``, ``keys``, ``n_texts`` ...
    seed : int
        Of the bootstrap.
    null : ManyComparisons, optional
        Pairs that differ in something that should not matter, one for each pair.

    Attributes
    ----------
    distances : float32 [pairs, L, H]
    index : int64 [pairs]
        Place of each pair in the list that was given.
    n_matched : int64 [pairs]
        Matched tokens.
    """

    def __init__(
        self, rows: Rows, meta: dict[str, Any], seed: int = 0, null: ManyComparisons | None = None
    ) -> None:
        check_kind(rows, Rows, "rows", "compare_many(pairs) makes it.")
        check_kind(meta, dict, "meta", "compare_many(pairs) makes it.")
        if "model" not in meta:
            raise InputError("meta names no model.", "compare_many(pairs) makes it.")
        if null is not None:
            check_kind(null, ManyComparisons, "null", "compare_many(pairs, null=...) makes it.")
        self.index, self.n_matched, self._figures = rows.index, rows.n_tokens, rows.figures
        self.meta, self.seed, self.null = meta, check_seed(seed), null
        self._marks = rows.index.astype(np.uint64) if rows.digests is None else rows.digests

    @property
    def distances(self) -> NDArray[np.float32]:
        return self._figures[:, 0]

    @property
    def mean(self) -> NDArray[np.float32]:
        """Mean distance of every head, float32 [L, H]."""
        return means.mean(self.distances)

    @cached_property
    def interval(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Bootstrap 95% interval of the mean over pairs, (low, high), each float32 [L, H].

        NaN below eight different pairs (or groups); `interval_note` says so. A distance is never below 0, so
        this interval does not tell whether a head follows the difference: `excess` does.

        References
        ----------
        Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
        Hesterberg (2015), "What Teachers Should Know about the Bootstrap", The American Statistician 69.
        """
        return intervals.bootstrap(self.distances, self.seed, self._marks)

    @property
    def interval_note(self) -> str | None:
        """Why no head has an interval; None if one has."""
        return intervals.too_few(len(self.index), self.interval[0], "pairs")

    @cached_property
    def excess(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """Distance beyond that of the null pairs: mean and 95% interval, (mean, low, high), float32 [L, H].

        NaN without ``null``.
        """
        if self.null is None:
            nothing = np.full(self.mean.shape, np.nan, np.float32)
            return nothing, nothing, nothing
        beyond = self.distances - self.null.distances
        return means.mean(beyond), *intervals.bootstrap(beyond, self.seed, self._marks)

    def heads(self) -> list[tuple[int, int]]:
        """Heads as (layer, head), the largest mean distance first; with ``null``, the largest `excess`.

        The first of many heads is partly first by luck: `held_out` measures it on other pairs.
        """
        mean = np.nan_to_num(self.mean if self.null is None else self.excess[0], nan=-1)
        return [divmod(k, mean.shape[1]) for k in largest_first(mean)]

    def held_out(self, n: int = 5) -> list[dict[str, Any]]:
        """The first ``n`` heads, chosen on one half of the pairs and measured on the other.

        Pairs are divided by their hashes; those of a group stay together.

        Parameters
        ----------
        n : int

        Returns
        -------
        list of dict
            ``layer, head``; ``chosen``, the distance on the half that chose them; ``distance, low, high`` on the
            other one; ``null, excess, excess_low, excess_high`` there (NaN without ``null``).

        Raises
        ------
        InputError, InputTypeError
            ``n`` is no number of heads, or all pairs are the same or of one group.

        Examples
        --------
        >>> from attn_widget import compare_many
        >>> pairs = [("he sat", "she sat"), ("he ran", "she ran"), ("he is here", "she is here")]
        >>> rows = compare_many(pairs, progress=False).held_out(2)
        >>> [sorted(row)[:3] for row in rows]
        [['chosen', 'distance', 'excess'], ['chosen', 'distance', 'excess']]
        """
        n = check_count(n, "n", 1, self.mean.size)
        different = np.unique(self._marks)
        if len(different) < 2:
            raise InputError(
                "All pairs are the same, or of one group: they cannot be divided.",
                "Give more pairs.",
            )
        first = np.isin(self._marks, different[::2])
        chosen, measured = self._part(first), self._part(~first)
        records = {(row["layer"], row["head"]): row for row in measured._records()}
        left_out = ("dropped_a", "dropped_b", "count")
        return [
            {"layer": layer, "head": head, "chosen": float(chosen.mean[layer, head])}
            | {k: v for k, v in records[layer, head].items() if k not in left_out}
            for layer, head in chosen.heads()[:n]
        ]

    def _part(self, texts: NDArray[np.bool_]) -> ManyComparisons:
        rows = Rows(
            self.index[texts], self.n_matched[texts], self._figures[texts], self._marks[texts]
        )
        null = None if self.null is None else self.null._part(texts)
        return ManyComparisons(rows, self.meta, self.seed, null)

    def to_dataframe(self) -> Any:
        """One row per head, in the order of `heads` (needs pandas).

        Returns
        -------
        pandas.DataFrame
            Columns ``layer, head, distance, low, high, null, excess, excess_low, excess_high, dropped_a,
            dropped_b, count``; those of the null are NaN without one.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        return dataframe(self._records())

    def _records(self) -> list[dict[str, Any]]:
        mean, count = means.mean(self._figures), means.count(self._figures)
        low, high = self.interval
        excess, excess_low, excess_high = self.excess
        null = excess if self.null is None else self.null.mean
        return [
            {
                "layer": layer,
                "head": head,
                "distance": float(mean[0, layer, head]),
                "low": float(low[layer, head]),
                "high": float(high[layer, head]),
                "null": float(null[layer, head]),
                "excess": float(excess[layer, head]),
                "excess_low": float(excess_low[layer, head]),
                "excess_high": float(excess_high[layer, head]),
                "dropped_a": float(mean[1, layer, head]),
                "dropped_b": float(mean[2, layer, head]),
                "count": int(count[0, layer, head]),
            }
            for layer, head in self.heads()
        ]

    def plot(self) -> Any:
        """Head grid: mean distance of every head, half the width of its interval, and the null's distance.

        Returns
        -------
        matplotlib.figure.Figure
            Drawn by itself as the last line of a cell; transparent, for light and dark pages.

        Raises
        ------
        NotAvailableError
            matplotlib is not installed.
        """
        return head_grid(self.mean, self.interval, None if self.null is None else self.null.mean)

    def __repr__(self) -> str:
        layer, head = self.heads()[0]
        null = (
            "no null pairs, and a distance is never below 0"
            if self.null is None
            else f"{self.null.mean[layer, head]:.4f} in null pairs"
        )
        note = "" if self.interval_note is None else f"; {self.interval_note}"
        return (
            f"<ManyComparisons of {len(self.index)} pairs by {self.meta['model']}: largest mean distance "
            f"{self.mean[layer, head]:.4f}, layer {layer}, head {head} ({null}){note}>"
        )
