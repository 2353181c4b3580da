"""Results of compare.many(): distances of every head over many pairs, as tables and pictures."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_count, check_kind
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import InputError
from attn_widget.features.corpus.drawn import colored_cells
from attn_widget.features.corpus.many import INK, Many
from attn_widget.features.corpus.statistics import intervals, means
from attn_widget.features.corpus.storage import Rows
from attn_widget.host.frames import dataframe, head_records, records

if TYPE_CHECKING:
    from pandas import DataFrame


class ManyComparisons(Many):
    """Distances of every head over many pairs of texts. `compare.many` makes it.

    ``mean`` and ``interval`` are of the distances, float32 [L, H]. A distance is never below 0, so its interval does not
    tell whether a head follows the difference: `excess` does.

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

    MADE_BY = "compare.many(pairs)"
    ITEMS = "pairs"

    def __init__(
        self, rows: Rows, meta: dict[str, Any], seed: int = 0, null: ManyComparisons | None = None
    ) -> None:
        super().__init__(rows, meta, seed)
        if null is not None:
            check_kind(null, ManyComparisons, "null", "compare.many(pairs, null=...) makes it.")
        self.n_matched, self.null = rows.n_tokens, null

    @property
    def distances(self) -> NDArray[np.float32]:
        return self._figures[:, 0]

    @property
    def measured(self) -> NDArray[np.float32]:
        """The figure that is averaged, float32 [pairs, L, H]: `distances`."""
        return self.distances

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
        >>> from attn_widget import compare
        >>> pairs = [("he sat", "she sat"), ("he ran", "she ran"), ("he is here", "she is here")]
        >>> rows = compare.many(pairs, progress=False).held_out(2)
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

    def to_dataframe(self) -> DataFrame:
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
        distance, dropped_a, dropped_b = means.mean(self._figures)
        (low, high), (excess, excess_low, excess_high) = self.interval, self.excess
        table = head_records(
            distance=distance,
            low=low,
            high=high,
            null=excess if self.null is None else self.null.mean,
            excess=excess,
            excess_low=excess_low,
            excess_high=excess_high,
            dropped_a=dropped_a,
            dropped_b=dropped_b,
            count=means.count(self.distances),
        )
        heads = distance.shape[1]
        return [table[layer * heads + head] for layer, head in self.heads()]

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
        low, high = self.interval
        cells = records(
            mean=self.mean,
            half=(high - low) / 2,
            null=np.nan if self.null is None else self.null.mean,
        )
        layers, heads = self.mean.shape
        texts = [
            [_cell(**cell) for cell in cells[k * heads : (k + 1) * heads]] for k in range(layers)
        ]
        top = float(np.nanmax(self.mean, initial=0)) or 1.0
        figure, axes = colored_cells(
            self.mean,
            texts,
            (0.55 * heads + 1, 0.55 * layers + 0.8),
            cmap="GnBu",
            ends=(0, top),
            light=0.45 * top,
        )
        axes.set_xticks(range(heads))
        axes.set_yticks(range(layers))
        axes.set_xlabel(
            "head" if self.null is None else "head (in parentheses: null pairs)", color=INK
        )
        axes.set_ylabel("layer", color=INK)
        axes.tick_params(colors=INK)
        return figure

    def __repr__(self) -> str:
        layer, head = self.heads()[0]
        null = (
            "no null pairs, and a distance is never below 0"
            if self.null is None
            else f"{self.null.mean[layer, head]:.4f} in null pairs"
        )
        most = f"largest mean distance {self.mean[layer, head]:.4f}, layer {layer}, head {head} ({null})"
        return self._said(f"the heads of {self.meta['model']}", most)


def _cell(mean: float, half: float, null: float) -> str:
    """A mean, half the width of its interval and the null's mean, as far as they are known."""
    lines = ((mean, "{:.2f}"), (half, "±{:.2f}"), (null, "({:.2f})"))
    return "\n".join(form.format(value) for value, form in lines if np.isfinite(value))
