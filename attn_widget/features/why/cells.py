"""Rows of the view Why, for a document that runs no page."""

from __future__ import annotations

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import methods_from_elsewhere
from attn_widget.checks.rounding import largest_first
from attn_widget.errors import NotAvailableError
from attn_widget.features.why.methods import METHOD_TEXTS
from attn_widget.features.why.proposals import asks_every_word, proposals
from attn_widget.features.why.recorded import QUICK
from attn_widget.features.why.slices import as_target, described
from attn_widget.features.why.targets import Target
from attn_widget.host.installed import require_torch
from attn_widget.model.tokens import Token
from attn_widget.page.listed import ROWS, listed, token_label, too_slow
from attn_widget.protocol.run_source import title_of
from attn_widget.protocol.selection import Selection
from attn_widget.protocol.source import Cells


def why_cells(analysis: Analysis, selection: Selection, *, quick: bool) -> Cells:
    """Contribution of each token to the target by the chosen method; of many tokens the largest alone."""
    analysis = analysis.model.writing if analysis.part == "cross" else analysis
    target = _target(analysis, selection, quick=quick)
    if quick and selection.method not in (*QUICK, *methods_from_elsewhere(analysis)):
        raise too_slow()
    explained = analysis.why.contributions(target, selection.method)
    sides: list[tuple[str, Token, float]] = [
        ("source ", *pair)
        for pair in zip(explained.source_tokens, _values(explained.source), strict=True)
    ]
    sides += [("", *pair) for pair in zip(explained.tokens, _values(explained.values), strict=True)]
    asked = [side for side in sides if not np.isnan(side[2])]
    order = largest_first(np.abs([value for *_, value in asked]))[:ROWS]
    kept = [asked[i] for i in sorted(order)]
    rows = [
        f"{side}{token_label(token)} {f'{value:+.3g}'.replace('-', '−')}"
        for side, token, value in kept
    ]
    first, *others = described(analysis, explained.target)["names"]
    of = "".join((f"“{first}”", *(f" over “{name}”" for name in others)))
    where = _where(analysis, explained.target)
    method = METHOD_TEXTS.get(selection.method)
    by = selection.method if method is None else method.short
    some = f" Shown are the {len(kept)} largest of {len(asked)}." if len(kept) < len(asked) else ""
    caption = f"{title_of(analysis)}: contribution of each token to {of}{where}, {explained.value:.3g}, by {by}.{some}"
    values = [value for *_, value in kept]
    return listed(
        f"Contributions to {of}", caption, rows, values, "contribution", signed=explained.signed
    )


def _target(analysis: Analysis, selection: Selection, *, quick: bool) -> Target:
    if selection.target is not None:
        return as_target(selection.target)
    run = analysis._require_model("contributions")  # pyright: ignore[reportPrivateUsage]
    require_torch("Why")
    if quick and asks_every_word(run):
        raise too_slow()
    proposed = proposals(analysis)
    if not proposed:
        raise NotAvailableError("This model has no head whose output could be explained.")
    return proposed[0]


def _values(values: np.ndarray | None) -> list[float]:
    return [] if values is None else values.tolist()


def _where(analysis: Analysis, target: Target) -> str:
    """The place of the word that is asked about."""
    if target.position is None:
        return ""
    name = token_label(analysis.tokens[target.position])
    if target.masked:
        return f" with “{name}” hidden"
    return f" {'after' if analysis.model.default_mode == 'next' else 'at'} “{name}”"
