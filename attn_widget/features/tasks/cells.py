"""Rows of the view Task, for a document that runs no page."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.model.classification import ClassProbabilities
from attn_widget.page.listed import ROWS, listed, shares, token_label
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells


def task_cells(analysis: Analysis, _selection: Selection, *, quick: bool) -> Cells:  # noqa: ARG001
    """The classifier's answer: classes of the text, or of each token, or where an answer starts and ends."""
    classes = analysis.model.classification
    if classes is None:
        raise NotAvailableError("This model has no classifier.")
    makers = {"token": _of_tokens, "question_answering": _of_span}
    return makers.get(classes.task, _of_text)(analysis, classes)


def _of_text(analysis: Analysis, classes: ClassProbabilities) -> Cells:
    """Classes in the model's order; the likeliest alone where there are many."""
    value = classes.activation == "identity"
    numbers = np.asarray(classes.logits if value else classes.probabilities, np.float64)
    order = largest_first(numbers)
    kept = sorted(order[:ROWS])
    rows = [f"{classes.labels[i]} {format(numbers[i], '.4g' if value else '.1%')}" for i in kept]
    some = f", the {len(kept)} largest of {len(numbers)}" if len(kept) < len(numbers) else ""
    what = "values" if value else "labels" if classes.activation == "sigmoid" else "classes"
    best = f"{what.capitalize()} of the text; the largest is that of {classes.labels[order[0]]}"
    column, top = ("value", None) if value else ("probability", 1.0)
    caption = f"{title_of(analysis)}: {what} of the text in the model's order{some}."
    return listed(best, caption, rows, numbers[kept].tolist(), column, top, signed=value)


def _of_tokens(analysis: Analysis, classes: ClassProbabilities) -> Cells:
    """The likeliest classes of each token, shaded by the probability of the first."""
    found = [
        (token, row)
        for token, row in zip(analysis.trace.tokens, classes.probabilities, strict=True)
        if not token.special
    ]
    if not found:
        raise NotAvailableError("The text has no token besides special ones.")
    rows: list[str] = []
    for token, row in found[:ROWS]:
        order = largest_first(row)
        rows.append(
            f"{token_label(token)}: {shares([classes.labels[i] for i in order], row[order])}"
        )
    some = f", the first {len(rows)} of {len(found)}" if len(rows) < len(found) else ""
    caption = f"{title_of(analysis)}: the likeliest classes of each token{some}."
    first = [float(row.max()) for _, row in found[:ROWS]]
    return listed("Classes of the tokens", caption, rows, first, "likeliest", 1.0)


def _of_span(analysis: Analysis, classes: ClassProbabilities) -> Cells:
    """Probabilities that an answer starts and ends at each token."""
    tokens = [token_label(token) for token in analysis.trace.tokens]
    both = np.asarray(classes.probabilities, np.float64).T
    top = float(both.max())
    start, end = (int(row.argmax()) for row in both)
    return Cells(
        (both / (top or 1.0)).astype(np.float32),
        f"Probability that an answer starts and ends at each token; most: {tokens[start]} and {tokens[end]}",
        f"{title_of(analysis)}: probability that the answer starts and ends at each token.",
        list(classes.labels),
        tokens,
        ("0", f"{top:.2g}"),
    )
