"""The table of every view under a widget's selection: the rows that the page's own menu saves.

Columns stand in ``docs/protocol.md`` ("The page"); a view's own switches (mode of predictions,
aggregation of sentences ...) are as they are when the view is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import regex
from numpy.typing import NDArray

from attn_widget.analysis.influence.proposals import proposals
from attn_widget.errors import NotAvailableError
from attn_widget.export.matrix import matrix_of, shown_matrix
from attn_widget.export.text import Cell, Table
from attn_widget.export.units import Unit
from attn_widget.figures.arrays import Float32
from attn_widget.figures.influence import influence_tree
from attn_widget.figures.specialization import KEYS as SPECIALIZATIONS
from attn_widget.protocol.paint import TOP_K, opening_mode
from attn_widget.protocol.profile_source import parts_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.slices.attention import opened_classes
from attn_widget.protocol.slices.influence import as_target
from attn_widget.protocol.source import Source

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.corpus.profile import Profile
    from attn_widget.influence.methods import Method

Row = tuple[Cell, ...]

LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")


def cell(value: float | None) -> float | None:
    """A number of a table; None where it is not finite."""
    return value if value is not None and np.isfinite(value) else None


def attention_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a cell: ``query, key, query_token, key_token, weight``, and ``score`` where the head has it."""
    shown = shown_matrix(analysis, selection, words_have_scores=False)
    weights = shown.weights.astype(np.float64)
    columns = [weights]
    if shown.scores is not None:
        columns.append(shown.scores.astype(np.float64))
    if shown.allowed is not None:
        columns = [np.where(shown.allowed, values, np.nan) for values in columns]
    lists = [values.tolist() for values in columns]
    rows: list[Row] = [
        (
            query.token,
            key.token,
            query.text,
            key.text,
            *(cell(values[i][j]) for values in lists),
        )
        for i, query in enumerate(shown.units)
        for j, key in enumerate(shown.units)
    ]
    names = ("query", "key", "query_token", "key_token", "weight", "score")
    return Table(names[: 4 + len(columns)], rows)


def heads_table(analysis: Analysis, _selection: Selection) -> Table:
    """One row a head: ``layer, head``, the metrics, the specialization (raw)."""
    figures: dict[str, Float32] = dict(analysis.metrics.as_dict())
    unknown = np.full((analysis.n_layers, analysis.n_heads), np.nan, dtype=np.float32)
    try:
        raw = analysis.specialization.raw
    except NotAvailableError:
        raw = {}
    figures.update({key: raw.get(key, unknown) for key in SPECIALIZATIONS})
    return by_head(figures)


def by_head(figures: Mapping[str, NDArray[Any]]) -> Table:
    """One row a head with a column for each figure, [L, H]."""
    lists = [values.astype(np.float64).tolist() for values in figures.values()]
    n_layers, n_heads = next(iter(figures.values())).shape
    rows: list[Row] = [
        (layer, head, *(cell(values[layer][head]) for values in lists))
        for layer in range(n_layers)
        for head in range(n_heads)
    ]
    return Table(("layer", "head", *figures), rows)


def table(source: Source, selection: Selection, view: str) -> Table:
    """The table of a view.

    Raises
    ------
    NotAvailableError
        A view that the source does not have, or that has no numbers for this run.
    """
    if view not in source.views:
        known = " and ".join(map(repr, source.views))
        raise NotAvailableError(f"A profile has no view {view!r}.", f"It has {known}.")
    if source.profile is not None:
        return profile_table(source.profile)
    analysis = source.analysis
    assert analysis is not None
    with analysis.lock:
        return TABLES[view](analysis, selection)


def profile_table(profile: Profile) -> Table:
    """One row a head of a profile: each figure with its interval, deviation and count.

    ``layer, head``, and for every key its mean over the texts, then ``<key>_low``, ``<key>_high`` (95%
    interval of that mean), ``<key>_sd`` and ``<key>_count`` (texts that have it).
    """
    figures: dict[str, NDArray[Any]] = {}
    for key in profile.keys:
        for part, values in parts_of(profile, key).items():
            figures[key if part == "metric" else f"{key}_{part}"] = values
    return by_head(figures)


