"""The surprisal of words in a saved page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.page.recorded import Answered, record
from attn_widget.page.spec import PageSpec

TOKENS = 128  # longer texts have none in a page: each position is a row of the vocabulary


def answers_of(
    analysis: Analysis, _chosen: Mapping[str, Any], _spec: PageSpec
) -> Iterator[Answered]:
    """The words of a decoder's run, which follow from its pass; an encoder would run once more for every token."""
    run = analysis.run
    if run is None or analysis.base is not None or analysis.trace.n_tokens > TOKENS:
        return
    if run.encoder.has_lm and run.encoder.predicts == "next" and analysis.trace.square:
        yield from record(analysis, {"kind": "word_surprisal"})
