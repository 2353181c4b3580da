"""Families: where each kind of model keeps the modules that we read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal

# Mechanism by which attention is seen: the registered attention function, or the calls of softmax.
Mechanism = Literal["dispatch", "softmax"]
Head = Callable[[Any, Any], Any]  # (model, hidden states [..., d]) -> logits
# Which token the head predicts at a position: the one that stands there, or the one after it.
Predicts = Literal["here", "next"]
# Attention of an encoder-decoder: over the source, over what is written so far, and from that to the source.
Part = Literal["encoder", "decoder", "cross"]
PARTS: tuple[Part, ...] = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class Block:
    """Module names below one layer."""

    # attention_output, ffn_output: the last linear map of attention and of the feed-forward network. What enters
    # the second one is the post-activation.
    attention_output: str = "attention.output.dense"
    # attention_norm, ffn_norm: post-norm: they follow the residual sums. Pre-norm: they stand before attention and
    # FFN.
    attention_norm: str = "attention.output.LayerNorm"
    ffn_output: str = "output.dense"
    ffn_norm: str = "output.LayerNorm"
    pre_norm: bool = False
    # The activation whose output multiplies the FFN's other half; None where it is not gated.
    gate: str | None = None
    # attention_added, ffn_added: what the residual stream adds: a norm after ``attention_output`` or
    # ``ffn_output``; None where it adds their output itself.
    attention_added: str | None = None
    ffn_added: str | None = None
    # Attention and FFN both read the layer's input, and their outputs are added together.
    parallel: bool = False
    # ``ffn_output`` is the whole FFN, a mixture of experts, whose inside is not shown.
    experts: bool = False
    # The vectors below one layer by which what attention, and the FFN, add is multiplied (LayerScale).
    scales: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()  # what the picture of one attention and one FFN leaves out

    @property
    def adds(self) -> tuple[str, str]:
        """The modules whose outputs attention and FFN add to the residual stream."""
        return self.attention_added or self.attention_output, self.ffn_added or self.ffn_output

    def scales_of(self, layer: Any) -> list[Any]:
        """Factors of the outputs of a layer's attention and FFN before they are added: float32 [d], or 1."""
        vectors = (attrgetter(name)(layer) for name in self.scales or ())
        return [vector.detach().float().cpu().numpy() for vector in vectors] or [1, 1]


@dataclass(frozen=True)
class Embeddings:
    """Module names below the base model; None with a reason in ``reasons`` where there is none.

    ``tokens + position + segment`` is what enters ``norm`` (or the first layer, where there is no norm);
    ``projection`` widens its output to the hidden size. ``scale`` names the number below the base model by which the
    model multiplies its token embeddings, where their module does not. ``sinusoidal``: positions are computed, not learned.
    """

    tokens: str = "embeddings.word_embeddings"
    position: str | None = "embeddings.position_embeddings"
    segment: str | None = "embeddings.token_type_embeddings"
    norm: str | None = "embeddings.LayerNorm"
    projection: str | None = None
    scale: str | None = None
    sinusoidal: bool = False
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
    """Facts about one ``model_type`` of `transformers`."""

    name: str
    # "dispatch", "softmax" or None; None: unknown, found out by trying.
    mechanism: Mechanism | None = "dispatch"
    layers: str | None = "encoder.layer"  # name of the layer list below the base model
    block: Block | None = Block()  # block, embeddings, projections: None where it is not known
    embeddings: Embeddings | None = Embeddings()
    projections: Projections | None = None
    lm: Head | None = None  # the language-model head alone
    # The same of an encoder-decoder, whose predictions always take a pass over both texts.
    written: Head | None = None
    predicts: Predicts = "here"  # "here" or "next"; which token that head predicts at a position
    # Name below the base model of the module that gives the last hidden states; None: itself.
    base: str | None = None
    # Name below the base model of the norm between the last layer and the head.
    final_norm: str | None = None
    # Name below the base model of a map of the last hidden states to another width, which the head reads.
    projected: str | None = None
    # The family in the shape that a configuration chooses; None if it has only one.
    configured: Callable[[Family, Any], Family] | None = None


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


def _next(model: Any, hidden: Any) -> Any:
    """Output embeddings, and Gemma's cap on the logits."""
    logits = model.get_output_embeddings()(hidden)
    cap = getattr(model.config, "final_logit_softcapping", None)
    return logits if cap is None else (logits / cap).tanh() * cap


def _opt_next(model: Any, hidden: Any) -> Any:
    """`_next`, of hidden states of the layers' width or of what the base model gives (OPT-350m maps one to the other)."""
    project = getattr(model.base_model.decoder, "project_out", None)
    if project is not None and hidden.shape[-1] == project.in_features:
        hidden = project(hidden)
    return _next(model, hidden)