def tree_table(analysis: Analysis, selection: Selection) -> Table:
    """One row an edge: ``parent, token, parent_token, child_token, depth, weight, product, score``."""
    shown = shown_matrix(analysis, selection, words_have_scores=True)
    units = shown.units
    columns = (
        *("parent", "token", "parent_token", "child_token"),
        *("depth", "weight", "product", "score"),
    )
    if not units:
        raise NotAvailableError(
            "No tokens are shown: the text has only special ones.", "Set special to True."
        )
    allowed = shown.allowed
    if shown.rollout and any(
        analysis.trace.allowed(i) is not None for i in range(analysis.n_layers)
    ):
        allowed = shown.weights > 0  # exactly 0 where no path through the layers is allowed
    root = root_of(units, selection.token)
    whole = influence_tree(
        shown.weights,
        root,
        top_k=selection.top_k,
        depth=selection.depth,
        scores=shown.scores,
        allowed=allowed,
    )
    rows: list[Row] = []
    for node in whole.walk():
        parent = units[node.token]
        for child in node.children:
            unit = units[child.token]
            rows.append(
                (
                    *(parent.token, unit.token, parent.text, unit.text),
                    *(child.depth, child.weight, child.product, child.score),
                )
            )
    return Table(columns, rows)


def root_of(units: list[Unit], token: int | None) -> int:
    """Where the tree starts: the unit of the focus token, else the first word."""
    if token is not None:
        for i, unit in enumerate(units):
            if unit.token <= token < unit.end:
                return i
    plain = [i for i, unit in enumerate(units) if not unit.special]
    named = [i for i in plain if LETTER_OR_NUMBER.search(units[i].surface)]
    return next(iter(named or plain), 0)


def sentences_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a pair: ``a, b, a_text, b_text, value``: the share of a's attention on b (``mass``)."""
    sums = analysis.sentences
    if selection.quantity in ("weights", "scores"):
        mass = sums.matrix("mass")
    else:
        mass = sums.gather(matrix_of(analysis, selection))
    values = mass.astype(np.float64).tolist()
    rows: list[Row] = [
        (a, b, first, second, cell(values[a][b]))
        for a, first in enumerate(sums.texts)
        for b, second in enumerate(sums.texts)
    ]
    if not rows:
        raise NotAvailableError(sums.note or "No sentence was found in the text.")
    return Table(("a", "b", "a_text", "b_text", "value"), rows)


def predictions_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a guess: the top five of every position that is shown, in the mode that the view opens on."""
    columns = (
        *("position", "token", "rank", "prediction", "probability", "logit"),
        *("original_rank", "original_probability"),
    )
    best = analysis.predictions(top_k=TOP_K, mode=opening_mode(analysis))
    rows: list[Row] = [
        tuple(record[name] for name in columns)
        for record in best.to_records()
        if selection.special or not analysis.tokens[record["position"]].special
    ]
    return Table(columns, rows)


def inside_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a number of the focus token's embeddings, the stage that is open at first.

    ``tensor, layer, head, position, token, dimension, value``; the tensors that the model has of
    ``token, position, segment, sum, norm`` and, where it projects them, ``output``.
    """
    parts = analysis.embeddings
    names = ["token", "position", "segment", "sum", "norm"]
    hidden = analysis.hidden_states.shape[-1]
    if parts.part("norm").shape[-1] != hidden:
        names.append("output")
    position = selection.token
    if position is None:
        position = next((i for i, t in enumerate(analysis.tokens) if not t.special), 0)
    rows: list[Row] = []
    for name in names:
        try:
            values = parts.part(name)[position]
        except NotAvailableError:
            continue
        text = analysis.tokens[position].text
        for dimension, value in enumerate(values.astype(np.float64).tolist()):
            rows.append((name, None, None, position, text, dimension, cell(value)))
    return Table(("tensor", "layer", "head", "position", "token", "dimension", "value"), rows)


def task_table(analysis: Analysis, _selection: Selection) -> Table:
    """One row a class: ``row, label, logit, exp, sum, probability``."""
    classes = analysis.classification
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
            *(cell(float(arrays[name][r, c])) for name in ("logits", "exp")),
            cell(float(arrays["sum"][c if by_column else r])),
            cell(float(arrays["probabilities"][r, c])),
        )
        for r in range(len(arrays["logits"]))
        for c, label in enumerate(classes.labels)
    ]
    return Table(("row", "label", "logit", "exp", "sum", "probability"), rows)


def why_table(analysis: Analysis, selection: Selection) -> Table:
    """One row a token: ``position, token, contribution`` to the target by the chosen method."""
    chosen = selection.target
    target = next(iter(proposals(analysis)), None) if chosen is None else as_target(chosen)
    if target is None:
        raise NotAvailableError("This model has no head whose output could be explained.")
    explained = analysis.contributions(target, cast("Method", selection.method))
    rows: list[Row] = [
        (i, token.text, cell(float(value)))
        for i, (token, value) in enumerate(zip(analysis.tokens, explained.values, strict=True))
    ]
    return Table(("position", "token", "contribution"), rows)


TABLES: dict[str, Callable[[Analysis, Any], Table]] = {
    "attention": attention_table,
    "heads": heads_table,
    "tree": tree_table,
    "sentences": sentences_table,
    "predictions": predictions_table,
    "inside": inside_table,
    "task": task_table,
    "why": why_table,
}
