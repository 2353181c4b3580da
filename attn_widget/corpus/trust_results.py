"""Figures that agreement() and faithfulness() return: of many texts, as tables and pictures."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_kind, check_seed
from attn_widget.checks.rounding import first_largest, largest_first
from attn_widget.corpus import statistics
from attn_widget.corpus.storage import Rows
from attn_widget.host.figures import transparent_figure
from attn_widget.host.frames import dataframe

FAITHFULNESS = ("comprehensiveness", "sufficiency", "better_than_random")
Figures = NDArray[np.float32]
INK, RIGHT, IDLE = "#7b7b7b", "#3d7fbf", "#9a9a9a"  # middle tones, for light and dark pages


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
        self.index, self._figures = rows.index, rows.figures
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
        return statistics.mean(self.rho)

    @cached_property
    def interval(self) -> tuple[Figures, Figures]:
        """Bootstrap 95% interval of the mean over texts, (low, high), each float32 [M, M].

        References
        ----------
        Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
        """
        return statistics.bootstrap(self.rho, self.seed)

    def to_dataframe(self) -> Any:
        """One row for every two methods: ``method, other, rho, low, high, texts`` (needs pandas).

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        mean, count = self.mean, statistics.count(self.rho)
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
            f"mean rho {np.nanmean(pairs):.2f}>"
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
    def better_than_random(self) -> Figures:
        """Share of texts on which a method lies above 95% of random orders, float32 [M]."""
        return statistics.mean(self._figures[:, 2, 0, :-1])

    @cached_property
    def gain(self) -> tuple[Figures, Figures, Figures]:
        """Comprehensiveness beyond that of random orders: mean over texts and its 95% interval, each float32 [M]."""
        beyond = self.comprehensiveness[:, :-1] - self.comprehensiveness[:, -1:]
        return statistics.mean(beyond), *statistics.bootstrap(beyond, self.seed)

    def to_dataframe(self) -> Any:
        """One row a method, and one for random orders (needs pandas).

        ``method, comprehensiveness, sufficiency, gain, low, high, better_than_random, texts``.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        first, second = statistics.mean(self.comprehensiveness), statistics.mean(self.sufficiency)
        gain, low, high = (np.append(one, np.nan) for one in self.gain)
        better = np.append(self.better_than_random, np.nan)
        return dataframe(
            {
                "method": method,
                "comprehensiveness": float(first[i]),
                "sufficiency": float(second[i]),
                "gain": float(gain[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "better_than_random": float(better[i]),
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
            axes.plot([low[i], high[i]], [place, place], color=color, linewidth=2)
            face = color if right else "none"
            axes.plot(mean[i], place, "o", color=color, markerfacecolor=face, markersize=6)
            axes.text(high[i], place, f"  {mean[i]:+.2f}", va="center", color=INK, fontsize=8)
        names = [self.methods[i] for i in order]
        axes.set_yticks(range(len(names)), names, color=INK, fontsize=8)
        axes.tick_params(length=0, colors=INK, labelsize=8)
        axes.set_xlabel(
            f"fall of the probability beyond random orders, {len(self.index)} texts, 95% interval",
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
            f"{self.methods[best]} gains most, {self.gain[0][best]:+.3f}>"
        )