NO_SEGMENTS = ("segment", "has no segment embeddings: only separators distinguish a pair")
RELATIVE = "has no position embeddings: positions enter attention as relative distances"
ROTARY = "has no position embeddings: positions rotate queries and keys (RoPE)"
BIASED = "has no position embeddings: scores fall with the distance (ALiBi)"
NO_NORM = ("norm", "has no norm after its embeddings")
ONE_TEXT = ("segment", "has no segment embeddings: it reads one text")
BUCKETS = "has no position embeddings: a learned number for each distance is added to the scores"
OPTIONAL_PARTS = Embeddings(
    projection="embeddings.embed_proj", reasons=(("position", RELATIVE), NO_SEGMENTS)
)

GATED_NOTE = "The feed-forward network is gated: its post-activation is act(input) * gate."
FINAL_NORM = "A final norm follows the last layer."
PARALLEL_NOTE = (
    "Attention and FFN both read the layer's input (parallel residual): the FFN's norm is of that input, not of the "
    "sum with attention."
)
INNER_NOTE = "Attention and FFN are normalized before they are added: their outputs here are after that norm."


def _gated(**changes: Any) -> Block:
    """A layer of Llama and its kin."""
    block = Block(
        attention_output="self_attn.o_proj",
        attention_norm="input_layernorm",
        ffn_output="mlp.down_proj",
        ffn_norm="post_attention_layernorm",
        pre_norm=True,
        gate="mlp.act_fn",
        notes=(GATED_NOTE, FINAL_NORM),
    )
    return replace(block, **changes)


def _plain(attention_output: str, attention_norm: str, ffn_output: str, ffn_norm: str) -> Block:
    """A layer with norms before attention and FFN, and no gate."""
    return Block(
        attention_output, attention_norm, ffn_output, ffn_norm, pre_norm=True, notes=(FINAL_NORM,)
    )


def _parallel(block: Block) -> Block:
    return replace(block, parallel=True, notes=(PARALLEL_NOTE, *block.notes))


def rotary(tokens: str = "embed_tokens") -> Embeddings:
    reasons = (("position", ROTARY), ONE_TEXT, NO_NORM)
    return Embeddings(tokens, None, None, None, reasons=reasons)


def _decoder(name: str, layers: str, final_norm: str, block: Block, **changes: Any) -> Family:
    defaults: dict[str, Any] = {"lm": _next, "predicts": "next", "final_norm": final_norm}
    return Family(name, layers=layers, block=block, **{**defaults, **changes})


def _like_llama(name: str, block: Block | None = None) -> Family:
    return _decoder(name, "layers", "norm", block or _gated(), embeddings=rotary())


SANDWICH = _gated(
    ffn_norm="pre_feedforward_layernorm",
    attention_added="post_attention_layernorm",
    ffn_added="post_feedforward_layernorm",
    notes=(INNER_NOTE, GATED_NOTE, FINAL_NORM),
)
EXPERTS_NOTE = "The feed-forward network is a mixture of experts, shown as one box."
_EXPERTS = _gated(ffn_output="mlp", gate=None, experts=True, notes=(EXPERTS_NOTE, FINAL_NORM))
_LEARNED = Embeddings("wte", "wpe", None, None, reasons=(ONE_TEXT, NO_NORM))
_GPT2 = _plain("attn.c_proj", "ln_1", "mlp.c_proj", "ln_2")
_NEOX = _plain(
    "attention.dense", "input_layernorm", "mlp.dense_4h_to_h", "post_attention_layernorm"
)
_BLOOM = _plain(
    "self_attention.dense", "input_layernorm", "mlp.dense_4h_to_h", "post_attention_layernorm"
)
_OPT = _plain("self_attn.out_proj", "self_attn_layer_norm", "fc2", "final_layer_norm")


def _neox_configured(family: Family, config: Any) -> Family:
    return replace(family, block=_parallel(_NEOX)) if config.use_parallel_residual else family


def _opt_configured(family: Family, config: Any) -> Family:
    if config.word_embed_proj_dim != config.hidden_size:
        embeddings = family.embeddings and replace(family.embeddings, tokens="decoder.project_in")
        family = replace(family, projected="decoder.project_out", embeddings=embeddings)
    if config.do_layer_norm_before:
        return family
    return replace(family, block=replace(_OPT, pre_norm=False, notes=()), final_norm=None)


def _bloom_configured(family: Family, config: Any) -> Family:
    """Residual sums that start from what the norms give are neither shape of `Block`."""
    return (
        replace(family, block=None) if config.apply_residual_connection_post_layernorm else family
    )


