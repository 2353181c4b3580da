"""The contributions of turns in a saved page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.features.chat.figures import knows_contributions
from attn_widget.features.chat.turns import turns_of
from attn_widget.page.recorded import Answered, record
from attn_widget.page.spec import PageSpec

WRITTEN = 64  # tokens, with a backward pass each, of which a page asks by itself


def answers_of(analysis: Analysis, _chosen: Mapping[str, Any], spec: PageSpec) -> list[Answered]:
    """The contributions that the view Why shows of a chat; of a long reply, or in the output of a cell, if they are known."""
    if analysis.base is not None or analysis.run is None or not turns_of(analysis):
        return []
    many = analysis.run.encoding.written > WRITTEN
    if (spec.light or many) and not knows_contributions(analysis):
        return []
    return [*record(analysis, {"kind": "turn_contributions"})]
