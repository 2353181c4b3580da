"""The embeddings of a text, part by part."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from attn_widget.checks import check_choice
from attn_widget.errors import NotAvailableError
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import Embeddings, layer_modules, submodule
from attn_widget.trace.forward import run_base
from attn_widget.trace.hooks import Floats, joined, recording, unknown_layers

PARTS = ("token", "position", "segment", "sum", "norm", "output")  # of the embeddings


@dataclass(frozen=True)
class EmbeddingParts:
    """Parts of the first layer's input. All float32.

    ``sum = token + position + segment`` over the parts that the family has (Gemma scales the first; where Marian and
    Pegasus do, ``token`` is scaled), ``norm`` is its normalized form, and ``output`` (the first hidden state) is ``norm`` or a projection of it; ``sum`` where there is no norm.

    Attributes
    ----------
    token, sum : [n, e]
    position, segment, norm : [n, e] or None
    output : [n, d]
    reasons : dict of str to str
        Why a part is None.
    """

    token: Floats
    position: Floats | None
    segment: Floats | None
    sum: Floats
    norm: Floats | None
    output: Floats
    reasons: dict[str, str] = field(default_factory=dict[str, str])

    def part(self, name: str) -> Floats:
        """One part by name.

        Raises
        ------
        InputError, InputTypeError
            No such part.
        NotAvailableError
            The family has no such part; the message says why.
        """
        values = getattr(self, check_choice(name, "name", PARTS))
        if values is None:
            raise NotAvailableError(lacking(self.reasons[name]))
        return values


def lacking(reason: str) -> str:
    """The message for a part of the embeddings that a model lacks."""
    return f"This model {reason}."


def embedding_parts(encoder: Encoder, encoding: Encoding) -> EmbeddingParts:
    """Token, position and segment embeddings of a text, their sum and its normalized form.

    Raises `NotAvailableError`: a family whose embeddings are not known.
    """
    names = encoder.family.embeddings
    with encoder.lock:  # hooks and pass are of one network
        layers = layer_modules(encoder.family, encoder.traced)
        if names is None or layers is None:
            raise unknown_layers(encoder)
        known_modules = embedding_modules(encoder, names)
        modules = {key: module for key, module in known_modules.items() if module}
        with recording({**modules, "layer": layers[0]}) as seen:
            run_base(encoder, encoding, last=0)

    def side(name: str, side: str) -> Floats:
        # The first call: an encoder and a decoder may share a table.
        return joined(seen[name, side][:1])

    def part(name: str) -> Floats | None:
        return side(name, "out") if name in modules else None

    scale = 1 if names.scale is None else attrgetter(names.scale)(encoder.traced.base_model)
    token = side("token", "out")
    return EmbeddingParts(
        token=token if scale == 1 else token * np.float32(scale),
        position=part("position"),
        segment=part("segment"),
        sum=side("norm", "in") if "norm" in modules else side("layer", "in"),
        norm=part("norm"),
        output=side("layer", "in"),
        reasons=missing_embeddings(encoder),
    )


def missing_embeddings(encoder: Encoder) -> dict[str, str]:
    """Which embeddings the model lacks and why; found without running it.

    Raises `NotAvailableError`: a family whose embeddings are not known.
    """
    names = encoder.family.embeddings
    if names is None:
        raise unknown_layers(encoder)
    modules = embedding_modules(encoder, names)
    return {part: why for part, why in names.reasons if modules[part] is None}


def embedding_modules(encoder: Encoder, paths: Embeddings) -> dict[str, Any]:
    """The module of each part; None of one that the model lacks."""
    names = {
        "token": paths.tokens,
        "position": paths.position,
        "segment": paths.segment,
        "norm": paths.norm,
    }
    base = encoder.traced.base_model
    modules = {key: submodule(base, name) for key, name in names.items()}
    if modules["token"] is None:  # MobileBERT without its widening map
        modules["token"] = encoder.traced.get_input_embeddings()
    return modules
