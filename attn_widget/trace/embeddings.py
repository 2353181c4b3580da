"""The embeddings of a text, part by part; learned positions; how many numbers were trained."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import takewhile
from operator import attrgetter
from typing import Any

import numpy as np

from attn_widget.checks import check_choice
from attn_widget.errors import NotAvailableError
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.families import Block, Embeddings, layer_modules, submodule
from attn_widget.trace.base import copy_of, to_numpy
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
    reasons: dict[str, str] = field(default_factory=lambda: {})

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
        known_modules = _embedding_modules(encoder, names)
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
    modules = _embedding_modules(encoder, names)
    return {part: why for part, why in names.reasons if modules[part] is None}


def position_table(encoder: Encoder) -> Floats:
    """The position embeddings, learned or (Marian, Pegasus) computed, float32 [max_length, e], position 0 first."""
    names = encoder.family.embeddings
    if names is None:
        raise unknown_layers(encoder)
    module = submodule(encoder.traced.base_model, names.position)
    if module is None:
        raise NotAvailableError(
            f"{encoder.name} {dict(names.reasons).get('position', 'has no position embeddings')}."
        )
    reserved = 0 if module.padding_idx is None else module.padding_idx + 1
    reserved = getattr(module, "offset", reserved)  # OPT
    encoder.check_weights()
    table = module.weight if hasattr(module, "weight") else module.weights  # M2M100
    return copy_of(to_numpy(table))[reserved:]


def parameter_counts(encoder: Encoder) -> dict[str, int]:
    """Number of trained parameters in each part of the model.

    Returns: ``embeddings``, ``attention``, ``feed_forward``, ``norms`` (of the layers), ``other`` (of the encoder),
    ``pooler``, ``heads``, ``total``; of an encoder-decoder also ``decoder``. Position embeddings that are computed
    are not trained. A parameter that two parts share (the decoder of a masked-LM head and the token embeddings)
    counts once, where it stands first. Raises `NotAvailableError`: a family whose layers are not known.
    """
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.traced)
    if block is None or layers is None:
        raise unknown_layers(encoder)
    counted = ("embeddings", "attention", "feed_forward", "norms", "other", "pooler", "heads")
    counts: dict[str, int] = dict.fromkeys((*counted, "decoder") if encoder.parts else counted, 0)
    base = encoder.traced.base_model
    attention = _attention_below(block)
    norms = ("norm", "ln_")  # in the names of modules
    names = encoder.family.embeddings
    modules = {} if names is None else _embedding_modules(encoder, names)
    tables = {
        id(p) for module in modules.values() if module is not None for p in module.parameters()
    }
    tables |= {id(p) for p in encoder.traced.get_input_embeddings().parameters()}
    computed = type(modules["position"]) if names is not None and names.sinusoidal else ()
    stacks = [module for module in base.modules() if isinstance(module, computed)]
    untrained = {id(parameter) for module in stacks for parameter in module.parameters()}
    inner = {id(p): name for layer in layers for name, p in layer.named_parameters()}
    own = {id(p): name for name, p in base.named_parameters()}
    for full_name, parameter in encoder.traced.named_parameters():
        name = own.get(id(parameter))
        if full_name in encoder.untrained or id(parameter) in untrained:
            continue
        if id(parameter) in inner:
            below = inner[id(parameter)]
            if any(part in below.lower() for part in norms):
                part = "norms"
            else:
                part = "attention" if f"{below}.".startswith(attention) else "feed_forward"
        elif name is None or name.startswith("lm_head"):  # T5 has no base model below it
            part = "heads"
        elif id(parameter) in tables or name.startswith("embeddings"):
            part = "embeddings"
        elif encoder.parts and name.startswith("decoder."):
            part = "decoder"
        else:
            part = "pooler" if name.startswith("pooler") else "other"
        counts[part] += math.prod(parameter.shape)
    return {**counts, "total": sum(counts.values())}


def _attention_below(block: Block) -> str:
    """The beginning of the names of attention's parameters in a layer: where they part from the FFN's."""
    pairs = zip(block.attention_output.split("."), block.ffn_output.split("."), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return ".".join([*block.attention_output.split(".")[: same + 1], ""])


def _embedding_modules(encoder: Encoder, paths: Embeddings) -> dict[str, Any]:
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