def _falcon_configured(family: Family, config: Any) -> Family:
    block, embeddings = _BLOOM, family.embeddings
    if config.new_decoder_architecture or config.parallel_attn:
        two = bool(config.new_decoder_architecture) and config.num_ln_in_parallel_attn != 1
        names = ("ln_attn", "ln_mlp") if two else ("input_layernorm", "input_layernorm")
        block = _parallel(replace(block, attention_norm=names[0], ffn_norm=names[1]))
    if config.alibi and embeddings is not None:
        reasons = (("position", BIASED), *embeddings.reasons[1:])
        embeddings = replace(embeddings, reasons=reasons)
    return replace(family, block=block, embeddings=embeddings)


DECODERS: dict[str, Family] = {
    "gpt2": _decoder("gpt2", "h", "ln_f", _GPT2, embeddings=_LEARNED),
    "gpt_neo": _decoder(
        "gpt_neo",
        "h",
        "ln_f",
        replace(_GPT2, attention_output="attn.attention.out_proj"),
        embeddings=_LEARNED,
        mechanism="softmax",
    ),
    "gptj": _decoder(
        "gptj",
        "h",
        "ln_f",
        _parallel(_plain("attn.out_proj", "ln_1", "mlp.fc_out", "ln_1")),
        embeddings=rotary("wte"),
        mechanism="softmax",
    ),
    "gpt_neox": _decoder(
        "gpt_neox",
        "layers",
        "final_layer_norm",
        _NEOX,
        embeddings=rotary("embed_in"),
        configured=_neox_configured,
    ),
    "opt": _decoder(
        "opt",
        "decoder.layers",
        "decoder.final_layer_norm",
        _OPT,
        lm=_opt_next,
        base="decoder",
        embeddings=Embeddings(
            "decoder.embed_tokens",
            "decoder.embed_positions",
            None,
            None,
            reasons=(ONE_TEXT, NO_NORM),
        ),
        configured=_opt_configured,
    ),
    "xglm": _decoder(
        "xglm",
        "layers",
        "layer_norm",
        _OPT,
        embeddings=Embeddings(
            "embed_tokens",
            "embed_positions",
            None,
            None,
            sinusoidal=True,
            reasons=(ONE_TEXT, NO_NORM),
        ),
        mechanism="softmax",
    ),
    "bloom": _decoder(
        "bloom",
        "h",
        "ln_f",
        _BLOOM,
        embeddings=Embeddings(
            "word_embeddings",
            None,
            None,
            "word_embeddings_layernorm",
            reasons=(("position", BIASED), ONE_TEXT),
        ),
        mechanism="softmax",
        configured=_bloom_configured,
    ),
    "mpt": _decoder(
        "mpt",
        "blocks",
        "norm_f",
        _plain("attn.out_proj", "norm_1", "ffn.down_proj", "norm_2"),
        embeddings=replace(rotary("wte"), reasons=(("position", BIASED), ONE_TEXT, NO_NORM)),
        mechanism="softmax",
    ),
    "falcon": _decoder(
        "falcon",
        "h",
        "ln_f",
        _BLOOM,
        embeddings=rotary("word_embeddings"),
        mechanism="softmax",
        configured=_falcon_configured,
    ),
    **{
        name: _like_llama(name)
        for name in ("llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma")
    },
    "phi3": _like_llama("phi3", _gated(gate="mlp.activation_fn")),
    "olmo2": _like_llama(
        "olmo2",
        _gated(
            attention_norm="post_attention_layernorm",
            ffn_norm="post_feedforward_layernorm",
            attention_added="post_attention_layernorm",
            ffn_added="post_feedforward_layernorm",
            notes=(INNER_NOTE, GATED_NOTE, FINAL_NORM),
        ),
    ),
    **{name: _like_llama(name, SANDWICH) for name in ("gemma2", "gemma3_text")},
    **{name: _like_llama(name, _EXPERTS) for name in ("gpt_oss", "mixtral")},
}


# Models that predict the tokens that a permutation hides from a second stream of attention, and no others.
PERMUTED = ("xlnet",)
_BERT = Family("bert", lm=_cls)
_ROBERTA = Family("roberta", lm=_lm_head)

