"""Checks the sizes that a model folder's configuration claims, before anything is allocated."""

from __future__ import annotations

import warnings
from typing import Any

from attn_widget.checks import short_repr
from attn_widget.errors import ModelLoadError
from attn_widget.model.families import stack_config
from attn_widget.model.families_of_two import COMPOSABLE, COMPOSED, ENCODER_DECODERS
from attn_widget.model.places import MODELS_HINT

ENCODER_DECODERS_HINT = f"Use one of {', '.join(sorted((*ENCODER_DECODERS, COMPOSED)))}; or bring its weights: from_attentions()."

# Largest sizes that a configuration may claim: a hundred times those of the largest encoders.
LARGEST = {
    "num_hidden_layers": 1000,
    "num_attention_heads": 1000,
    "hidden_size": 100_000,
    "intermediate_size": 1_000_000,
    "vocab_size": 50_000_000,
    "max_position_embeddings": 10_000_000,
    "type_vocab_size": 100_000,
}


MAY_BE_NONE = (
    "max_position_embeddings",
    "type_vocab_size",
    "intermediate_size",
)  # DeBERTa has neither segments nor places; GPT-2 may leave the third to its default


NO_LIMIT = -1  # of XLNet's positions, which are relative


MIN_KNOWN = (
    0.1  # entries of a tokenizer, as a share of the embeddings; padding to a round number is less
)


MAX_NUMBERS = 2e11  # weights, by a rough count of embeddings and layers


# Layers of these kinds attend; all others mix tokens by a recurrence or a convolution.
ATTENDING = ("full_attention", "sliding_attention", "chunked_attention")


RECURRENT = (
    *(
        "bamba",
        "falcon_h1",
        "falcon_mamba",
        "granitemoehybrid",
        "jamba",
        "mamba",
        "mamba2",
        "nemotron_h",
    ),
    *("recurrent_gemma", "rwkv", "xlstm", "zamba", "zamba2"),
)


# Encoder-decoders whose source is sound: its frames have no tokens, and no text to write them in.
OF_SOUND = (
    *(
        "moonshine",
        "moonshine_streaming",
        "seamless_m4t",
        "seamless_m4t_v2",
        "speech-encoder-decoder",
    ),
    *("speech_to_text", "speecht5", "whisper", "cohere_asr", "dia"),
)
# Encoder-decoders whose source is an image, or more than a text.
OF_IMAGES = (
    "florence2",
    "pix2struct",
    "pp_formulanet",
    "t5gemma2",
    "udop",
    "vision-encoder-decoder",
)
# Encoder-decoders whose weights cannot be captured, and why.
IN_BLOCKS = "its encoder attends within blocks of neighboring tokens and to a few global ones"
UNSEEN = {
    "bigbird_pegasus": f"{IN_BLOCKS}, some drawn at random",
    "led": IN_BLOCKS.replace("blocks", "windows"),
    "longt5": IN_BLOCKS,
    "nllb-moe": "its experts read the mask of its own attention function, and take that of any other for padding",
    "pegasus_x": IN_BLOCKS,
    "prophetnet": "its decoder predicts several tokens ahead, each in a stream of attention of its own",
}

# Families that `transformers` runs as another model below a version: that version, and what it does until then.
WRONG_BELOW = {"umt5": ("5.18", "lets the decoder see later tokens")}


def check_config(config: Any, name: str) -> None:
    """Refuse what does not read text by attention, before its weights are fetched."""
    kind = str(getattr(config, "model_type", "") or type(config).__name__)
    if getattr(config, "is_encoder_decoder", False):
        if kind in OF_SOUND:
            raise ModelLoadError(
                f"{name!r} ({kind}) reads sound: its source has frames in place of tokens.",
                "Bring its weights: from_attentions(encoder_attentions=..., decoder_attentions=..., "
                "cross_attentions=..., encoder_tokens=names of the frames, decoder_tokens=...).",
            )
        if kind in OF_IMAGES:
            raise ModelLoadError(
                f"{name!r} ({kind}) reads images: its source has patches in place of tokens.",
                "Bring its weights: from_attentions(cross_attentions=..., encoder_tokens=names of the patches, "
                "decoder_tokens=...).",
            )
        if kind in UNSEEN:
            raise ModelLoadError(
                f"The attention of {name!r} ({kind}) cannot be read: {UNSEEN[kind]}.",
                ENCODER_DECODERS_HINT,
            )
        if kind in WRONG_BELOW:
            _check_version(kind, name)
        if kind == COMPOSED:
            _check_composed(config, f"{name!r} ({kind})")
        elif kind not in ENCODER_DECODERS:
            raise ModelLoadError(
                f"{name!r} ({kind}) is an encoder-decoder model of a family that is not known.",
                ENCODER_DECODERS_HINT,
            )
        if not getattr(config, "share_encoder_decoder_embeddings", True):
            raise ModelLoadError(
                f"{name!r} ({kind}) has one vocabulary for what it reads and another for what it writes.",
                "Bring its weights yourself: from_attentions().",
            )
    kinds = [str(kind) for kind in getattr(config, "layer_types", None) or ()]
    others = sorted({kind for kind in kinds if kind not in ATTENDING})
    if kind in RECURRENT or others:
        what = "recurrent layers" if kind in RECURRENT else f"layers of the kind {others[0]!r}"
        raise ModelLoadError(
            f"{name!r} ({kind}) has {what}, which have no attention weights.", MODELS_HINT
        )
    for stack in (stack_config(config, "encoder"), stack_config(config, "decoder")):
        if not isinstance(getattr(stack, "vocab_size", None), int):
            raise ModelLoadError(f"{name!r} ({kind}) does not read text.", MODELS_HINT)
        if not isinstance(getattr(stack, "num_attention_heads", None), int):
            raise ModelLoadError(f"{name!r} ({kind}) has no attention heads.", MODELS_HINT)
        _check_head_widths(stack, f"{name!r} ({kind})")
        check_sizes(stack, f"{name!r} ({kind})")


