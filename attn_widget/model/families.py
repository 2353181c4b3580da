"""Families: where each kind of model keeps the modules that we read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

# How attention is seen: the registered attention function, or the calls of softmax.
Mechanism = Literal["dispatch", "softmax"]
Head = Callable[[Any, Any], Any]  # (model, hidden states [..., d]) -> logits


@dataclass(frozen=True)
class Block:
    """Module names below one layer.

    Attributes
    ----------
    attention_output, ffn_output : str
        The last linear map of attention and of the feed-forward network. What enters the second
        one is the post-activation.
    attention_norm, ffn_norm : str
        Post-norm: they follow the residual sums. Pre-norm: they stand before attention and FFN.
    pre_norm : bool
    gate : str or None
        The activation whose output multiplies the FFN's other half; None where it is not gated.
    notes : tuple of str
        What the picture of one attention and one FFN leaves out.
    """

    attention_output: str = "attention.output.dense"
    attention_norm: str = "attention.output.LayerNorm"
    ffn_output: str = "output.dense"
    ffn_norm: str = "output.LayerNorm"
    pre_norm: bool = False
    gate: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Embeddings:
    """Module names below the base model; None with a reason in ``reasons`` where there is none.

    ``tokens + position + segment`` is what enters ``norm``; ``projection`` widens its output to the
    hidden size.
    """

    tokens: str = "embeddings.word_embeddings"
    position: str | None = "embeddings.position_embeddings"
    segment: str | None = "embeddings.token_type_embeddings"
    norm: str = "embeddings.LayerNorm"
    projection: str | None = None
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Projections:
    """Linear maps to queries, keys and values below one layer (for families seen by softmax).

    One name: a map to all three, interleaved by head.
    """

    names: tuple[str, ...]
    biases: tuple[str | None, str | None, str | None] = (None, None, None)


@dataclass(frozen=True)
class Family:
    """Facts about one ``model_type`` of `transformers`.

    Attributes
    ----------
    name : str
    mechanism : "dispatch", "softmax" or None
        None: unknown, found out by trying.
    layers : str or None
        Name of the layer list below the base model.
    block, embeddings, projections
        None where it is not known.
    mlm : callable or None
        The masked-LM head alone.
    """

    name: str
    mechanism: Mechanism | None = "dispatch"
    layers: str | None = "encoder.layer"
    block: Block | None = Block()
    embeddings: Embeddings | None = Embeddings()
    projections: Projections | None = None
    mlm: Head | None = None


def _cls(model: Any, hidden: Any) -> Any:
    head = model.cls
    return head.predictions(hidden) if hasattr(head, "predictions") else head(hidden)


def _lm_head(model: Any, hidden: Any) -> Any:
    return model.lm_head(hidden)


def _distilbert(model: Any, hidden: Any) -> Any:
    transformed = model.activation(model.vocab_transform(hidden))
    return model.vocab_projector(model.vocab_layer_norm(transformed))


def _albert(model: Any, hidden: Any) -> Any:
    return model.predictions(hidden)


def _electra(model: Any, hidden: Any) -> Any:
    return model.generator_lm_head(model.generator_predictions(hidden))


def _deberta(model: Any, hidden: Any) -> Any:
    if hasattr(model, "cls"):
        return _cls(model, hidden)
    return model.lm_predictions(hidden, model.base_model.embeddings.word_embeddings)


def _modernbert(model: Any, hidden: Any) -> Any:
    return model.decoder(model.head(hidden))


NO_SEGMENTS = ("segment", "has no segment embeddings: only separators distinguish a pair")
RELATIVE = "has no position embeddings: positions enter attention as relative distances"
ROTARY = "has no position embeddings: positions rotate queries and keys (RoPE)"
OPTIONAL_PARTS = Embeddings(
    projection="embeddings.embed_proj", reasons=(("position", RELATIVE), NO_SEGMENTS)
)

_BERT = Family("bert", mlm=_cls)
_ROBERTA = Family("roberta", mlm=_lm_head)

FAMILIES: dict[str, Family] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": Family("xlm-roberta", mlm=_lm_head),
    "camembert": Family("camembert", mlm=_lm_head),
    "distilbert": Family(
        "distilbert",
        layers="transformer.layer",
        block=Block("attention.out_lin", "sa_layer_norm", "ffn.lin2", "output_layer_norm"),
        embeddings=Embeddings(segment=None, reasons=(NO_SEGMENTS,)),
        mlm=_distilbert,
    ),
    "albert": Family(
        "albert",
        layers=None,  # one layer (or a few) used again and again: `layer_modules`
        block=Block(
            "attention.dense",
            "attention.LayerNorm",
            "ffn_output",
            "full_layer_layer_norm",
            notes=("All layers of a group share one set of weights.",),
        ),
        embeddings=Embeddings(projection="encoder.embedding_hidden_mapping_in"),
        mlm=_albert,
    ),
    "electra": Family(
        "electra", embeddings=Embeddings(projection="embeddings_project"), mlm=_electra
    ),
    "mobilebert": Family(
        "mobilebert",
        block=Block(
            notes=(
                "Attention and FFN work in a narrower bottleneck: their residual starts from the "
                "bottleneck's input projection, and an output projection widens the result.",
                "Further feed-forward networks stand between attention and the FFN shown here.",
            )
        ),
        embeddings=Embeddings(tokens="embeddings.embedding_transformation"),
        mlm=_cls,
    ),
    "modernbert": Family(
        "modernbert",
        layers="layers",
        block=Block(
            "attn.Wo",
            "attn_norm",
            "mlp.Wo",
            "mlp_norm",
            pre_norm=True,
            gate="mlp.act",
            notes=(
                "The feed-forward network is gated: its post-activation is act(input) * gate.",
                "A final norm follows the last layer.",
            ),
        ),
        embeddings=Embeddings(
            "embeddings.tok_embeddings",
            None,
            None,
            "embeddings.norm",
            reasons=(("position", ROTARY), NO_SEGMENTS),
        ),
        mlm=_modernbert,
    ),
    "deberta": Family(
        "deberta",
        mechanism="softmax",
        embeddings=OPTIONAL_PARTS,
        projections=Projections(("attention.self.in_proj",), ("q_bias", None, "v_bias")),
        mlm=_deberta,
    ),
    "deberta-v2": Family(
        "deberta-v2",
        mechanism="softmax",
        embeddings=OPTIONAL_PARTS,
        projections=Projections(
            ("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj")
        ),
        mlm=_deberta,
    ),
    "mpnet": Family(
        "mpnet",
        mechanism="softmax",
        block=Block("attention.attn.o", "attention.LayerNorm"),
        embeddings=Embeddings(segment=None, reasons=(NO_SEGMENTS,)),
        projections=Projections(("attention.attn.q", "attention.attn.k", "attention.attn.v")),
        mlm=_lm_head,
    ),
}


def family_of(model: Any) -> Family:
    """The family of ``model``'s encoder; of an unknown one only the name is known."""
    base = model.base_model
    name = str(getattr(base.config, "model_type", "") or type(base).__name__)
    unknown = Family(name, mechanism=None, layers=None, block=None, embeddings=None)
    return FAMILIES.get(name, unknown)


def layer_modules(family: Family, model: Any) -> list[Any] | None:
    """The module of every layer in order of use (a shared one stands more than once)."""
    base = model.base_model
    if family.name == "albert":
        encoder, config = base.encoder, base.config
        per_group = config.num_hidden_layers / config.num_hidden_groups
        groups = [
            encoder.albert_layer_groups[int(i / per_group)] for i in range(config.num_hidden_layers)
        ]
        return [layer for group in groups for layer in group.albert_layers]
    return None if family.layers is None else list(base.get_submodule(family.layers))


def submodule(parent: Any, name: str | None) -> Any | None:
    """``parent.name``, or None where it is missing (parts that a config can switch off)."""
    if name is None:
        return None
    try:
        module = parent.get_submodule(name)
    except AttributeError:
        return None
    return module