FAMILIES: dict[str, Family] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": Family("xlm-roberta", lm=_lm_head),
    "camembert": Family("camembert", lm=_lm_head),
    "bert-generation": Family(
        "bert-generation", embeddings=Embeddings(segment=None, reasons=(NO_SEGMENTS,)), lm=_lm_head
    ),
    "distilbert": Family(
        "distilbert",
        layers="transformer.layer",
        block=Block("attention.out_lin", "sa_layer_norm", "ffn.lin2", "output_layer_norm"),
        embeddings=Embeddings(segment=None, reasons=(NO_SEGMENTS,)),
        lm=_distilbert,
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
        lm=_albert,
    ),
    "electra": Family(
        "electra", embeddings=Embeddings(projection="embeddings_project"), lm=_electra
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
        lm=_cls,
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
            notes=(GATED_NOTE, FINAL_NORM),
        ),
        embeddings=Embeddings(
            "embeddings.tok_embeddings",
            None,
            None,
            "embeddings.norm",
            reasons=(("position", ROTARY), NO_SEGMENTS),
        ),
        lm=_modernbert,
        final_norm="final_norm",
    ),
    "esm": Family(
        "esm",
        block=_plain("attention.output.dense", "attention.LayerNorm", "output.dense", "LayerNorm"),
        # Masked residues enter as zeros, and the others are scaled up for them.
        embeddings=None,
        lm=_lm_head,
        final_norm="encoder.emb_layer_norm_after",
    ),
    # Its boxes are 0 where none are given, and their embeddings are added too.
    "layoutlm": Family("layoutlm", embeddings=None, lm=_cls),
    "deberta": Family(
        "deberta",
        mechanism="softmax",
        embeddings=OPTIONAL_PARTS,
        projections=Projections(("attention.self.in_proj",), ("q_bias", None, "v_bias")),
        lm=_deberta,
    ),
    "deberta-v2": Family(
        "deberta-v2",
        mechanism="softmax",
        embeddings=OPTIONAL_PARTS,
        projections=Projections(
            ("attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj")
        ),
        lm=_deberta,
    ),
    "mpnet": Family(
        "mpnet",
        mechanism="softmax",
        block=Block("attention.attn.o", "attention.LayerNorm"),
        embeddings=Embeddings(segment=None, reasons=(NO_SEGMENTS,)),
        projections=Projections(("attention.attn.q", "attention.attn.k", "attention.attn.v")),
        lm=_lm_head,
    ),
}


FAMILIES.update(DECODERS)


def family_of(model: Any) -> Family:
    """The family of ``model``; of an unknown one only the name is known, and what it predicts."""
    base = model.base_model
    config = base.config
    name = str(getattr(config, "model_type", "") or type(base).__name__)
    family = FAMILIES.get(name)
    if family is None:
        predicts: Predicts = "next" if is_decoder(name) else "here"
        family = Family(
            name, mechanism=None, layers=None, block=None, embeddings=None, predicts=predicts
        )
    # XLM and FlauBERT say "causal".
    if family.predicts == "here" and any(
        getattr(config, flag, False) for flag in ("is_decoder", "causal")
    ):
        family = replace(family, predicts="next")
    return as_configured(family, config)


def stack_config(config: Any, stack: str) -> Any:
    """The configuration of ``stack``, ``"encoder"`` or ``"decoder"``, where a model has one for each; else its only one."""
    own = getattr(config, stack, None)
    return own if hasattr(own, "num_hidden_layers") else config


def is_decoder(model_type: str) -> bool:
    """True if models of this type predict the next token and no other."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
    )
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_MASKED_LM_MAPPING_NAMES as MASKED,
    )

    causal = model_type in CAUSAL and model_type not in (*MASKED, *PERMUTED)
    return model_type in DECODERS or causal


def as_configured(family: Family, config: Any) -> Family:
    """``family`` in the shape that its configuration chooses."""
    return family if family.configured is None else family.configured(family, config)


def final_norm_of(family: Family, model: Any) -> Any | None:
    """The norm between the last layer and the head; None where there is none."""
    return submodule(model.base_model, family.final_norm)


def states_module(family: Family, model: Any) -> Any:
    """The module that gives the last hidden states: the base model, or what one that only wraps it holds (TrOCR)."""
    base = model.base_model
    if family.base is not None:
        return base.get_submodule(family.base)
    if family.layers is None:
        while len(inside := list(base.named_children())) == 1:
            base = inside[0][1]
    return base


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


def attention_modules(family: Family, model: Any) -> list[Any]:
    """The module of each layer that calls the attention function: it holds the output projection, or is next to it."""
    assert family.block is not None
    name = family.block.attention_output.rpartition(".")[0]
    if name.endswith("attention.output"):  # BERT
        name = name.replace("output", "self")
    return [layer.get_submodule(name) for layer in layer_modules(family, model) or ()]


def submodule(parent: Any, name: str | None) -> Any | None:
    """``parent.name``, or None where it is missing (parts that a config can switch off)."""
    if name is None:
        return None
    try:
        module = parent.get_submodule(name)
    except AttributeError:
        return None
    return module
