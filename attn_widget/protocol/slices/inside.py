"""Slices of the model's own tensors: the pipeline from embeddings to hidden states."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import shown
from attn_widget.errors import NotAvailableError, SliceError
from attn_widget.figures.hidden import sinusoidal_positions
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, integer, layer_of, span
from attn_widget.trace.embeddings import EmbeddingParts
from attn_widget.trace.layer_activations import LayerParts

if TYPE_CHECKING:
    from attn_widget.analysis import Analysis
    from attn_widget.model.encoder import Encoder

EMBEDDINGS = tuple(f.name for f in fields(EmbeddingParts) if f.name != "reasons")
LAYER = tuple(f.name for f in fields(LayerParts) if f.name not in ("layer", "pre_norm", "notes"))
HEAD = ("query", "key", "value", "head_output")
TABLES = ("position_table", "sinusoid")
TENSORS = (*EMBEDDINGS, *LAYER, *HEAD, "hidden", *TABLES)


@answers("tensor")
def tensor(analysis: Analysis, request: Request) -> Answer:
    """One tensor by name, or the rows and columns of it that are asked for."""
    name = request.get("name")
    if not isinstance(name, str) or name not in TENSORS:
        raise SliceError(f"Unknown tensor {shown(name)}.", f"Known: {', '.join(TENSORS)}.")
    whole = named_tensor(analysis, name, request)
    part = whole[span(request, "rows", whole.shape[0]), span(request, "cols", whole.shape[1])]
    return {"shape": list(whole.shape)}, {"tensor": part}


def named_tensor(analysis: Analysis, name: str, request: Request) -> NDArray[np.float32]:
    if name in EMBEDDINGS:
        return analysis.embeddings.part(name)
    if name in LAYER:
        return getattr(analysis.inside(layer_of(analysis, request)), name)
    if name in HEAD:
        layer, head = layer_of(analysis, request), integer(request, "head", 0, analysis.n_heads)
        if name == "head_output":
            return analysis.trace.head_output(layer, head)
        ask = {"query": analysis.queries, "key": analysis.keys, "value": analysis.values}
        return ask[name](layer, head)
    if name == "hidden":
        return analysis.hidden_states[integer(request, "layer", 0, analysis.n_layers + 1)]
    table = analysis.positions
    return table if name == "position_table" else sinusoidal_positions(*table.shape)


@answers("hidden_path")
def hidden_path(analysis: Analysis, _request: Request) -> Answer:
    path = analysis.hidden_path
    names = ("norms", "cosines", "points", "explained")
    return {}, {name: getattr(path, name) for name in names}


@answers("residuals")
def residuals(analysis: Analysis, _request: Request) -> Answer:
    norms = analysis.residuals
    return {}, {"attention": norms.attention, "ffn": norms.ffn}


@answers("architecture")
def architecture(analysis: Analysis, _request: Request) -> Answer:
    if analysis.run is None:
        raise NotAvailableError(
            "These are tensors from outside: there is no model to look into.",
            "Use analyze(text, model=...).",
        )
    encoder = analysis.run.encoder
    config: Any = encoder.network.base_model.config
    block = encoder.family.block

    def setting(*names: str) -> Any:
        return next((value for name in names if (value := getattr(config, name, None))), None)

    lacking = {
        part: f"No {part} embeddings: this model {why}."
        for part, why in analysis.run.missing_embeddings().items()
    }
    data = {
        "parameters": analysis.parameters,
        "sizes": {
            "hidden": encoder.hidden_size,
            "intermediate": setting("intermediate_size", "hidden_dim"),
            "head_dim": analysis.trace.head_dim,
            "vocabulary": encoder.vocab_size,
            "max_length": encoder.max_length,
        },
        "activation": str(setting("hidden_act", "hidden_activation", "activation")),
        "pre_norm": block is not None and block.pre_norm,
        "notes": [*(() if block is None else block.notes), *segment_notes(encoder)],
        "tensors": {name: missing(analysis, name, lacking) for name in TENSORS},
    }
    return data, {}


def segment_notes(encoder: Encoder) -> list[str]:
    """RoBERTa adds one and the same segment embedding to every token."""
    known = encoder.family.embeddings
    kinds = getattr(encoder.network.base_model.config, "type_vocab_size", 0)
    if known is None or known.segment is None or kinds != 1:
        return []
    return [
        "There are no segments: one embedding is added to every token alike, and a pair is distinguished "
        "by its separators alone."
    ]


def missing(analysis: Analysis, name: str, embeddings: dict[str, str]) -> str | None:
    """Why a tensor is N/A for this model; None when it is there. Runs nothing.

    ``embeddings`` are the parts that it lacks, with the reasons.
    """
    if name in EMBEDDINGS:
        return embeddings.get(name)
    if name in LAYER:
        return None  # `architecture` itself is refused for a family whose layers are not known
    try:
        named_tensor(analysis, name, {"layer": 0, "head": 0})
    except NotAvailableError as error:
        return error.message
    return None
