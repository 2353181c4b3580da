"""Families of encoder-decoders: where each kind keeps what reads the source, what reads the target, and what looks from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from attn_widget.model.families import (
    BUCKETS,
    EXPERTS_NOTE,
    FAMILIES,
    FINAL_NORM,
    GATED_NOTE,
    NO_NORM,
    ONE_TEXT,
    PARTS,
    SANDWICH,
    Block,
    Embeddings,
    Family,
    Head,
    Part,
    as_configured,
    rotary,
)

# An encoder and a decoder of families with cross-attention of their own, put together by `EncoderDecoderModel`.
COMPOSED = "encoder-decoder"
COMPOSABLE = ("bert", "bert-generation", "camembert", "electra", "roberta", "xlm-roberta")


def _written(model: Any, hidden: Any) -> Any:
    """Head of an encoder-decoder: the scaled states of T5's kin, the bias of BART's kin, Gemma's cap on the logits."""
    config = model.config
    if _scales(config):
        hidden = hidden * config.d_model**-0.5
    head = model.lm_head
    logits = getattr(head, "out_proj", head)(hidden)
    logits = logits + getattr(model, "final_logits_bias", 0)
    cap = getattr(getattr(config, "decoder", None), "final_logit_softcapping", None)
    return logits if cap is None else (logits / cap).tanh() * cap


def _scales(config: Any) -> bool:
    """True if the hidden states are scaled for a head that is the embeddings."""
    if config.model_type == "t5":
        return getattr(config, "scale_decoder_outputs", config.tie_word_embeddings)
    return config.model_type in ("umt5", "switch_transformers") and config.tie_word_embeddings


def _two_texts(
    name: str,
    layers: str,
    block: Callable[[Part], Block],
    final_norm: str | None,
    embeddings: Embeddings,
) -> dict[Part, Family]:
    """The families of an encoder-decoder's parts. The head runs with the whole model: T5 has none to run by itself.

    ``embeddings`` are the encoder's. No plan of a decoder's layer is drawn, which has three sublayers.
    """

    def part(kind: Part) -> Family:
        stack = "encoder" if kind == "encoder" else "decoder"
        return Family(
            name,
            layers=f"{stack}.{layers}",
            block=block(kind),
            embeddings=embeddings if kind == "encoder" else None,
            predicts="here" if kind == "encoder" else "next",
            base=stack,
            final_norm=None if final_norm is None else f"{stack}.{final_norm}",
            written=_written if kind == "decoder" else None,
        )

    return {kind: part(kind) for kind in PARTS}


def _like_bart(
    name: str,
    *,
    pre_norm: bool = False,
    sinusoidal: bool = False,
    norm: bool = True,
    scaled: bool = False,
) -> dict[Part, Family]:
    """Families of BART and its kin. ``sinusoidal``: positions of Vaswani et al. (2017).

    ``norm``: of the embeddings; ``scaled``: the stack multiplies its token embeddings, where their module does not.
    """
    embeddings = Embeddings(
        "encoder.embed_tokens",
        "encoder.embed_positions",
        None,
        "encoder.layernorm_embedding" if norm else None,
        scale="encoder.embed_scale" if scaled else None,
        sinusoidal=sinusoidal,
        reasons=(ONE_TEXT,) if norm else (ONE_TEXT, NO_NORM),
    )

    def block(part: Part) -> Block:
        attention = "encoder_attn" if part == "cross" else "self_attn"
        block = Block(
            f"{attention}.out_proj", f"{attention}_layer_norm", "fc2", "final_layer_norm", pre_norm
        )
        return replace(block, notes=_notes(part, (FINAL_NORM,) if pre_norm else ()))

    return _two_texts(name, "layers", block, "layer_norm" if pre_norm else None, embeddings)


def _like_t5(name: str) -> dict[Part, Family]:
    def block(part: Part) -> Block:
        sublayer = "layer.1.EncDecAttention" if part == "cross" else "layer.0.SelfAttention"
        ffn = "layer.1" if part == "encoder" else "layer.2"
        return Block(
            f"{sublayer}.o",
            f"{sublayer[:7]}.layer_norm",
            f"{ffn}.DenseReluDense.wo",
            f"{ffn}.layer_norm",
            pre_norm=True,
            gate=f"{ffn}.DenseReluDense.act",
            notes=_notes(part, (GATED_NOTE, FINAL_NORM)),
        )

    def configured(family: Family, config: Any) -> Family:
        if config.is_gated_act or family.block is None:
            return family
        notes = tuple(note for note in family.block.notes if note != GATED_NOTE)
        return replace(family, block=replace(family.block, gate=None, notes=notes))

    embeddings = Embeddings(
        "encoder.embed_tokens",
        None,
        None,
        None,
        reasons=(("position", BUCKETS), ONE_TEXT, NO_NORM),
    )
    parts = _two_texts(name, "block", block, "final_layer_norm", embeddings)
    return {part: replace(family, configured=configured) for part, family in parts.items()}


