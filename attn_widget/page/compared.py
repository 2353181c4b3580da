"""The page of a comparison: both runs, and what only the two together tell.

The layout is in ``docs/protocol.md``, section "Saved pages"; ``js/src/compare/`` reads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.comparison.comparison import Comparison
from attn_widget.errors import NotAvailableError
from attn_widget.page.page import page_parts, write_page
from attn_widget.page.saved_run import ExportOptions, SavedRun, check_options_of, saved_run
from attn_widget.page.size_budget import SizeBudget
from attn_widget.protocol.pack import pack
from attn_widget.protocol.run_source import RunSource
from attn_widget.protocol.selection import Selection

CHUNK = "compare"
LISTED = 5  # predictions of either run at a matched token


def compared_parts(comparison: Comparison) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Alignment, distances and predictions: the meta and the arrays of the chunk `CHUNK`.

    Examples
    --------
    >>> from attn_widget import compare
    >>> c = compare("he sat", "she sat", tagger=None, progress=False)
    >>> meta, arrays = compared_parts(c)
    >>> meta["tokens"], arrays["distances"].shape, arrays["partner"].shape
    ([(0, 0), (2, 2), (3, 3)], (6, 12), (6, 12, 2))
    """
    meta: dict[str, Any] = {
        "version": 1,
        "notes": list(comparison.notes),
        "tokens": list(comparison.alignment.tokens),
        "same_shape": comparison.same_shape,
        "predictions": None,
        "reasons": {},
    }
    arrays: dict[str, NDArray[Any]] = {}
    try:
        found = comparison.distances()
        arrays["distances"] = found.distances.astype(np.float32)
        arrays["partner"] = found.partner.astype(np.int32)
    except NotAvailableError as error:
        meta["reasons"]["distances"] = str(error)
    try:
        records = comparison.predictions(LISTED)
        columns = ("position_a", "position_b", "token")
        meta["predictions"] = {key: [one[key] for one in records] for key in columns}
        for key in ("before", "after", "log_odds"):
            arrays[key] = np.array([one[key] for one in records], dtype=np.float32)
    except NotAvailableError as error:
        meta["reasons"]["predictions"] = str(error)
    return meta, arrays


def selections(comparison: Comparison) -> tuple[Selection, Selection]:
    """Both runs at the head with the greatest distance, at the token whose row changes most."""
    try:
        found = comparison.distances()
    except NotAvailableError:
        return Selection(), Selection()
    if np.isnan(found.distances).all():
        return Selection(), Selection()
    layer, head = divmod(int(np.nanargmax(found.distances)), found.distances.shape[1])
    change = comparison.difference(layer, head)
    special = [comparison.a.trace.tokens[i].special for i in change.positions_a]
    moved = np.abs(change.difference).sum(axis=1) - 1e3 * np.array(special)
    row = int(np.nanargmax(moved))
    layer_b, head_b = found.partner[layer, head].tolist()
    return (
        Selection(layer=layer, head=head, token=change.positions_a[row]),
        Selection(layer=layer_b, head=head_b, token=change.positions_b[row]),
    )


def compared_runs(comparison: Comparison, kept: ExportOptions) -> Iterator[SavedRun]:
    """A with the comparison's own chunk, then B."""
    sources = RunSource(comparison.a), RunSource(comparison.b)
    for source in sources:
        check_options_of(source, kept)
    room = SizeBudget([source.size for source in sources], "runs")
    for side, (source, chosen) in enumerate(zip(sources, selections(comparison), strict=True)):
        run = saved_run(source, chosen, kept, **room.of_one)
        room.take(run)
        if side == 0:
            chunks = {**run.snapshot.chunks, CHUNK: pack(*compared_parts(comparison))}
            run = replace(run, snapshot=replace(run.snapshot, chunks=chunks))
        yield replace(run, title=source.title)


def save_compared(
    path: str | os.PathLike[str], comparison: Comparison, kept: ExportOptions
) -> Path:
    """Write one page with both runs and their difference."""
    return write_page(
        path, compared_runs(comparison, kept), title_of(comparison, kept.title), "compare"
    )


def compared_html(comparison: Comparison) -> str:
    """The same page as text."""
    runs, title = compared_runs(comparison, ExportOptions()), title_of(comparison)
    return b"".join(page_parts(runs, title, "compare")).decode("utf-8")


def title_of(comparison: Comparison, title: str | None = None) -> str:
    """The title for the browser's tab."""
    sources = RunSource(comparison.a), RunSource(comparison.b)
    return title or " | ".join(source.title for source in sources)
