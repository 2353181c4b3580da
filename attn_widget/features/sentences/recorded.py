"""Attention between sentences in a saved page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import known_language
from attn_widget.page.recorded import Answered, record
from attn_widget.page.spec import PageSpec

MAX_SENTENCES = 40  # beyond, the matrices of every layer outweigh the attention itself


def answers_of(
    analysis: Analysis, _chosen: Mapping[str, Any], spec: PageSpec
) -> Iterator[Answered]:
    """Both aggregations over the whole run, and over each layer where the page is no output of a cell."""
    if not spec.light and len(known_language(analysis).sentences) > MAX_SENTENCES:
        return
    layers = () if spec.light else range(analysis.trace.n_layers)
    for aggregation in ("mass", "max"):
        for of in ({}, *({"layer": layer} for layer in layers)):
            yield from record(analysis, {"kind": "sentences", "aggregation": aggregation, **of})
