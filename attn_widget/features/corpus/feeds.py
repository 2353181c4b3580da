"""Which heads feed a head: what earlier heads bring to its strongest cells, over many texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_choice, check_several, index_in, short_repr
from attn_widget.checks.values import check_count
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.corpus.examples import ReadTexts, analysis_of
from attn_widget.features.corpus.many import Many
from attn_widget.features.corpus.statistics import intervals, means
from attn_widget.features.corpus.storage import Rows
from attn_widget.figures.arrays import Float32
from attn_widget.host.frames import dataframe, records
from attn_widget.host.installed import require_torch
from attn_widget.model.encoder import Encoder

SIDES = ("query", "key")
GROUPS = ("FFNs", "embedding, biases")


class HeadFeeds(Many):
    """Parts of a head's strongest cells that earlier heads bring, over many texts: `profile` with ``qk`` makes it.

    A text's number is the mean over its three strongest cells from one word to another, against the other words.

    Attributes
    ----------
    layer, head : int
    cells : list of list of (int, int)
        Query and key of the cells of each text, the strongest first.
    """

    MADE_BY = "profile(texts, qk=(layer, head))"

    def __init__(self, rows: Rows, meta: dict[str, Any], seed: int = 0) -> None:
        super().__init__(rows, meta, seed)
        self.layer, self.head = meta["qk"]
        self.n_heads: int = meta["n_heads"]
        self.cells: list[list[tuple[int, int]]] = meta["cells"]

    def columns(self, index: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Figures and cells of the texts of ``index``, [texts, ...] each; -1 for cells that a text lacks."""
        cells = np.full((len(index), max(map(len, self.cells)), 2), -1, np.int32)
        figures = np.zeros((len(index), *self._figures.shape[1:]), np.float32)
        row = {int(at): row for row, at in enumerate(index)}
        for at, values, found in zip(self.index, self._figures, self.cells, strict=True):
            figures[row[int(at)]] = values
            cells[row[int(at)], : len(found)] = found
        return {"qk": figures, "qk_cells": cells}

    @property
    def described(self) -> dict[str, Any]:
        """Fields that `loaded` needs besides `columns`."""
        return {"qk": [self.layer, self.head], "n_heads": self.n_heads, "failed": self.failed}

    @classmethod
    def loaded(
        cls,
        rows: Rows,
        columns: dict[str, NDArray[Any]],
        described: dict[str, Any],
        meta: dict[str, Any],
        seed: int,
    ) -> HeadFeeds:
        """Inverse of `columns` and `described`, given a profile's rows and meta."""
        cells = columns["qk_cells"]
        has = cells[:, 0, 0] >= 0
        found = replace(rows.take(has), figures=columns["qk"][has], observed=None)
        of = [[(int(i), int(j)) for i, j in each if i >= 0] for each in cells[has]]
        about = {**meta, **described, "qk": tuple(described["qk"]), "cells": of}
        return cls(found, about, seed)

    @property
    def measured(self) -> Float32:
        """Contribution of each part, float32 [texts, 2, layer * H + 2]: query side and key side; heads in their order, all FFNs, the rest."""
        return self._figures[:, :, 0, :-2]

    @property
    def contrast(self) -> Float32:
        """Each text's contrast, float32 [texts]: the sum of either side."""
        return self._figures[:, 0, 0, -2]

    @property
    def weight(self) -> Float32:
        """Each text's weight, float32 [texts]."""
        return self._figures[:, 0, 0, -1]

    @property
    def shares(self) -> Float32:
        """`measured` as shares of the contrast; NaN where that is not above 0."""
        contrast = np.where(self.contrast > 0, self.contrast, np.nan)
        return (self.measured / contrast[:, None, None]).astype(np.float32)

    @cached_property
    def share_interval(self) -> tuple[Float32, Float32]:
        """Bootstrap 95% interval of the mean share, (low, high), each float32 [2, layer * H + 2]."""
        return intervals.bootstrap(self.shares, self.seed, self._marks)

    def to_dataframe(self) -> Any:
        """One row for every part and side (needs pandas): ``side, part, layer, head, value, low, high, share, share_low, share_high, texts``.

        ``value`` is the mean over texts of what the part brings to the contrast; both sides add up to the mean contrast.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        return dataframe(self.to_records())

    def to_records(self) -> list[dict[str, Any]]:
        """The rows of `to_dataframe`."""
        heads = [(layer, head) for layer in range(self.layer) for head in range(self.n_heads)]
        names = np.array([*(f"L{layer} H{head}" for layer, head in heads), *GROUPS])
        nowhere = [None] * len(GROUPS)
        (low, high), (share_low, share_high) = self.interval, self.share_interval
        return records(
            side=np.array(SIDES)[:, None],
            part=names,
            layer=np.array([*(layer for layer, _ in heads), *nowhere], dtype=object),
            head=np.array([*(head for _, head in heads), *nowhere], dtype=object),
            value=self.mean,
            low=low,
            high=high,
            share=means.mean(self.shares),
            share_low=share_low,
            share_high=share_high,
            texts=means.count(self.measured),
        )

    def largest(self, k: int = 5, side: str = "key") -> list[dict[str, Any]]:
        """The ``k`` heads that bring most, by size, as rows of `to_dataframe`.

        Raises
        ------
        InputError, InputTypeError
            No such side; ``k`` is no number of heads.
        """
        check_choice(side, "side", SIDES)
        check_count(k, "k", 1)
        rows = [row for row in self.to_records() if row["side"] == side and row["head"] is not None]
        return sorted(rows, key=lambda row: -abs(row["value"]))[:k]

    def __repr__(self) -> str:
        first = self.largest(1)[0]
        found = f"contrast {self.contrast.mean():.2f}, of which {first['part']} brings {first['value']:+.2f} by the keys"
        return self._said(f"layer {self.layer}, head {self.head}", found)


def check_head(encoder: Encoder, given: Any) -> tuple[int, int]:
    """``(layer, head)``, of a model whose scores can be split by parts.

    Raises
    ------
    InputError, InputTypeError
        No such head; one of the first layer, which no head is below.
    NotAvailableError
        An encoder-decoder; torch is not installed.
    """
    pair = check_several(given, "qk", "a layer and a head")
    if len(pair) != 2:
        raise InputError(
            f"qk is {short_repr(given)}, expected (layer, head).", "For example qk=(3, 7)."
        )
    layer = index_in(pair[0], encoder.n_layers, "the layer of qk")
    head = index_in(pair[1], encoder.n_heads, "the head of qk")
    if layer == 0:
        raise InputError(
            "qk names a head of layer 0, and no head is below it.", "Choose a later layer."
        )
    if encoder.part is not None:
        raise NotAvailableError(
            f"{encoder.name} is an encoder-decoder, whose scores are not split by heads.",
            "Leave qk out.",
        )
    require_torch("Which heads feed a head")
    return layer, head


def feeds(
    read: ReadTexts,
    of: tuple[int, int],
    index: Sequence[int],
    marks: NDArray[np.uint64],
    meta: dict[str, Any],
    *,
    seed: int,
    progress: bool,
) -> HeadFeeds:
    """Figures of head ``of`` on every text; texts without a cell to explain are listed.

    Parameters
    ----------
    index : sequence of int
        Places of the texts that were read.
    marks : uint64 [texts]
        Texts with the same one are resampled together.

    Raises
    ------
    InputError
        No text has such a cell.
    """
    from tqdm.auto import tqdm

    from attn_widget.features.qk.feeding import fed

    layer, head = of
    rows: list[Float32] = []
    done: list[int] = []
    failed: list[dict[str, Any]] = []
    n_tokens: list[int] = []
    cells: list[list[tuple[int, int]]] = []
    for row, place in enumerate(tqdm(index, desc="qk", unit="text", disable=not progress)):
        # Each text alone: what stands next to it in a batch would change its last bits.
        analysis = analysis_of(read.encoder, read.texts[place])
        try:
            found = fed(analysis, layer, head)
        except InputError as error:
            failed.append({"index": int(place), "reason": str(error)})
            continue
        sides = np.concatenate([found.heads.reshape(2, -1), found.rest], axis=1)
        whole = np.broadcast_to(np.array([found.contrast, found.weight], np.float32), (2, 2))
        rows.append(np.concatenate([sides, whole], axis=1)[:, None])
        done.append(row)
        n_tokens.append(analysis.trace.n_tokens)
        cells.append(found.cells)
    if not rows:
        raise InputError(
            f"qk: no text has a cell to explain. Text {failed[0]['index']}: {failed[0]['reason']}",
            "Give texts of three words or more.",
        )
    table = Rows(
        np.array([index[row] for row in done]), np.array(n_tokens), np.stack(rows), marks[done]
    )
    n_heads = read.encoder.n_heads
    about = {**meta, "qk": of, "n_heads": n_heads, "cells": cells, "failed": failed}
    return HeadFeeds(table, about, seed)
