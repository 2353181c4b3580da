"""The data of the view Inside in a saved page, but for the tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attn_widget.analysis import Analysis
from attn_widget.analysis.base import cached
from attn_widget.errors import NotAvailableError
from attn_widget.page.recorded import Answered, record
from attn_widget.page.spec import PageSpec
from attn_widget.trace.embeddings import embedding_parts
from attn_widget.trace.layer_activations import inside
from attn_widget.trace.run import Run


def answers_of(analysis: Analysis, _chosen: Mapping[str, Any], spec: PageSpec) -> list[Answered]:
    """The map and the path of the hidden states; nothing where the page has no view Inside (js/src/features/inside/index.ts) or no room."""
    if spec.light or analysis.run is None or analysis.part not in ("self", "encoder"):
        return []
    # A page may lack the tensors whose widths stand on the map.
    plan = [
        (request, {**data, "widths": widths(analysis)}, arrays)
        for request, data, arrays in record(analysis, {"kind": "architecture"})
    ]
    kinds = ("hidden_path", "residuals")
    return [*(found for kind in kinds for found in record(analysis, {"kind": kind})), *plan]


def widths(analysis: Analysis) -> dict[str, int]:
    """Columns of three tensors, whatever the text: found with a very short one, where one text is read. Empty where unknown."""
    run = analysis.run
    return {} if run is None else cached(analysis, "widths", lambda: _widths(run))


def _widths(run: Run) -> dict[str, int]:
    encoder = run.encoder
    shortest = run.encoding if encoder.parts or run.encoding.wordless else encoder.encode("a")
    try:
        parts, embeddings = inside(encoder, shortest, 0), embedding_parts(encoder, shortest)
    except NotAvailableError:
        return {}
    tensors = {
        "sum": embeddings.sum,
        "attention_output": parts.attention_output,
        "ffn_activation": parts.ffn_activation,
    }
    return {name: int(t.shape[1]) for name, t in tensors.items()}
