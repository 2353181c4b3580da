"""Position embeddings, and how many numbers each part of a model has."""

from __future__ import annotations

import math
from itertools import takewhile

from attn_widget.errors import NotAvailableError
from attn_widget.model.encoder import Encoder
from attn_widget.model.families import Block, layer_modules, submodule
from attn_widget.trace.base import copy_of, to_numpy
from attn_widget.trace.embeddings import embedding_modules
from attn_widget.trace.hooks import Floats, unknown_layers


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
    modules = {} if names is None else embedding_modules(encoder, names)
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