def _switch() -> dict[Part, Family]:
    """Switch Transformers: T5, with experts in some of its layers."""

    def experts(part: Part, family: Family) -> Family:
        ffn = "layer.1" if part == "encoder" else "layer.2"
        assert family.block is not None
        block = replace(
            family.block,
            ffn_output=f"{ffn}.mlp",
            gate=None,
            experts=True,
            notes=_notes(part, (EXPERTS_NOTE, FINAL_NORM)),
        )
        return replace(family, name="switch_transformers", block=block, configured=None)

    return {part: experts(part, family) for part, family in _like_t5("t5").items()}


def _t5gemma() -> dict[Part, Family]:
    def block(part: Part) -> Block:
        attention = "cross_attn" if part == "cross" else "self_attn"
        return replace(
            SANDWICH,
            attention_output=f"{attention}.o_proj",
            attention_norm=f"pre_{attention}_layernorm",
            attention_added=f"post_{attention}_layernorm",
            notes=_notes(part, SANDWICH.notes),
        )

    return _two_texts("t5gemma", "layers", block, "norm", rotary("encoder.embed_tokens"))


def _of_decoder(family: Family) -> Head:
    """Head of the decoder that an `EncoderDecoderModel` holds."""

    def head(model: Any, hidden: Any) -> Any:
        assert family.lm is not None
        return family.lm(model.decoder, hidden)

    return head


def _composed(model: Any) -> dict[Part, Family]:
    """Families of an `EncoderDecoderModel`: the parts of BERT and its kin, whose decoder got cross-attention."""
    base = model.base_model
    config, prefix = base.config, base.decoder.base_model_prefix
    parts: dict[Part, Family] = {}
    for part in PARTS:
        stack = "encoder" if part == "encoder" else "decoder"
        family = FAMILIES[getattr(config, stack).model_type]
        assert family.block is not None and family.embeddings is not None
        below = "encoder" if part == "encoder" else f"decoder.{prefix}"
        block, embeddings = family.block, None
        if part == "cross":
            output, norm = (
                name.replace("attention.", "crossattention.", 1)
                for name in (block.attention_output, block.attention_norm)
            )
            block = replace(block, attention_output=output, attention_norm=norm)
        if part == "encoder":
            names = ("tokens", "position", "segment", "norm", "projection")
            given = {name: getattr(family.embeddings, name) for name in names}
            under = {name: path and f"{below}.{path}" for name, path in given.items()}
            embeddings = replace(family.embeddings, **under)
        parts[part] = replace(
            family,
            name=COMPOSED,
            layers=f"{below}.{family.layers}",
            block=replace(block, notes=_notes(part, block.notes)),
            embeddings=embeddings,
            lm=None,
            written=_of_decoder(family) if part == "decoder" else None,
            predicts="here" if part == "encoder" else "next",
            base=below,
        )
    return parts


def _notes(part: Part, others: tuple[str, ...]) -> tuple[str, ...]:
    """Notes on what the picture of one attention and one FFN leaves out of a layer of an encoder-decoder."""
    between = "Attention to the source stands between attention to the written text and the FFN."
    return others if part == "encoder" else (between, *others)


ENCODER_DECODERS: dict[str, dict[Part, Family]] = {
    **{name: _like_t5(name) for name in ("t5", "mt5", "umt5")},
    **{name: _like_bart(name) for name in ("bart", "plbart")},
    "marian": _like_bart("marian", sinusoidal=True, norm=False, scaled=True),
    "mbart": _like_bart("mbart", pre_norm=True),
    "pegasus": _like_bart("pegasus", pre_norm=True, sinusoidal=True, norm=False, scaled=True),
    "m2m_100": _like_bart("m2m_100", pre_norm=True, sinusoidal=True, norm=False),  # NLLB too
    "blenderbot": _like_bart("blenderbot", pre_norm=True, norm=False),
    "blenderbot-small": _like_bart("blenderbot-small", scaled=True),
    "switch_transformers": _switch(),
    "t5gemma": _t5gemma(),
}


def parts_of(model: Any) -> dict[Part, Family]:
    """The families of an encoder-decoder's parts; none for a model of one part."""
    config = model.base_model.config
    kind = str(getattr(config, "model_type", ""))
    if not getattr(config, "is_encoder_decoder", False):
        return {}
    families = _composed(model) if kind == COMPOSED else ENCODER_DECODERS.get(kind, {})
    return {part: as_configured(family, config) for part, family in families.items()}
