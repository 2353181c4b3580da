"""Figures that agreement() and faithfulness() return: of many texts, as tables and pictures."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks.rounding import first_largest, largest_first
from attn_widget.features.corpus.drawn import colored_cells, transparent_figure
from attn_widget.features.corpus.many import INK, Many
from attn_widget.features.corpus.statistics import intervals, means
from attn_widget.features.corpus.storage import Rows
from attn_widget.features.why.orders.order_test import LEVEL, holm
from attn_widget.figures.arrays import Float32
from attn_widget.host.frames import dataframe, records
from attn_widget.host.installed import require

if TYPE_CHECKING:
    from pandas import DataFrame


FAITHFULNESS = ("comprehensiveness", "sufficiency", "better_than_random", "percentile")
RIGHT, IDLE = "#3d7fbf", "#9a9a9a"  # middle tones, for light and dark pages


def _zero_mean(figures: Iterable[NDArray[np.float64]]) -> list[float]:
    """P values of a t test, whether the mean of each column is 0; NaN below eight texts."""
    require("scipy", "A test of a mean")
    from scipy.stats import ttest_1samp

    with np.errstate(invalid="ignore", divide="ignore"):
        tests: list[Any] = [
            ttest_1samp(values, 0) if len(values) >= intervals.LEAST else None for values in figures
        ]
    return [float("nan") if test is None else float(test.pvalue) for test in tests]


class _OfMethods(Many):
    """Figures of methods; ``methods``: their names."""

    MADE_BY = "agreement(texts) and faithfulness(texts)"  # as messages have it

    def __init__(self, rows: Rows, meta: dict[str, Any], seed: int = 0) -> None:
        super().__init__(rows, meta, seed)
        self.methods: tuple[str, ...] = tuple(meta["methods"])


class ManyAgreements(_OfMethods):
    """Rank correlations of every two methods over many texts. `agreement` makes it.

    ``mean`` and ``interval`` are of rho, float32 [M, M].
    """

    @property
    def rho(self) -> Float32:
        """Spearman's rho of each text, float32 [texts, M, M]; NaN where it is not known."""
        return self._figures[:, 0]

    @property
    def measured(self) -> Float32:
        return self.rho

    def to_dataframe(self) -> DataFrame:
        """One row for every two methods: ``method, other, rho, low, high, texts`` (needs pandas).

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        i, j = np.triu_indices(len(self.methods), 1)
        names, (low, high) = np.array(self.methods), self.interval
        columns = {"rho": self.mean, "low": low, "high": high, "texts": means.count(self.rho)}
        pairs = {name: values[i, j] for name, values in columns.items()}
        return dataframe(records(method=names[i], other=names[j], **pairs))

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
        texts = [
            [f"{v:.2f}" if i != j else "" for j, v in enumerate(row)]
            for i, row in enumerate(self.mean)
        ]
        figure, axes = colored_cells(
            self.mean,
            texts,
            (1.6 + 0.5 * size, 0.9 + 0.42 * size),
            cmap="RdBu_r",
            ends=(-1, 1),
            light=0.6,
        )
        axes.set_xticks(range(size), self.methods, rotation=45, ha="right", color=INK, fontsize=8)
        axes.set_yticks(range(size), self.methods, color=INK, fontsize=8)
        axes.set_title(f"Spearman's ρ, mean of {len(self.index)} texts", color=INK, fontsize=9)
        return figure

    def __repr__(self) -> str:
        pairs = self.mean[np.triu_indices(len(self.methods), 1)]
        some = pairs[~np.isnan(pairs)]
        found = f"mean rho {some.mean():.2f}" if some.size else "no text has a rank correlation"
        return self._said(f"{len(self.methods)} methods", found)


class ManyFaithfulness(_OfMethods):
    """Areas over the deletion curves of methods and of random orders, over many texts. `faithfulness` makes it.

    ``mean`` and ``interval`` are of `percentile`; see `mean_percentile`.
    """

    @property
    def measured(self) -> Float32:
        return self.percentile

    @cached_property
    def interval(self) -> tuple[Float32, Float32]:
        """95% interval of the mean percentile, (low, high), each float32 [M]: of a known range, 0 to 100."""
        return intervals.bounded_interval(self.percentile, (0, 100), self.seed, self._marks)

    @property
    def comprehensiveness(self) -> Float32:
        """Mean fall of the probability, float32 [texts, M + 1]; the last column is of random orders."""
        return self._figures[:, 0, 0]

    @property
    def sufficiency(self) -> Float32:
        """Mean fall where only the first words are kept, float32 [texts, M + 1]; as above."""
        return self._figures[:, 1, 0]

    @property
    def percentile(self) -> Float32:
        """Percent of random orders that lower the probability less, float32 [texts, M].

        NaN where a text cannot be tested.
        """
        return self._figures[:, 3, 0, :-1]

    @property
    def mean_percentile(self) -> tuple[Float32, Float32, Float32]:
        """`percentile`: mean over the tested texts and its 95% interval, each float32 [M]; 50 by chance.

        Every text counts alike. The interval is NaN below eight different tested texts (or groups);
        `interval_note` says so.
        """
        return self.mean, *self.interval

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
        ranked = ~np.isnan(self.percentile).any(axis=1)
        marks, percentile = self._marks[ranked], self.percentile[ranked].astype(np.float64)
        groups = [percentile[marks == mark].mean(axis=0) for mark in np.unique(marks)]
        return np.array(groups).reshape(-1, len(self.methods))

    @property
    def tested(self) -> int:
        """Number of texts that can be tested: the others have too few words."""
        return int((~np.isnan(self.percentile)).any(axis=1).sum())

    @property
    def better_than_random(self) -> Float32:
        """Share of the tested texts in which a method's order is better than random, float32 [M].

        Corrected for the methods: by chance one of them would be in at most 5% of the texts. Where the verdict is
        `undecided` it is not counted as better.
        """
        return means.mean(self._better)

    @property
    def undecided(self) -> Float32:
        """Share of the tested texts whose verdict more random orders could change, float32 [M]; see `Faithfulness.undecided`."""
        open_ones = np.isnan(self._verdicts).astype(np.float32)
        open_ones[np.isnan(self.percentile)] = np.nan
        return means.mean(open_ones)

    @cached_property
    def better_interval(self) -> tuple[Float32, Float32]:
        """Wilson's 95% interval of `better_than_random`, (low, high), each float32 [M]."""
        return intervals.share_interval(self._better, self.seed, self._marks)

    @property
    def _verdicts(self) -> Float32:
        """1 better than random, 0 not; NaN where a text cannot be tested, or is undecided: float32 [texts, M]."""
        return self._figures[:, 2, 0, :-1]

    @property
    def _better(self) -> Float32:
        """As `_verdicts`, and 0 where undecided."""
        undecided = np.isnan(self._verdicts) & ~np.isnan(self.percentile)
        return np.where(undecided, np.float32(0), self._verdicts)

    @property
    def gain(self) -> Float32:
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
        >>> from attn_widget import corpus, target
        >>> many = corpus.faithfulness(["The cat sat on the mat."], target=target(position=3, token="sat", masked=True),
        ...     methods=["decomposition", "weights"], tagger=None, progress=False)
        >>> [(row["method"], row["other"], row["adjusted"]) for row in many.differences()]
        [('decomposition', 'weights', nan)]
        """
        beyond, mean = self._of_groups, self.mean
        pairs = [*combinations(range(len(self.methods)), 2)]
        p = _zero_mean([beyond[:, i] - beyond[:, j] for i, j in pairs])
        i, j = np.array(pairs, np.intp).reshape(-1, 2).T
        names = np.array(self.methods)
        return records(
            method=names[i], other=names[j], difference=mean[i] - mean[j], p=p, adjusted=holm(p)
        )

    def to_dataframe(self) -> DataFrame:
        """One row a method, and one for random orders (needs pandas).

        ``method, comprehensiveness, sufficiency, gain, percentile, low, high, adjusted, better_than_random,
        better_low, better_high, undecided, tested, texts``; ``low`` and ``high`` are of the mean percentile, and `adjusted` says
        whether it differs from chance.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        columns = {  # of methods, and the value of random orders
            "gain": (self.gain, 0),
            "percentile": (self.mean, 50),
            "low": (self.interval[0], np.nan),
            "high": (self.interval[1], np.nan),
            "adjusted": (self.adjusted, np.nan),
            "better_than_random": (self.better_than_random, np.nan),
            "better_low": (self.better_interval[0], np.nan),
            "better_high": (self.better_interval[1], np.nan),
            "undecided": (self.undecided, np.nan),
        }
        table = records(
            method=[*self.methods, "random"],
            comprehensiveness=means.mean(self.comprehensiveness),
            sufficiency=means.mean(self.sufficiency),
            **{name: np.append(own, last) for name, (own, last) in columns.items()},
            tested=self.tested,
            texts=len(self.index),
        )
        return dataframe(table)

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
        mean = self.mean
        if np.isnan(mean).all():
            found = "none can be tested"
        else:
            best = first_largest(mean)
            found = f"{self.methods[best]} is best, lower than {mean[best]:.0f}% of random orders"
        return self._said(f"{len(self.methods)} methods", found)
