"""compare_many(): which heads tell many pairs of texts apart."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.analysis.texts import run_text
from attn_widget.checks import (
    check_flag,
    check_kind,
    check_path,
    check_seed,
    check_several,
    shown,
)
from attn_widget.checks.rounding import largest_first
from attn_widget.comparison.comparison import Comparison
from attn_widget.comparison.inputs import check_text
from attn_widget.corpus import statistics
from attn_widget.corpus.identity import identity_of, value_digest
from attn_widget.corpus.resumable import resumable
from attn_widget.corpus.storage import Rows, join
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.host.frames import dataframe

KEYS = ("distance", "dropped_a", "dropped_b")
TextPair = tuple[tuple[str, str | None], tuple[str, str | None]]
EXAMPLE = 'compare_many([("He is here.", "She is here.")])'


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

    Attributes
    ----------
    distances : float32 [pairs, L, H]
    index : int64 [pairs]
        Place of each pair in the list that was given.
    n_matched : int64 [pairs]
        Matched tokens.
    """

    def __init__(self, rows: Rows, meta: dict[str, Any], seed: int = 0) -> None:
        check_kind(rows, Rows, "rows", "compare_many(pairs) makes it.")
        check_kind(meta, dict, "meta", "compare_many(pairs) makes it.")
        self.index, self.n_matched, self._figures = rows.index, rows.n_tokens, rows.figures
        self.meta, self.seed = meta, check_seed(seed)

    @property
    def distances(self) -> NDArray[np.float32]:
        return self._figures[:, 0]

    @property
    def mean(self) -> NDArray[np.float32]:
        """Mean distance of every head, float32 [L, H]."""
        return statistics.mean(self.distances)

    @cached_property
    def interval(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Bootstrap 95% interval of the mean over pairs, (low, high), each float32 [L, H].

        NaN below two pairs.

        References
        ----------
        Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
        """
        return statistics.bootstrap(self.distances, self.seed)

    def heads(self) -> list[tuple[int, int]]:
        """Heads as (layer, head), the largest mean distance first."""
        mean = np.nan_to_num(self.mean, nan=-1)
        return [divmod(k, mean.shape[1]) for k in largest_first(mean)]

    def to_dataframe(self) -> Any:
        """One row per head, the largest mean distance first (needs pandas).

        Returns
        -------
        pandas.DataFrame
            Columns ``layer, head, distance, low, high, dropped_a, dropped_b, count``.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        mean, count = statistics.mean(self._figures), statistics.count(self._figures)
        low, high = self.interval
        return dataframe(
            {
                "layer": layer,
                "head": head,
                "distance": float(mean[0, layer, head]),
                "low": float(low[layer, head]),
                "high": float(high[layer, head]),
                "dropped_a": float(mean[1, layer, head]),
                "dropped_b": float(mean[2, layer, head]),
                "count": int(count[0, layer, head]),
            }
            for layer, head in self.heads()
        )

    def plot(self) -> Any:
        """Head grid: mean distance of every head, and half the width of its interval.

        Returns
        -------
        matplotlib.figure.Figure
            Drawn by itself as the last line of a cell; transparent, for light and dark pages.

        Raises
        ------
        NotAvailableError
            matplotlib is not installed.
        """
        from attn_widget.comparison.plots import head_grid

        return head_grid(self.mean, self.interval)

    def __repr__(self) -> str:
        layer, head = self.heads()[0]
        return (
            f"<ManyComparisons of {len(self.index)} pairs by {self.meta['model']}: largest mean distance "
            f"{self.mean[layer, head]:.4f}, layer {layer}, head {head}>"
        )


def compare_many(
    pairs: Iterable[Any],
    *,
    model: Any = None,
    seed: int = 0,
    truncation: bool = False,
    progress: bool = True,
    resume: str | Path | None = None,
) -> ManyComparisons:
    """Distance of every head over many pairs of texts: mean and 95% interval.

    Parameters
    ----------
    pairs : iterable of (a, b)
        Each of them a text, or a (text, text_pair).
    model : optional
        As in `analyze`.
    seed : int
        Of the bootstrap.
    truncation : bool
        Cut texts that are longer than the model allows instead of refusing them.
    progress : bool
        Show a progress bar.
    resume : str or path, optional
        A folder that finished work is kept in and taken from: the same call goes on where it was
        interrupted. Needs pyarrow.

    Returns
    -------
    ManyComparisons

    Raises
    ------
    InputError
        No pair; a text that the model cannot read, named by its pair's index, before any work is done;
        a ``resume`` folder of other work.
    InputTypeError
        Anything but pairs of texts.
    TooLongError, ModelLoadError
        As in `analyze`.

    Examples
    --------
    >>> many = compare_many([("he sat", "she sat"), ("he ran", "she ran")], progress=False)
    >>> many.mean.shape, len(many.heads())
    ((6, 12), 72)
    """
    progress, truncation = check_flag(progress, "progress"), check_flag(truncation, "truncation")
    seed = check_seed(seed)
    folder = None if resume is None else check_path(resume, "resume")
    texts = [_pair(pair, k) for k, pair in enumerate(check_several(pairs, "pairs", "pairs"))]
    if not texts:
        raise InputError("pairs is empty.", f"For example {EXAMPLE}")
    from attn_widget.model.loading import load

    encoder = load(model, progress=progress)
    for k, pair in enumerate(texts):
        for text in pair:
            try:
                encoder.encode(*text, truncation=truncation)
            except AttnWidgetError as error:
                message = f"Pair {k} of {len(texts)}: {error.message}"
                raise type(error)(message, error.hint) from error
    meta = {
        "keys": list(KEYS),
        "work": "compare_many",
        **identity_of(encoder),
        "truncation": truncation,
        "n_texts": len(texts),
        "texts": value_digest(texts, "pairs"),
    }

    def row(_k: int, pair: TextPair) -> tuple[int, NDArray[np.float32]]:
        return _figures(
            *(run_text(encoder, *text, truncation=truncation, tagger=None) for text in pair)
        )

    done = resumable(texts, row, meta, folder, label="compare", progress=progress)
    return ManyComparisons(join(done), meta, seed)


def _figures(a: Analysis, b: Analysis) -> tuple[int, NDArray[np.float32]]:
    """Matched tokens, and float32 [keys, L, H]; NaN where no token is matched."""
    c = Comparison(a, b)
    if not c.alignment.tokens:
        return 0, np.full((len(KEYS), a.n_layers, a.n_heads), np.nan, np.float32)
    distances = c.distances()
    figures = np.stack([distances.distances, distances.dropped_a, distances.dropped_b])
    return distances.n_queries, figures.astype(np.float32)


def _pair(pair: Any, k: int) -> TextPair:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise InputTypeError(f"Pair {k} is {shown(pair)}, expected two texts.", EXAMPLE)
    texts = [check_text(text, f"a text of pair {k}") for text in pair]
    if isinstance(texts[0], Analysis) or isinstance(texts[1], Analysis):
        raise InputTypeError(f"Pair {k} holds an Analysis, expected two texts.", EXAMPLE)
    return texts[0], texts[1]
