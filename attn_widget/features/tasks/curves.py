"""Loss and metrics over the epochs, as a figure that a notebook shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attn_widget.errors import NotAvailableError
from attn_widget.features.corpus.drawn import transparent_figure

PANELS = (
    ("cross_entropy", "Cross-entropy"),
    ("auc_roc", "AUC-ROC"),
    ("correct", "% correct"),
    ("relaxed", "% within one class"),
)
# Middle tones: at least 3.9 to 1 on white, on #111111 (JupyterLab's dark) and on #1e1e1e.
INK = "#7b7b7b"
SERIES = (("train", "training", "#3d7fbf", "--"), ("validation", "validation", "#c9660a", "-"))
PANEL = (2.9, 2.5)  # inches


def draw(history: Sequence[dict[str, Any]], best: int | None) -> Any:
    """A panel for each metric; the epoch whose weights were kept is ringed.

    ``history``: of `FittedClassifier`. ``best``: that epoch, 1-based.
    """
    if not history:
        raise NotAvailableError(
            "This classifier was not trained here, so there are no curves.",
            "fit_classifier() and load_classifier() of what it saved have them.",
        )
    panels = [(key, title) for key, title in PANELS if history[0]["train"].get(key) is not None]
    columns = 2 if len(panels) == 4 else len(panels)
    rows = len(panels) // columns
    figure = transparent_figure(PANEL[0] * columns, PANEL[1] * rows)
    from matplotlib.ticker import MaxNLocator

    epochs = [record["epoch"] for record in history]
    for i, (key, title) in enumerate(panels):
        axes: Any = figure.add_subplot(rows, columns, i + 1)
        for part, label, color, dash in SERIES:
            if history[0][part] is None:
                continue
            values = [record[part][key] for record in history]
            axes.plot(
                epochs,
                values,
                dash,
                color=color,
                label=label,
                marker="o",
                ms=4,
                lw=2,
                clip_on=False,
            )
            if best is not None and (part == "validation" or history[0]["validation"] is None):
                best_value = values[best - 1]
                axes.plot(
                    [best], [best_value], "o", ms=10, mfc="none", mec=color, mew=1.5, clip_on=False
                )
        axes.set_facecolor("none")
        axes.set_title(title, color=INK, fontsize=12, fontweight="bold", loc="left")
        axes.tick_params(colors=INK, labelsize=10)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.margins(x=0.08, y=0.12)
        axes.grid(axis="y", color=INK, alpha=0.25, lw=0.8)
        axes.set_xlabel("epoch", color=INK, fontsize=10)
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=2,
        frameon=False,
        labelcolor=INK,
        fontsize=10,
    )
    return figure
