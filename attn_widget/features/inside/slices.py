"""Slices of the model's own tensors: the pipeline from embeddings to hidden states."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis import Analysis
from attn_widget.checks import short_repr
from attn_widget.errors import NotAvailableError, SliceError
from attn_widget.features.inside.hidden import sinusoidal_positions
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import BUCKETS, stack_config, submodule
from attn_widget.protocol.handlers import Answer, answers
from attn_widget.protocol.request import Request, integer, layer_of, place_of, span
from attn_widget.trace import Trace
from attn_widget.trace.embeddings import EmbeddingParts, lacking, missing_embeddings
from attn_widget.trace.layer_activations import EXPERTS, LayerParts

EMBEDDINGS = tuple(f.name for f in fields(EmbeddingParts) if f.name != "reasons")
# Heads have their outputs one by one.
NO_TENSOR = ("layer", "pre_norm", "notes", "head_outputs")
LAYER = tuple(f.name for f in fields(LayerParts) if f.name not in NO_TENSOR)
HEAD = ("query", "key", "value", "head_output")
TABLES = ("position_table", "sinusoid")
ACTIVATIONS = (
    "hidden_act",
    "hidden_activation",
    "activation",
    "activation_function",
    "dense_act_fn",
)  # in configs
UNNAMED_ACTIVATION = "gelu"  # of BLOOM and MPT, whose configs leave it out
TENSORS = (*EMBEDDINGS, *LAYER, *HEAD, "hidden", *TABLES)


@answers("tensor")
def tensor(analysis: Analysis, request: Request) -> Answer:
    """One tensor by name, or the rows and columns of it that are asked for."""
    name = request.get("name")
    if not isinstance(name, str) or name not in TENSORS:
        raise SliceError(f"Unknown tensor {short_repr(name)}.", f"Known: {', '.join(TENSORS)}.")
    whole = named_tensor(analysis, name, request)
    part = whole[span(request, "rows", whole.shape[0]), span(request, "cols", whole.shape[1])]
    return {"shape": list(whole.shape)}, {"tensor": part}


def named_tensor(analysis: Analysis, name: str, request: Request) -> NDArray[np.float32]:
    if name in EMBEDDINGS:
        return analysis.model.embeddings.part(name)
    if name == "ffn_activation":
        return analysis.model.ffn(layer_of(analysis, request))
    if name in LAYER:
        return getattr(analysis.model.layer(layer_of(analysis, request)), name)
    if name in HEAD:
        layer, head = place_of(analysis.trace, request)
        if name == "head_output":
            return analysis.trace.head_output(layer, head)
        ask = {
            "query": analysis.trace.queries,
            "key": analysis.trace.keys,
            "value": analysis.trace.values,
        }
        return ask[name](layer, head)
    if name == "hidden":
        return analysis.model.hidden_states[
            integer(request, "layer", 0, analysis.trace.n_layers + 1)
        ]
    table = analysis.model.positions
    return table if name == "position_table" else sinusoidal_positions(*table.shape)


@answers("hidden_path")
def hidden_path(analysis: Analysis, _request: Request) -> Answer:
    path = analysis.model.hidden_path
    names = ("norms", "cosines", "points", "explained")
    return {}, {name: getattr(path, name) for name in names}


@answers("residuals")
def residuals(analysis: Analysis, _request: Request) -> Answer:
    norms = analysis.model.residuals
    return {}, {"attention": norms.attention, "ffn": norms.ffn}


@answers("architecture")
def architecture(analysis: Analysis, _request: Request) -> Answer:
    if analysis.run is None:
        raise NotAvailableError(
            "These are tensors from outside: there is no model to look into.",
            "Use analyze(text, model=...).",
        )
    encoder = analysis.run.encoder
    config: Any = stack_config(encoder.traced.base_model.config, encoder.part or "encoder")
    block, embeddings = encoder.family.block, encoder.family.embeddings

    def setting(*names: str) -> Any:
        return next((value for name in names if (value := getattr(config, name, None))), None)

    parameters = analysis.model.parameters
    absent = {part: lacking(why) for part, why in missing_embeddings(analysis.run.encoder).items()}
    data = {
        "parameters": parameters,
        "sizes": {
            "hidden": encoder.hidden_size,
            "intermediate": setting("intermediate_size", "hidden_dim", "encoder_ffn_dim", "d_ff"),
            "head_dim": analysis.trace.head_dim,
            "vocabulary": encoder.vocab_size,
            "max_length": encoder.max_length,
        },
        "activation": str(setting(*ACTIVATIONS) or UNNAMED_ACTIVATION),
        "norm": norm_of(encoder),
        "pre_norm": block is not None and block.pre_norm,
        "notes": [
            *(() if block is None else block.notes),
            *group_notes(analysis.trace),
            *segment_notes(encoder),
        ],
        "tensors": {name: missing(analysis, name, absent) for name in TENSORS},
    }
    if embeddings is not None and embeddings.sinusoidal:
        data["sinusoidal"] = True
    if dict(() if embeddings is None else embeddings.reasons).get("position") == BUCKETS:
        data["scores"] = "q · k, and a learned number for the distance"
    return data, {}


def norm_of(encoder: Encoder) -> str:
    """The kind of norm in a layer: ``"LayerNorm"`` or ``"RMSNorm"``."""
    family = encoder.family
    has_names = family.block is not None and family.layers is not None
    names = (
        [f"{family.layers}.0.{family.block.attention_norm}"] if has_names and family.block else []
    )
    norms = [submodule(encoder.traced.base_model, name) for name in names]

    def is_root(norm: Any) -> bool:
        # T5's is named LayerNorm, and shifts nothing.
        unshifted = hasattr(norm, "weight") and not hasattr(norm, "bias")
        return unshifted or "RMS" in type(norm).__name__

    return "RMSNorm" if any(is_root(norm) for norm in norms) else "LayerNorm"


def group_notes(trace: Trace) -> list[str]:
    """A note on heads that share their keys and values."""
    heads, groups = trace.n_heads, trace.n_key_heads
    if groups == heads:
        return []
    if groups == 1:
        return [f"Grouped heads: all {heads} heads share their keys and values."]
    each = heads // groups
    return [
        f"Grouped heads: {heads} heads share {groups} sets of keys and values, heads 0 to {each - 1} the first."
    ]


def segment_notes(encoder: Encoder) -> list[str]:
    """RoBERTa adds one and the same segment embedding to every token."""
    names = encoder.family.embeddings
    config: Any = stack_config(encoder.traced.base_model.config, encoder.part or "encoder")
    kinds = getattr(config, "type_vocab_size", 0)
    if names is None or names.segment is None or kinds != 1:
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
    if name == "ffn_activation" and analysis.run is not None:
        block = analysis.run.encoder.family.block
        return EXPERTS if block is not None and block.experts else None
    if name in LAYER:
        return None  # `architecture` itself is refused for a family whose layers are not known
    try:
        named_tensor(analysis, name, {"layer": 0, "head": 0})
    except NotAvailableError as error:
        return error.message
    return None
