"""Small random models of nine families that read pictures, each with an image processor: ``build("dinov2")``."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
import transformers as tf
from PIL import Image, ImageDraw

SPREAD = 0.2  # standard deviation of the weights: peaked attention in a narrow model
SIDE, PATCH = 48, 12  # px: 4 x 4 patches
SIZES = {
    "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
    "image_size": SIDE, "patch_size": PATCH,
}  # fmt: skip
OF_TEXT = {
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40,
    "vocab_size": 40, "max_position_embeddings": 32,
}  # fmt: skip
LABELS = {"id2label": {0: "cat", 1: "dog", 2: "flag"}, "label2id": {"cat": 0, "dog": 1, "flag": 2}}


def _dino(kind: str, **more: Any) -> Any:
    return getattr(tf, f"{kind}Config")(**SIZES, mlp_ratio=2, layerscale_value=0.7, **more)


def _two(kind: str) -> Any:
    config = getattr(tf, f"{kind}Config")
    return config(text_config=OF_TEXT, vision_config=SIZES, projection_dim=20)


FAMILIES = {
    "vit": lambda: tf.ViTModel(tf.ViTConfig(**SIZES)),
    "deit": lambda: tf.DeiTModel(tf.DeiTConfig(**SIZES)),
    "dino": lambda: tf.ViTModel(tf.ViTConfig(**SIZES, qkv_bias=True), add_pooling_layer=False),
    "dinov2": lambda: tf.Dinov2Model(_dino("Dinov2")),
    "dinov2_with_registers": lambda: tf.Dinov2WithRegistersModel(_dino("Dinov2WithRegisters", num_register_tokens=3)),
    "beit": lambda: tf.BeitModel(tf.BeitConfig(**SIZES, use_relative_position_bias=True, layer_scale_init_value=0.6)),
    "clip_vision_model": lambda: tf.CLIPVisionModel(tf.CLIPVisionConfig(**SIZES)),
    "clip": lambda: tf.CLIPModel(_two("CLIP")),
    "siglip_vision_model": lambda: tf.SiglipVisionModel(tf.SiglipVisionConfig(**SIZES)),
}  # fmt: skip

OTHERS = {
    "beit_shared": lambda: tf.BeitModel(tf.BeitConfig(**SIZES, use_shared_relative_position_bias=True, use_mean_pooling=False)),
    "dinov2_gated": lambda: tf.Dinov2Model(_dino("Dinov2", use_swiglu_ffn=True)),
    "clip_projected": lambda: tf.CLIPVisionModelWithProjection(tf.CLIPVisionConfig(**SIZES, projection_dim=20)),
    "siglip": lambda: tf.SiglipModel(tf.SiglipConfig(text_config={**OF_TEXT, "projection_size": 32}, vision_config=SIZES)),
}  # fmt: skip

CLASSIFIERS = {
    "vit": lambda: tf.ViTForImageClassification(tf.ViTConfig(**SIZES, **LABELS)),
    "deit": lambda: tf.DeiTForImageClassification(tf.DeiTConfig(**SIZES, **LABELS)),
    "deit_teacher": lambda: tf.DeiTForImageClassificationWithTeacher(tf.DeiTConfig(**SIZES, **LABELS)),
    "dinov2": lambda: tf.Dinov2ForImageClassification(_dino("Dinov2", **LABELS)),
    "dinov2_with_registers": lambda: tf.Dinov2WithRegistersForImageClassification(_dino("Dinov2WithRegisters", **LABELS)),
    "beit": lambda: tf.BeitForImageClassification(tf.BeitConfig(**SIZES, use_relative_position_bias=True, layer_scale_init_value=0.6, **LABELS)),
    "clip": lambda: tf.CLIPForImageClassification(tf.CLIPConfig(text_config=OF_TEXT, vision_config=SIZES, **LABELS)),
    "siglip": lambda: tf.SiglipForImageClassification(tf.SiglipConfig(text_config=OF_TEXT, vision_config=SIZES, **LABELS)),
}  # fmt: skip


def processor(side: int = SIDE, *, crop: int = 0, **more: Any) -> Any:
    """A processor by Pillow: to a square, or the shorter side to ``side`` and the middle of it to ``crop`` px."""
    given: dict[str, Any] = {"size": {"height": side, "width": side}, **more}
    if crop:
        given["size"] = {"shortest_edge": side}
        given |= {"do_center_crop": True, "crop_size": {"height": crop, "width": crop}}
    kind = getattr(tf, "BitImageProcessorPil" if crop else "ViTImageProcessorPil", None)
    if kind is None:  # earlier versions have those of Pillow under the plain name
        kind = tf.BitImageProcessor if crop else tf.ViTImageProcessor
    return kind(**given)


def randomized(model: Any) -> Any:
    """The model with large random weights and biases, so that attention is far from uniform and no term is zero."""
    torch.manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lambda" in name:
                parameter.copy_(0.5 + torch.rand(parameter.shape))
            elif "norm" in name and name.endswith("weight"):
                parameter.copy_(1 + 0.2 * torch.randn(parameter.shape))
            elif parameter.ndim:
                parameter.copy_(SPREAD * torch.randn(parameter.shape))
    return model.eval()


@cache
def build(name: str) -> tuple[Any, Any]:
    """Model and processor of a family."""
    return randomized({**FAMILIES, **OTHERS}[name]()), processor()


@cache
def classifier(name: str) -> tuple[Any, Any]:
    """A classifier of three labels, and its processor."""
    return randomized(CLASSIFIERS[name]()), processor()


def drawn(width: int = 60, height: int = 44) -> Image.Image:
    """A drawn picture: a disk and a bar on a ramp, with some noise."""
    ramp = np.linspace(40, 200, width)[None, :, None] * np.ones((height, 1, 3))
    noise = np.random.default_rng(3).normal(0, 12, (height, width, 3))
    image = Image.fromarray(np.clip(ramp + noise, 0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    pen.ellipse((width * 0.1, height * 0.2, width * 0.5, height * 0.8), fill=(220, 60, 30))
    pen.rectangle((width * 0.65, height * 0.1, width * 0.85, height * 0.9), fill=(20, 70, 160))
    return image


@cache
def large() -> tuple[Any, Any]:
    """A DINOv2 of random weights in the small one's sizes but narrow: 12 layers, 6 heads, 257 tokens of 224 px."""
    sizes = {**SIZES, "num_hidden_layers": 12, "num_attention_heads": 6, "hidden_size": 48, "image_size": 224, "patch_size": 14}  # fmt: skip
    config = tf.Dinov2Config(**sizes, mlp_ratio=2, layerscale_value=0.7)
    return randomized(tf.Dinov2Model(config)), processor(224)
