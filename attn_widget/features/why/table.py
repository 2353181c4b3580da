"""The table of the view Why, for a file."""

from __future__ import annotations

from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.units import numbered, units_of
from attn_widget.errors import NotAvailableError
from attn_widget.features.why.proposals import proposals
from attn_widget.features.why.slices import as_target
from attn_widget.figures.tables import Columns
from attn_widget.protocol.selection import Selection


def why_table(analysis: Analysis, selection: Selection) -> Columns:
    """One row a token: ``position, token, contribution`` to the target by the chosen method.

    Of an encoder-decoder also ``text``: the source's tokens come first, then the target's. Of a text whose input names its
    parts, as a chat its turns, also ``section``: the name of the token's part.
    """
    analysis = analysis.model.writing if analysis.part == "cross" else analysis
    chosen = selection.target
    target = next(iter(proposals(analysis)), None) if chosen is None else as_target(chosen)
    if target is None:
        raise NotAvailableError("This model has no head whose output could be explained.")
    explained = analysis.why.contributions(target, selection.method)
    rows: list[tuple[Any, ...]] = [
        (i, token.text, float(value))
        for i, (token, value) in enumerate(zip(analysis.tokens, explained.values, strict=True))
    ]
    if units := units_of(analysis):
        names = numbered([name for name, _, _ in units])
        sections = [
            name
            for name, (_, start, stop) in zip(names, units, strict=True)
            for _ in range(start, stop)
        ]
        named = [(*row, section) for row, section in zip(rows, sections, strict=True)]
        return ("position", "token", "contribution", "section"), named
    if explained.source is None:
        return ("position", "token", "contribution"), rows
    tokens = analysis.of("encoder").tokens
    sources: list[tuple[Any, ...]] = [
        (i, token.text, float(value), "source")
        for i, (token, value) in enumerate(zip(tokens, explained.source, strict=True))
    ]
    both = [*sources, *((*row, "target") for row in rows)]
    return ("position", "token", "contribution", "text"), both
