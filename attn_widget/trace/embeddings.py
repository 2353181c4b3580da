"""The embeddings of a text, part by part; learned positions; how many numbers were trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from attn_widget.checks import check_choice
from attn_widget.errors import NotAvailableError
from attn_widget.model.families import Embeddings, layer_modules, submodule
from attn_widget.trace.hooks import Floats, joined, recording, run_base, unknown_layers

if TYPE_CHECKING:
    from attn_widget.model.encoder import Encoder
    from attn_widget.model.encoding import Encoding

PARTS = ("token", "position", "segment", "sum", "norm", "output")  # of the embeddings


@dataclass(frozen=True)
class EmbeddingParts:
    """Parts of the first layer's input. All float32.

    ``sum = token + position + segment`` over the parts that the family has, ``norm`` is its
    normalized form, and ``output`` (the first hidden state) is ``norm`` or a projection of it.

    Attributes
    ----------
    token, sum, norm : [n, e]
    position, segment : [n, e] or None
    output : [n, d]
    reasons : dict of str to str
        Why a part is None.
    """

    token: Floats
    position: Floats | None
    segment: Floats | None
    sum: Floats
    norm: Floats
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
            raise NotAvailableError(f"No {name} embeddings: this model {self.reasons[name]}.")
        return values


def embedding_parts(encoder: Encoder, encoding: Encoding) -> EmbeddingParts:
    """Token, position and segment embeddings of a text, their sum and its normalized form.

    Raises
    ------
    NotAvailableError
        A family whose embeddings are not known.
    """
    known = encoder.family.embeddings
    with encoder.lock:  # hooks and pass are of one network
        layers = layer_modules(encoder.family, encoder.network)
        if known is None or layers is None:
            raise unknown_layers(encoder)
        known_modules = _embedding_modules(encoder, known)
        modules = {key: module for key, module in known_modules.items() if module}
        with recording({**modules, "layer": layers[0]}) as seen:
            run_base(encoder, encoding)

    def part(name: str) -> Floats | None:
        return joined(seen[name, "out"]) if name in modules else None

    return EmbeddingParts(
        token=joined(seen["token", "out"]),
        position=part("position"),
        segment=part("segment"),
        sum=joined(seen["norm", "in"]),
        norm=joined(seen["norm", "out"]),
        output=joined(seen["layer", "in"][:1]),
        reasons=missing_embeddings(encoder),
    )


def missing_embeddings(encoder: Encoder) -> dict[str, str]:
    """Which embeddings the model lacks and why; found without running it.

    Raises
    ------
    NotAvailableError
        A family whose embeddings are not known.
    """
    known = encoder.family.embeddings
    if known is None:
        raise unknown_layers(encoder)
    modules = _embedding_modules(encoder, known)
    return {part: why for part, why in known.reasons if modules[part] is None}


def position_table(encoder: Encoder) -> Floats:
    """The learned position embeddings, float32 [max_length, e], position 0 first.

    Raises
    ------
    NotAvailableError
        The family has none, with the reason.
    """
    known = encoder.family.embeddings
    if known is None:
        raise unknown_layers(encoder)
    module = submodule(encoder.network.base_model, known.position)
    if module is None:
        raise NotAvailableError(
            f"{encoder.name} {dict(known.reasons).get('position', 'has no position embeddings')}."
        )
    reserved = 0 if module.padding_idx is None else module.padding_idx + 1
    return module.weight.detach()[reserved:].float().cpu().numpy()


def parameter_counts(encoder: Encoder) -> dict[str, int]:
    """Number of trained parameters in each part of the model.

    Returns
    -------
    dict of str to int
        ``embeddings``, ``attention``, ``feed_forward``, ``norms`` (of the layers), ``other`` (of the
        encoder), ``pooler``, ``heads``, ``total``. A parameter that two parts share (the decoder
        of a masked-LM head and the token embeddings) counts once, where it stands first.

    Raises
    ------
    NotAvailableError
        A family whose layers are not known.
    """
    block, layers = encoder.family.block, layer_modules(encoder.family, encoder.network)
    if block is None or layers is None:
        raise unknown_layers(encoder)
    counts = dict.fromkeys(
        ("embeddings", "attention", "feed_forward", "norms", "other", "pooler", "heads"), 0
    )
    base = encoder.network.base_model
    attention = block.attention_output.split(".")[0]
    inner = {id(p): name for layer in layers for name, p in layer.named_parameters()}
    own = {id(p): name for name, p in base.named_parameters()}
    for full_name, parameter in encoder.network.named_parameters():
        name = own.get(id(parameter))
        if full_name in encoder.untrained:
            continue
        if id(parameter) in inner:
            below = inner[id(parameter)]
            if "norm" in below.lower():
                part = "norms"
            else:
                part = "attention" if below.split(".")[0] == attention else "feed_forward"
        elif name is None:
            part = "heads"
        elif name.startswith("embeddings"):
            part = "embeddings"
        else:
            part = "pooler" if name.startswith("pooler") else "other"
        counts[part] += parameter.numel()
    return {**counts, "total": sum(counts.values())}


def _embedding_modules(encoder: Encoder, known: Embeddings) -> dict[str, Any]:
    names = {
        "token": known.tokens,
        "position": known.position,
        "segment": known.segment,
        "norm": known.norm,
    }
    base = encoder.network.base_model
    modules = {key: submodule(base, name) for key, name in names.items()}
    if modules["token"] is None:  # MobileBERT without its widening map
        modules["token"] = encoder.network.get_input_embeddings()
    return modules
