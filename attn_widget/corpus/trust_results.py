"""Figures that agreement() and faithfulness() return: of many texts, as tables and pictures."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_kind, check_seed
from attn_widget.checks.rounding import first_largest, largest_first
from attn_widget.corpus.statistics import intervals, means
from attn_widget.corpus.storage import Rows
from attn_widget.host.figures import transparent_figure
from attn_widget.host.frames import dataframe
from attn_widget.influence.orders.order_test import holm

FAITHFULNESS = ("comprehensiveness", "sufficiency", "better_than_random", "percentile")
Figures = NDArray[np.float32]
INK, RIGHT, IDLE = "#7b7b7b", "#3d7fbf", "#9a9a9a"  # middle tones, for light and dark pages


def _noted(note: str | None) -> str:
    return "" if note is None else f"; {note}"


class Many:
    """Figures of many texts.

    Parameters
    ----------
    rows : Rows
    meta : dict
        ``model``, ``methods``, ``failed`` ...
    seed : int
        Of the bootstrap.

    Attributes
    ----------
    methods : tuple of str
    index : int64 [texts]
        Place of each text in the list that was given.
    failed : list of dict
        ``index`` and ``reason`` of each text that has no figures.
    """

    def __init__(self, rows: Rows, meta: dict[str, Any], seed: int = 0) -> None:
        check_kind(rows, Rows, "rows", "agreement(texts) and faithfulness(texts) make it.")
        check_kind(meta, dict, "meta", "agreement(texts) and faithfulness(texts) make it.")
        self.index, self._figures, self._marks = rows.index, rows.figures, rows.digests
        self.meta, self.seed = meta, check_seed(seed)
        self.methods: tuple[str, ...] = tuple(meta["methods"])
        self.failed: list[dict[str, Any]] = meta["failed"]


class ManyAgreements(Many):
    """Rank correlations of every two methods over many texts. `agreement` makes it."""

    @property
    def rho(self) -> Figures:
        """Spearman's rho of each text, float32 [texts, M, M]; NaN where it is not known."""
        return self._figures[:, 0]

    @property
    def mean(self) -> Figures:
        """Mean rho over the texts, float32 [M, M]."""
        return means.mean(self.rho)

    @cached_property
    def interval(self) -> tuple[Figures, Figures]:
        """Bootstrap 95% interval of the mean over texts, (low, high), each float32 [M, M].

        NaN below eight different texts (or groups); `interval_note` says so.

        References
        ----------
        Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
        Hesterberg (2015), "What Teachers Should Know about the Bootstrap", The American Statistician 69.
        """
        return intervals.bootstrap(self.rho, self.seed, self._marks)

    @property
    def interval_note(self) -> str | None:
        """Why no mean has an interval; None if one has."""
        return intervals.too_few(len(self.index), self.interval[0])

    def to_dataframe(self) -> Any:
        """One row for every two methods: ``method, other, rho, low, high, texts`` (needs pandas).

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        mean, count = self.mean, means.count(self.rho)
        low, high = self.interval
        return dataframe(
            {
                "method": method,
                "other": other,
                "rho": float(mean[i, j]),
                "low": float(low[i, j]),
                "high": float(high[i, j]),
                "texts": int(count[i, j]),
            }
            for i, method in enumerate(self.methods)
            for j, other in enumerate(self.methods)
            if i < j
        )

    def plot(self) -> Any:
        """Mean rho of every two methods, as a table of colors with its numbers.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        NotAvailableError
            matplotlib is not installed.
        """
        size = len(self.methods)
        figure = transparent_figure(1.6 + 0.5 * size, 0.9 + 0.42 * size)
        axes = figure.add_subplot()
        axes.imshow(self.mean, cmap="RdBu_r", vmin=-1, vmax=1)
        for (i, j), value in np.ndenumerate(self.mean):
            if i != j:
                ink = "white" if abs(value) > 0.6 else "black"
                axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=8)
        axes.set_xticks(range(size), self.methods, rotation=45, ha="right", color=INK, fontsize=8)
        axes.set_yticks(range(size), self.methods, color=INK, fontsize=8)
        axes.set_title(f"Spearman's ρ, mean of {len(self.index)} texts", color=INK, fontsize=9)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        return figure

    def __repr__(self) -> str:
        pairs = self.mean[np.triu_indices(len(self.methods), 1)]
        return (
            f"<ManyAgreements of {len(self.methods)} methods over {len(self.index)} texts: "
            f"mean rho {np.nanmean(pairs):.2f}{_noted(self.interval_note)}>"
        )


class ManyFaithfulness(Many):
    """Areas over the deletion curves of methods and of random orders, over many texts. `faithfulness` makes it."""

    @property
    def comprehensiveness(self) -> Figures:
        """Mean fall of the probability, float32 [texts, M + 1]; the last column is of random orders."""
        return self._figures[:, 0, 0]

    @property
    def sufficiency(self) -> Figures:
        """Mean fall where only the first words are kept, float32 [texts, M + 1]; as above."""
        return self._figures[:, 1, 0]

    @property
    def percentile(self) -> Figures:
        """Percent of random orders that lower the probability less, float32 [texts, M].

        NaN where a text cannot be tested.
        """
        return self._figures[:, 3, 0, :-1]

    @cached_property
    def mean_percentile(self) -> tuple[Figures, Figures, Figures]:
        """`percentile`: mean over the tested texts and its 95% interval, each float32 [M]; 50 by chance.

        Every text counts alike. `gain` is dominated by the texts with a high probability: where most are near
        0, its interval holds too seldom.
        """
        interval = intervals.bootstrap(self.percentile, self.seed, self._marks)
        return means.mean(self.percentile), *interval

    @property
    def tested(self) -> int:
        """How many texts can be tested: the others have too few words."""
        return int((~np.isnan(self._figures[:, 2, 0, :-1])).any(axis=1).sum())

    @property
    def better_than_random(self) -> Figures:
        """Share of the tested texts in which a method's order is better than random, float32 [M].

        Corrected for the methods: by chance one of them would be in at most 5% of the texts.
        """
        return means.mean(self._figures[:, 2, 0, :-1])

    @cached_property
    def better_interval(self) -> tuple[Figures, Figures]:
        """Wilson's 95% interval of `better_than_random`, (low, high), each float32 [M]."""
        return intervals.share_interval(self._figures[:, 2, 0, :-1], self.seed, self._marks)

    @property
    def _beyond(self) -> Figures:
        return self.comprehensiveness[:, :-1] - self.comprehensiveness[:, -1:]

    @cached_property
    def gain(self) -> tuple[Figures, Figures, Figures]:
        """Comprehensiveness beyond that of random orders: mean over texts and its 95% interval, each float32 [M].

        The interval is NaN below eight different texts (or groups); `interval_note` says so.
        """
        interval = intervals.bootstrap(self._beyond, self.seed, self._marks)
        return means.mean(self._beyond), *interval

    @property
    def interval_note(self) -> str | None:
        """Why no mean has an interval; None if one has."""
        return intervals.too_few(len(self.index), self.gain[1])

    def differences(self) -> list[dict[str, Any]]:
        """Difference of the percentiles of every two methods, on the same texts.

        Returns
        -------
        list of dict
            ``method, other, difference, p, adjusted``: a paired t test over texts (or groups), and its p value
            after Holm's correction for all pairs. Above 0.05 the two cannot be told apart. NaN below eight
            different texts.

        Examples
        --------
        >>> from attn_widget import faithfulness, target
        >>> many = faithfulness(["The cat sat on the mat."], target=target(position=3, token="sat", masked=True),
        ...                     methods=["decomposition", "weights"], tagger=None, progress=False)
        >>> [(row["method"], row["other"], row["adjusted"]) for row in many.differences()]
        [('decomposition', 'weights', nan)]
        """
        from scipy.stats import ttest_1samp

        marks = self.index if self._marks is None else self._marks
        known = ~np.isnan(self.percentile).any(axis=1)
        marks, percentile = marks[known], self.percentile[known]
        groups = [percentile[marks == mark].mean(axis=0) for mark in np.unique(marks)]
        beyond = np.array(groups, np.float64)
        pairs = [(i, j) for i in range(len(self.methods)) for j in range(i + 1, len(self.methods))]
        p = [float("nan")] * len(pairs)
        if len(beyond) >= intervals.LEAST:
            with np.errstate(invalid="ignore", divide="ignore"):
                tests: list[Any] = [ttest_1samp(beyond[:, i] - beyond[:, j], 0) for i, j in pairs]
            p = [float(test.pvalue) for test in tests]
        mean = self.mean_percentile[0]
        return [
            {
                "method": self.methods[i],
                "other": self.methods[j],
                "difference": float(mean[i] - mean[j]),
                "p": value,
                "adjusted": adjusted,
            }
            for (i, j), value, adjusted in zip(pairs, p, holm(p), strict=True)
        ]

    def to_dataframe(self) -> Any:
        """One row a method, and one for random orders (needs pandas).

        ``method, comprehensiveness, sufficiency, gain, low, high, percentile, percentile_low, percentile_high,
        better_than_random, better_low, better_high, tested, texts``.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        first, second = means.mean(self.comprehensiveness), means.mean(self.sufficiency)
        gain, low, high = (np.append(one, np.nan) for one in self.gain)
        rank, rank_low, rank_high = (
            np.append(one, 50 * last)
            for one, last in zip(self.mean_percentile, (1, np.nan, np.nan), strict=True)
        )
        better, better_low, better_high = (
            np.append(one, np.nan) for one in (self.better_than_random, *self.better_interval)
        )
        return dataframe(
            {
                "method": method,
                "comprehensiveness": float(first[i]),
                "sufficiency": float(second[i]),
                "gain": float(gain[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "percentile": float(rank[i]),
                "percentile_low": float(rank_low[i]),
                "percentile_high": float(rank_high[i]),
                "better_than_random": float(better[i]),
                "better_low": float(better_low[i]),
                "better_high": float(better_high[i]),
                "tested": self.tested,
                "texts": len(self.index),
            }
            for i, method in enumerate((*self.methods, "random"))
        )

    def plot(self) -> Any:
        """Gain of each method over random orders with its interval; filled where it lies above 0.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        NotAvailableError
            matplotlib is not installed.
        """
        mean, low, high = self.gain
        figure = transparent_figure(5.2, 0.9 + 0.3 * len(self.methods))
        axes = figure.add_subplot()
        axes.axvline(0, color=INK, linewidth=1, linestyle=":")
        order = largest_first(mean)[::-1]
        for place, i in enumerate(order):
            right = low[i] > 0
            color = RIGHT if right else IDLE
            if np.isfinite(low[i]):
                axes.plot([low[i], high[i]], [place, place], color=color, linewidth=2)
            face = color if right else "none"
            axes.plot(mean[i], place, "o", color=color, markerfacecolor=face, markersize=6)
            end = high[i] if np.isfinite(high[i]) else mean[i]
            axes.text(end, place, f"  {mean[i]:+.2f}", va="center", color=INK, fontsize=8)
        names = [self.methods[i] for i in order]
        axes.set_yticks(range(len(names)), names, color=INK, fontsize=8)
        axes.tick_params(length=0, colors=INK, labelsize=8)
        axes.set_xlabel(
            f"fall of the probability beyond random orders, {len(self.index)} texts, "
            f"{self.interval_note or '95% interval'}",
            color=INK,
            fontsize=8,
        )
        axes.spines[:].set_visible(False)
        axes.set_facecolor("none")
        axes.margins(x=0.18)
        return figure

    def __repr__(self) -> str:
        best = first_largest(self.gain[0])
        return (
            f"<ManyFaithfulness of {len(self.methods)} methods over {len(self.index)} texts: "
            f"{self.methods[best]} gains most, {self.gain[0][best]:+.3f}{_noted(self.interval_note)}>"
        )
