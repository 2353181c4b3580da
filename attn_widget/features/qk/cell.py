"""One cell of one head, and the table of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from attn_widget.errors import InputError
from attn_widget.features.qk.against import Against, Contrast, Row, contrast_of
from attn_widget.features.qk.attribution import QKAttribution
from attn_widget.features.qk.kept import Kept
from attn_widget.features.qk.reading import Read
from attn_widget.features.qk.sources import named, slopes
from attn_widget.features.qk.split import DISTANCE, Biases, By, Part
from attn_widget.features.why.decomposition import check_closes
from attn_widget.figures.arrays import Float64
from attn_widget.trace import Trace
from attn_widget.trace.forward import Progress

ROUNDED = 1e-4  # of the largest score: what two ways of computing it differ by
CAPPED = 0.9


@dataclass(frozen=True, eq=False)
class Cell:
    """A question: why a head looks from ``query`` at ``key`` rather than at others."""

    kept: Kept
    layer: int
    head: int
    query: int
    key: int
    against: Against | int
    by: By
    biases: Biases
    row: Row
    contrast: Contrast
    asked: Against | int


def row_of(kept: Kept, layer: int, head: int, query: int) -> Row:
    """One query's keys, as the run has them."""
    trace, rows = kept.run.trace, slice(query, query + 1)
    scores = trace.scores(layer, head, rows=rows)[0].astype(np.float64)
    weights = trace.weights(layer, head, rows=rows)[0].astype(np.float64)
    mask = trace.allowed(layer)
    allowed = np.isfinite(scores)
    if mask is not None:
        allowed &= mask[query]
    first = kept.run.encoder.predicts == "next" and trace.square
    rest = float(max(1 - weights.sum(), 1e-30)) if trace.has_rest else None
    return Row(trace.key_tokens, scores, weights, allowed, first, rest)


def cell_of(
    kept: Kept,
    layer: int,
    head: int,
    query: int,
    key: int,
    against: Against | int,
    by: By,
    biases: Biases,
) -> Cell:
    """A cell that has a contrast.

    Raises `InputError`, `InputTypeError`: a key that the mask forbids, or the only one of its row; no such
    contrast.
    """
    row = row_of(kept, layer, head, query)
    if not row.allowed[key]:
        at, to = kept.run.trace.tokens[query].text, row.tokens[key].text
        raise InputError(
            f"{at!r} may not look at {to!r}: the mask forbids it.", "Choose another key."
        )
    if row.allowed.sum() == 1 and against != "sink":
        raise InputError(
            f"{kept.run.trace.tokens[query].text!r} may look at one key only: there is nothing to compare its score with.",
            "Choose another query.",
        )
    contrast = contrast_of(row, key, against)
    used = "all" if contrast.fallback is not None else against
    asked = against if isinstance(against, str) else int(against)
    return Cell(kept, layer, head, query, key, used, by, biases, row, contrast, asked)


def attribution(
    cell: Cell, progress: Progress | None = None, *, sources: bool = True
) -> QKAttribution:
    """The table of a cell; ``sources``: heads with the token that they read most of.

    Raises `NotAvailableError`: a sum that does not close.
    """
    kept, row, query, key = cell.kept, cell.row, cell.query, cell.key
    found, head = kept.read(cell.layer, cell.head, cell.by, cell.biases, progress)
    coefficients = cell.contrast.coefficients
    reads = coefficients * double(found.factor[head, query])
    rows = double(found.query[:, head, query])
    columns = np.tensordot(reads, double(found.key[:, head]), axes=(0, 1))
    table = rows @ columns.T
    query_parts, key_parts = found.split.parts, found.split.parts
    table, query_parts, key_parts = _without_target(kept, table, query_parts, key_parts)
    added = positions(found, head, query, row)
    corner = 0.0 if added is None else float(coefficients @ added)
    if found.of_query is not None:
        corner = 0.0
        table = _bordered(
            table,
            double(found.of_query[:, head, query]) @ coefficients,
            double(found.of_key[:, head, query]) @ coefficients,
            0.0,
        )
    elif added is not None:
        table = _bordered(table, np.zeros(len(table)), np.zeros(table.shape[1]), corner)
    distance = corner
    if added is not None or found.of_query is not None:
        query_parts, key_parts = (*query_parts, DISTANCE), (*key_parts, DISTANCE)
        distance = float(table[-1].sum() + table[:-1, -1].sum())
    used = coefficients != 0
    contrast = float(coefficients[used] @ row.scores[used])
    gap = contrast - float(table.sum())
    size = float(np.abs(table).sum())
    check_closes(abs(gap) / max(size, 1.0), "The parts of this score", kept.run)
    if sources and cell.by == "parts" and cell.layer > 0:
        of = slopes(kept, cell.layer, cell.head, query, reads)
        query_parts = named(kept, query_parts, of["query"], query)
        key_parts = named(kept, key_parts, of["key"], key)
    return QKAttribution(
        layer=cell.layer,
        head=cell.head,
        query=query,
        key=key,
        by=cell.by,
        score=float(row.scores[key]),
        weight=float(row.weights[key]),
        contrast=contrast,
        constant=cell.contrast.constant,
        against=cell.against,
        distance=distance,
        matrix=table.astype(np.float32),
        query_parts=query_parts,
        key_parts=key_parts,
        query_sums=table.sum(axis=1),
        key_sums=table.sum(axis=0),
        biases=_of_biases(table, query_parts, key_parts),
        gap=gap,
        fallback=cell.contrast.fallback,
        capped=_capped(kept.run.trace, cell.layer, row.scores[key]),
        cell=cell,
    )


def double(tensor: Any) -> Float64:
    return tensor.detach().double().cpu().numpy()


def positions(found: Read, head: int, query: int, row: Row) -> Float64 | None:
    """Terms of the scores besides ``q . k``, float64 [m]; None where they are rounding."""
    added = np.where(
        row.allowed, np.where(row.allowed, row.scores, 0) - double(found.product[head, query]), 0.0
    )
    scores = np.abs(row.scores[row.allowed]).max()
    return None if np.abs(added).max() < ROUNDED * max(1.0, float(scores)) else added


def _without_target(
    kept: Kept, table: Float64, rows: tuple[Part, ...], columns: tuple[Part, ...]
) -> tuple[Float64, tuple[Part, ...], tuple[Part, ...]]:
    """An encoder reads the source's tokens alone, and so do the keys of cross-attention."""
    part = kept.run.encoder.part
    source = [at for at, each in enumerate(rows) if each.kind != "token" or each.text != 1]
    if part in ("encoder", "cross"):
        table, columns = table[:, source], tuple(columns[at] for at in source)
    if part == "encoder":
        table, rows = table[source], tuple(rows[at] for at in source)
    return table, rows, columns


def _bordered(table: Float64, column: Float64, row: Float64, corner: float) -> Float64:
    return np.block([[table, column[:, None]], [row[None], np.full((1, 1), corner)]])


def _of_biases(table: Float64, rows: tuple[Part, ...], columns: tuple[Part, ...]) -> float | None:
    of_rows = np.array([part.kind == "bias" for part in rows])
    of_columns = np.array([part.kind == "bias" for part in columns])
    if not of_rows.any():
        return None
    return float(table[of_rows].sum() + table[~of_rows][:, of_columns].sum())


def _capped(trace: Trace, layer: int, score: float) -> float | None:
    cap = trace.softcap(layer)
    if cap is None or score == 0:
        return None
    left = float(score / (cap * np.arctanh(score / cap)))
    return left if left < CAPPED else None