def _check_version(kind: str, name: str) -> None:
    """Refuse a family that the installed `transformers` runs as another model."""
    import transformers
    from packaging.version import Version  # which transformers brings

    mended, fault = WRONG_BELOW[kind]
    if Version(transformers.__version__) < Version(mended):
        raise ModelLoadError(
            f"{name!r} ({kind}) needs transformers {mended}: version {transformers.__version__}, which is installed, {fault}.",
            f"pip install 'transformers>={mended}'",
        )


def _check_head_widths(config: Any, name: str) -> None:
    """Refuse heads of several widths (Gemma 4), which `transformers` gives no number for."""
    try:
        getattr(config, "head_dim", None)
    except RuntimeError as error:
        raise ModelLoadError(
            f"{name} has heads of other widths in some of its layers, which are not known here.",
            "Bring the weights yourself: from_attentions().",
        ) from error


def _check_composed(config: Any, name: str) -> None:
    """Refuse an `EncoderDecoderModel` whose halves we cannot see, or that has two vocabularies."""
    halves = (config.encoder, config.decoder)
    kinds = [str(half.model_type) for half in halves]
    for kind in kinds:
        if kind not in COMPOSABLE:
            raise ModelLoadError(
                f"{name} is made of {kinds[0]} and {kinds[1]}, and attention of {kind} in an encoder-decoder is not known.",
                f"Both may be one of {', '.join(COMPOSABLE)}; or bring its weights: from_attentions().",
            )
    if halves[0].vocab_size != halves[1].vocab_size:
        raise ModelLoadError(
            f"{name} has one vocabulary for what it reads, of {halves[0].vocab_size:,} entries, and another for what it "
            f"writes, of {halves[1].vocab_size:,}.",
            "Bring its weights yourself: from_attentions().",
        )


def check_stacks(model: Any, name: str) -> None:
    """Refuse a part of an encoder-decoder, and one with a classifier: neither writes, nor is it an encoder alone."""
    config = model.config
    if not getattr(config, "is_encoder_decoder", False):
        return
    base, kind = model.base_model, type(model).__name__
    stacks = ("encoder", "decoder") if kind.endswith(("Model", "ForConditionalGeneration")) else ()
    if not stacks or not all(hasattr(base, stack) for stack in stacks):
        raise ModelLoadError(
            f"{name!r} is a {kind}, which is not a whole encoder-decoder model with a language-model head.",
            "Pass the model that it was taken from: a ForConditionalGeneration, or MarianMTModel.",
        )


def check_sizes(config: Any, name: str) -> None:
    """Refuse sizes that no model has, before memory is asked for them."""
    sizes = {key: getattr(config, key, None) for key in LARGEST}
    for key, value in sizes.items():
        if value is None:
            continue
        least = 0 if key in MAY_BE_NONE else 1
        if key == "max_position_embeddings" and value == NO_LIMIT:
            continue
        # Gemma 3n has one of each layer.
        each: list[Any] = value if isinstance(value, list) and value else [value]
        sane = all(isinstance(size, int) and not isinstance(size, bool) for size in each)
        if not sane or not least <= min(each) <= max(each) <= LARGEST[key]:
            raise ModelLoadError(
                f"The configuration of {name} says {key} {short_repr(value)}, expected {least} to "
                f"{LARGEST[key]:,}.",
                "Fix its config.json, or get the checkpoint again.",
            )
    width = sizes["hidden_size"] or 1
    numbers = width * (sizes["vocab_size"] or 1) + 12 * width**2 * (sizes["num_hidden_layers"] or 1)
    if numbers > MAX_NUMBERS:
        raise ModelLoadError(
            f"The configuration of {name} claims some {numbers:.1e} weights, at most "
            f"{MAX_NUMBERS:.0e} are loaded.",
            "Fix its config.json, or get the checkpoint again.",
        )


def check_vocabulary(tokenizer: Any, n_embeddings: int, name: str) -> None:
    """Refuse a tokenizer that knows special tokens alone; warn of one far smaller than the model's embeddings.

    The former is what `transformers` makes of a folder whose configuration belongs to another family than its
    vocabulary: every word of every text would be unknown.
    """
    n_words = len(set(tokenizer.get_vocab().values()) - set(tokenizer.all_special_ids))
    hint = "Use the tokenizer that the model was trained with: load(name, tokenizer=...)."
    if n_words == 0:
        raise ModelLoadError(
            f"The tokenizer of {name!r} knows {len(tokenizer)} special tokens and no word, the model has "
            f"{n_embeddings:,} embeddings.",
            hint,
        )
    if len(tokenizer) < n_embeddings * MIN_KNOWN:
        warnings.warn(
            f"The tokenizer of {name!r} has {len(tokenizer):,} entries, the model {n_embeddings:,} embeddings. "
            + hint,
            UserWarning,
            stacklevel=2,
        )
