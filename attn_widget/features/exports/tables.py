"""The table of every view under a widget's selection: the numbers that the page's own menu saves.

Columns stand in ``docs/protocol.md`` ("The page"); a view's own switches (mode of predictions,
aggregation of sentences ...) are as they are when the view is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import lock_of
from attn_widget.errors import NotAvailableError
from attn_widget.features import declared, loaded
from attn_widget.figures.arrays import Float32
from attn_widget.figures.specialization import KEYS as SPECIALIZATIONS
from attn_widget.figures.tables import by_head
from attn_widget.page.view_cells import MakesTable
from attn_widget.protocol.initial_payload import TOP_K, opening_mode, table_mode
from attn_widget.protocol.matrix import matrix_of, shown_matrix
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.slices.attention import opened_classes
from attn_widget.protocol.source import Source

Cell: TypeAlias = "str | int | float | None"
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows of what a view shows, numbers with all their digits."""

    columns: tuple[str, ...]
    # A str, int, float or None for each column; None, NaN and infinities are N/A.
    rows: list[tuple[Cell, ...]]


def attention_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a cell: ``query, key, query_token, key_token, weight``, ``score`` where the head has it, and the query's ``rest``.

    ``rest`` is there where rows of weights may sum to less than 1 and all keys are shown.
    """
    shown = shown_matrix(analysis, selection, words_have_scores=False)
    weights = shown.weights.astype(np.float64)
    columns = [weights]
    if shown.scores is not None:
        columns.append(shown.scores.astype(np.float64))
    if shown.allowed is not None:
        columns = [np.where(shown.allowed, values, np.nan) for values in columns]
    lists = [values.tolist() for values in columns]
    names = ("query", "key", "query_token", "key_token", "weight", "score")[: 4 + len(columns)]
    rests: list[tuple[float, ...]] = [()] * len(shown.units)
    of_weights = analysis.trace.has_rest and selection.quantity in ("weights", "scores")
    if of_weights and sum(key.end - key.token for key in shown.keys) == len(
        analysis.model.key_tokens
    ):
        rests = [(rest,) for rest in np.maximum(1 - weights.sum(axis=1), 0).tolist()]
        names = (*names, "rest")
    rows: list[Row] = [
        (query.token, key.token, query.text, key.text, *(values[i][j] for values in lists), *rest)
        for i, (query, rest) in enumerate(zip(shown.units, rests, strict=True))
        for j, key in enumerate(shown.keys)
    ]
    return Table(names, rows)


def heads_table(analysis: Analysis, _selection: Selection) -> Table:
    """One row a head: ``layer, head``, the metrics, the specialization (raw)."""
    figures: dict[str, Float32] = dict(analysis.metrics.as_dict())
    unknown = np.full((analysis.trace.n_layers, analysis.trace.n_heads), np.nan, dtype=np.float32)
    try:
        raw = analysis.heads.specialization.raw
    except NotAvailableError:
        raw = {}
    figures.update({key: raw.get(key, unknown) for key in SPECIALIZATIONS})
    if not analysis.trace.square:
        figures.update(analysis.heads.monotony.as_dict())
    return Table(*by_head(figures))


def table(source: Source, selection: Selection, view: str) -> Table:
    """The table of a view."""
    if view not in source.views:
        views = " and ".join(map(repr, source.views))
        raise NotAvailableError(f"A {source.name} has no view {view!r}.", f"It has {views}.")
    if source.analysis is None:
        return Table(*source.table(selection))
    analysis = source.analysis
    with lock_of(analysis):
        if view in TABLES:
            return TABLES[view](analysis, selection)
        make: MakesTable = loaded(dict(declared("tables"))[view])
        return Table(*make(analysis, selection))


def sentences_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a pair: ``a, b, a_text, b_text, value``: the share of a's attention on b (``mass``)."""
    sums = analysis.sentences
    if selection.quantity in ("weights", "scores"):
        mass = sums.matrix("mass")
    else:
        mass = sums.gather(matrix_of(analysis, selection))
    values = mass.astype(np.float64).tolist()
    rows: list[Row] = [
        (a, b, first, second, values[a][b])
        for a, first in enumerate(sums.texts)
        for b, second in enumerate(sums.key_texts)
    ]
    if not rows:
        raise NotAvailableError(sums.note or "No sentence was found in the text.")
    return Table(("a", "b", "a_text", "b_text", "value"), rows)


def predictions_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a guess: the top five of every position that is shown, in the mode that the view opens on (`table_mode`)."""
    analysis = _of_what_is_written(analysis)
    mode = table_mode(opening_mode(analysis), analysis.trace.n_tokens)
    of_token = ("original_rank", "original_probability")
    if mode == "next":  # the token's own, which the position before predicts
        of_token = ("token_rank", "token_probability", "token_surprisal")
    columns = ("position", "token", "rank", "prediction", "probability", "logit", *of_token)
    best = analysis.predictions(top_k=TOP_K, mode=mode)
    rows: list[Row] = [
        tuple(record[name] for name in columns)
        for record in best.to_records()
        if selection.special or not analysis.tokens[record["position"]].special
    ]
    return Table(columns, rows)


def _of_what_is_written(analysis: Analysis) -> Analysis:
    """The decoder, of cross-attention, whose queries are the same tokens; any other run itself."""
    return analysis.model.writing if analysis.part == "cross" else analysis


def task_table(analysis: Analysis, _selection: Selection) -> Table:
    """One row a class: ``row, label, logit, exp, sum, probability``."""
    classes = analysis.model.classification
    if classes is None:
        raise NotAvailableError(
            "This model has no classifier.",
            "Load a checkpoint for sequence or token classification, or question answering.",
        )
    arrays = {name: values.astype(np.float64) for name, values in opened_classes(classes).items()}
    # Over positions (question answering) and of sigmoids there is a sum for each column, else one a row.
    by_column = classes.axis == 0 or classes.activation != "softmax"
    rows: list[Row] = [
        (
            r,
            label,
            float(arrays["logits"][r, c]),
            float(arrays["exp"][r, c]),
            float(arrays["sum"][c if by_column else r]),
            float(arrays["probabilities"][r, c]),
        )
        for r in range(len(arrays["logits"]))
        for c, label in enumerate(classes.labels)
    ]
    return Table(("row", "label", "logit", "exp", "sum", "probability"), rows)


TABLES: dict[str, Callable[[Analysis, Any], Table]] = {
    "attention": attention_table,
    "heads": heads_table,
    "sentences": sentences_table,
    "predictions": predictions_table,
    "task": task_table,
}
