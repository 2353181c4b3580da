"""Figures of many texts, or pairs of texts: made one after the other, kept in a folder meanwhile, with intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_kind, check_seed
from attn_widget.errors import AttnWidgetError, InputError, InputTypeError
from attn_widget.features.corpus.resumable import resumable
from attn_widget.features.corpus.statistics import intervals, means
from attn_widget.features.corpus.storage import Rows, join
from attn_widget.figures.arrays import Float32

Item = TypeVar("Item")
INK = "#7b7b7b"  # a middle tone, for light and dark pages


class Many(ABC):
    """Figures of many texts, or pairs of texts, and their means.

    Parameters
    ----------
    rows : Rows
    meta : dict
        ``model``, ``keys``, ``failed`` ...
    seed : int
        Of the bootstrap.

    Attributes
    ----------
    index : int64 [texts]
        Place of each text in the list that was given.
    failed : list of dict
        ``index`` and ``reason`` of each text that has no figures.
    """

    MADE_BY: ClassVar[str]
    ITEMS: ClassVar[str] = "texts"

    def __init__(self, rows: Rows, meta: dict[str, Any], seed: int = 0) -> None:
        check_kind(rows, Rows, "rows", f"{self.MADE_BY} makes it.")
        check_kind(meta, dict, "meta", f"{self.MADE_BY} makes it.")
        if "model" not in meta:
            raise InputError("meta names no model.", f"{self.MADE_BY} makes it.")
        self.index, self._figures = rows.index, rows.figures
        self._marks = rows.index.astype(np.uint64) if rows.digests is None else rows.digests
        self.meta, self.seed = meta, check_seed(seed)
        self.failed: list[dict[str, Any]] = meta.get("failed", [])

    @property
    @abstractmethod
    def measured(self) -> Float32:
        """The figure of each text, float32 [texts, ...]."""

    @property
    def mean(self) -> Float32:
        """Mean over the texts that have the figure, float32 [...]."""
        return means.mean(self.measured)

    @cached_property
    def interval(self) -> tuple[Float32, Float32]:
        """Bootstrap 95% interval of the mean over texts, (low, high), each float32 [...].

        NaN below eight different texts, pairs or groups; `interval_note` says so.

        References
        ----------
        Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.

        Hesterberg (2015), "What Teachers Should Know about the Bootstrap", The American Statistician 69.
        """
        return intervals.bootstrap(self.measured, self.seed, self._marks)

    @property
    def interval_note(self) -> str | None:
        """Why no mean has an interval, or which ones rest on one text; None otherwise."""
        few = intervals.too_few(len(self.index), self.interval[0], self.ITEMS)
        return few or intervals.one_text(self.measured, self.ITEMS)

    def _said(self, what: str, found: str) -> str:
        note = "" if self.interval_note is None else f"; {self.interval_note}"
        return (
            f"<{type(self).__name__} of {what} over {len(self.index)} {self.ITEMS}: {found}{note}>"
        )


def measure(
    items: Sequence[Item],
    figures: Callable[[int, Item], tuple[int, Float32]],
    identity: dict[str, Any],
    marks: NDArray[np.uint64],
    folder: Path | None,
    *,
    progress: bool,
    lists_failures: bool = False,
) -> tuple[Rows, dict[str, Any]]:
    """Tokens and figures of every item, and what they depend on; items that fail are listed there, or raise.

    ``identity``: work in ``folder`` with another one is refused; ``work`` is the label of the progress bar.
    ``marks``, uint64 [items]: items with the same one are resampled together.
    """
    failed: list[dict[str, Any]] = []

    def row(k: int, item: Item) -> tuple[int, Float32] | None:
        try:
            return figures(k, item)
        except AttnWidgetError as error:
            if not lists_failures or isinstance(
                error, InputTypeError
            ):  # of the caller's own function
                raise
            failed.append({"index": k, "reason": str(error)})
            return None

    done = resumable(items, row, identity, folder, label=identity["work"], progress=progress)
    if not done:
        raise InputError(
            f"No text has its target. Text {failed[0]['index']}: {failed[0]['reason']}"
        )
    rows = join(done)
    return replace(rows, digests=marks[rows.index]), {**identity, "failed": failed}
