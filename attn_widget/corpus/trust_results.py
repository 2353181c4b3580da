"""Figures that agreement() and faithfulness() return: of many texts, as tables and pictures."""

from __future__ import annotations

from collections.abc import Iterable
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
from attn_widget.influence.orders.order_test import LEVEL, holm

FAITHFULNESS = ("comprehensiveness", "sufficiency", "better_than_random", "percentile")
Figures = NDArray[np.float32]
INK, RIGHT, IDLE = "#7b7b7b", "#3d7fbf", "#9a9a9a"  # middle tones, for light and dark pages


def _noted(note: str | None) -> str:
    return "" if note is None else f"; {note}"


def _zero_mean(figures: Iterable[NDArray[np.float64]]) -> list[float]:
    """P values of a t test, whether the mean of each column is 0; NaN below eight texts."""
    from scipy.stats import ttest_1samp

    with np.errstate(invalid="ignore", divide="ignore"):
        tests: list[Any] = [
            ttest_1samp(values, 0) if len(values) >= intervals.LEAST else None for values in figures
        ]
    return [float("nan") if test is None else float(test.pvalue) for test in tests]


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
        coefficients = pairs[~np.isnan(pairs)]
        found = (
            f"mean rho {coefficients.mean():.2f}"
            if coefficients.size
            else "no text has a rank correlation"
        )
        return (
            f"<ManyAgreements of {len(self.methods)} methods over {len(self.index)} texts: "
            f"{found}{_noted(self.interval_note)}>"
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

        Every text counts alike. The interval is NaN below eight different tested texts (or groups);
        `interval_note` says so.
        """
        interval = intervals.bounded_interval(self.percentile, (0, 100), self.seed, self._marks)
        return means.mean(self.percentile), *interval

    @cached_property
    def adjusted(self) -> NDArray[np.float64]:
        """P value of a mean percentile of 50, after Holm's correction for the methods, float64 [M].

        A t test over texts (or groups); NaN below eight different texts. Several intervals of 95% leave 50
        out more often than in 5% of the calls.
        """
        return np.array(holm(_zero_mean((self._of_groups - 50).T)))

    @cached_property
    def _of_groups(self) -> NDArray[np.float64]:
        """Mean percentiles of each group of texts, float64 [groups, M]."""
        marks = self.index if self._marks is None else self._marks
        ranked = ~np.isnan(self.percentile).any(axis=1)
        marks, percentile = marks[ranked], self.percentile[ranked].astype(np.float64)
        groups = [percentile[marks == mark].mean(axis=0) for mark in np.unique(marks)]
        return np.array(groups).reshape(-1, len(self.methods))

    @property
    def tested(self) -> int:
        """Number of texts that can be tested: the others have too few words."""
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
    def gain(self) -> Figures:
        """Comprehensiveness beyond that of random orders, mean over texts, float32 [M].

        It has no interval: where the model seldom expects the target, a few texts make up the whole mean, and no
        interval of the others can know of them (``docs/influence.md``, "Intervals"). `mean_percentile` has one.
        """
        return means.mean(self.comprehensiveness[:, :-1] - self.comprehensiveness[:, -1:])

    @property
    def interval_note(self) -> str | None:
        """Why no mean percentile has an interval; None if one has."""
        return intervals.too_few(self.tested, self.mean_percentile[1], "tested texts")

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
        beyond = self._of_groups
        pairs = [(i, j) for i in range(len(self.methods)) for j in range(i + 1, len(self.methods))]
        p = _zero_mean([beyond[:, i] - beyond[:, j] for i, j in pairs])
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

        ``method, comprehensiveness, sufficiency, gain, percentile, low, high, adjusted, better_than_random,
        better_low, better_high, tested, texts``; ``low`` and ``high`` are of the mean percentile, and `adjusted` says
        whether it differs from chance.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        first, second = means.mean(self.comprehensiveness), means.mean(self.sufficiency)
        gain = np.append(self.gain, 0)
        rank, low, high = (
            np.append(column, 50 * last)
            for column, last in zip(self.mean_percentile, (1, np.nan, np.nan), strict=True)
        )
        adjusted, better, better_low, better_high = (
            np.append(column, np.nan)
            for column in (self.adjusted, self.better_than_random, *self.better_interval)
        )
        return dataframe(
            {
                "method": method,
                "comprehensiveness": float(first[i]),
                "sufficiency": float(second[i]),
                "gain": float(gain[i]),
                "percentile": float(rank[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "adjusted": float(adjusted[i]),
                "better_than_random": float(better[i]),
                "better_low": float(better_low[i]),
                "better_high": float(better_high[i]),
                "tested": self.tested,
                "texts": len(self.index),
            }
            for i, method in enumerate((*self.methods, "random"))
        )

    def plot(self) -> Any:
        """Mean percentile of each method with its interval; filled if it is above 50, chance, after Holm's correction.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        NotAvailableError
            matplotlib is not installed.
        """
        mean, low, high = self.mean_percentile
        figure = transparent_figure(5.2, 0.9 + 0.3 * len(self.methods))
        axes = figure.add_subplot()
        axes.axvline(50, color=INK, linewidth=1, linestyle=":")
        order = largest_first(mean)[::-1]
        for place, i in enumerate(order):
            right = mean[i] > 50 and self.adjusted[i] <= LEVEL
            color = RIGHT if right else IDLE
            if np.isfinite(low[i]):
                axes.plot([low[i], high[i]], [place, place], color=color, linewidth=2)
            face = color if right else "none"
            axes.plot(mean[i], place, "o", color=color, markerfacecolor=face, markersize=6)
            end = high[i] if np.isfinite(high[i]) else mean[i]
            axes.text(end, place, f"  {mean[i]:.0f}%", va="center", color=INK, fontsize=8)
        names = [self.methods[i] for i in order]
        axes.set_yticks(range(len(names)), names, color=INK, fontsize=8)
        axes.tick_params(length=0, colors=INK, labelsize=8)
        axes.set_xlabel(
            f"lower than so many random orders, mean of {self.tested} texts, "
            f"{self.interval_note or '95% interval'}; by chance 50%",
            color=INK,
            fontsize=8,
        )
        axes.spines[:].set_visible(False)
        axes.set_facecolor("none")
        axes.margins(x=0.18)
        return figure

    def __repr__(self) -> str:
        mean = self.mean_percentile[0]
        if np.isnan(mean).all():
            found = "none can be tested"
        else:
            best = first_largest(mean)
            found = f"{self.methods[best]} is best, lower than {mean[best]:.0f}% of random orders"
        return (
            f"<ManyFaithfulness of {len(self.methods)} methods over {len(self.index)} texts: "
            f"{found}{_noted(self.interval_note)}>"
        )
