"""Towers: the part of each kind of model that reads a picture, and where it keeps its layers."""

from __future__ import annotations

from typing import Any

from attn_widget.errors import ModelLoadError
from attn_widget.model.families import (
    FINAL_NORM,
    GATED_NOTE,
    NO_NORM,
    Block,
    Embeddings,
    Family,
    submodule,
)

#: What stands before the patches, by the kind of model.
BEFORE = {
    **dict.fromkeys(("vit", "dinov2", "beit", "clip", "clip_vision_model"), ("[CLS]",)),
    "deit": ("[CLS]", "[DIST]"),
    "siglip": (),
    "siglip_vision_model": (),
    "dinov2_with_registers": ("[CLS]",),
}
# Names of the same module, in versions of `transformers` and families.
OUTPUTS = ("attention.o_proj", "attention.output.dense", "self_attn.out_proj")
NORMS = (
    ("layernorm_before", "layernorm_after"),
    ("norm1", "norm2"),
    ("layer_norm1", "layer_norm2"),
)
FEEDS = ("mlp.fc2", "mlp.down_proj", "output.dense")
SCALES = (("layer_scale1.lambda1", "layer_scale2.lambda1"), ("lambda_1", "lambda_2"))
POSITIONS = ("position", "adds its positions to the patches in the same module")
NO_SEGMENTS = ("segment", "has no segment embeddings: it reads one image")
SCALE_NOTE = "What attention and FFN add is multiplied by a learned vector (LayerScale)."


def vision_config(config: Any) -> Any:
    """The configuration of the tower, of a model of one or of two."""
    return getattr(config, "vision_config", config)


def tower_of(model: Any) -> Any:
    """The module that runs: the model itself with its classifier, or the tower of a model of two."""
    two = hasattr(model, "vision_model") and not type(model).__name__.endswith("Classification")
    return model.vision_model if two else model


def before_patches(config: Any) -> tuple[str, ...]:
    """Names of the special tokens, in order."""
    registers = int(getattr(config, "num_register_tokens", 0) or 0)
    return (*BEFORE[str(config.model_type)], *(f"[REG{k}]" for k in range(registers)))


def family_of(tower: Any, name: str) -> Family:
    """Names of the places where a tower keeps its layers.

    Raises `ModelLoadError`: none of the places that are known.
    """
    base, config = tower.base_model, vision_config(tower.config)
    path = next(
        (
            path
            for path, module in base.named_modules()
            if type(module).__name__ == "ModuleList"
            and len(module) == config.num_hidden_layers
            and _named(module[0], OUTPUTS)
        ),
        None,
    )
    if path is None:
        raise ModelLoadError(
            f"Where {name!r} ({type(tower).__name__}) keeps its layers is not known.",
            "Bring its weights: from_attentions().",
        )
    inside = "vision_model." if path.startswith("vision_model.") else ""
    norm = f"{inside}pre_layrnorm"  # CLIP's; so it is spelled
    has_norm = submodule(base, norm) is not None
    return Family(
        str(config.model_type),
        layers=path,
        block=_block(base.get_submodule(path)[0]),
        embeddings=Embeddings(
            f"{inside}embeddings",
            None,
            None,
            norm if has_norm else None,
            reasons=(POSITIONS, NO_SEGMENTS) if has_norm else (POSITIONS, NO_SEGMENTS, NO_NORM),
        ),
        base=inside.rstrip(".") or None,
    )


def _named(layer: Any, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if submodule(layer, name) is not None), None)


def _block(layer: Any) -> Block | None:
    output, feed = _named(layer, OUTPUTS), _named(layer, FEEDS)
    norms = next((pair for pair in NORMS if submodule(layer, pair[0]) is not None), None)
    if output is None or feed is None or norms is None:
        return None
    scales = next((pair for pair in SCALES if _is_vector(layer, pair[0])), None)
    gated = feed == "mlp.down_proj"
    notes = (GATED_NOTE,) * gated + (SCALE_NOTE,) * (scales is not None)
    return Block(
        attention_output=output,
        attention_norm=norms[0],
        ffn_output=feed,
        ffn_norm=norms[1],
        pre_norm=True,
        gate="mlp.act_fn" if gated else None,
        scales=scales,
        notes=(*notes, FINAL_NORM),
    )


def _is_vector(layer: Any, path: str) -> bool:
    holder, _, name = path.rpartition(".")
    found = submodule(layer, holder) if holder else layer
    return getattr(getattr(found, name, None), "ndim", 0) == 1
