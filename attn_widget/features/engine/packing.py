"""Packs the weights and the vocabulary of a BERT or DistilBERT folder for the engine of a page.

The file is ``MAGIC``, the length of the header (uint32, little-endian), the header (JSON, padded with
spaces to a multiple of 16 bytes with what stands before it), and the payload. The header names the
offset of each tensor in the payload. Three layouts:

matrix   float16 in panels of 8 outputs: ``[panels][inputs][8]``, the last panel filled with zeros
rows     float16 ``[rows][columns]``
vector   float32, filled with zeros to a multiple of 8
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.errors import NotAvailableError
from attn_widget.features.engine.layouts import Array, settings_as_bert, weights_as_bert

MAGIC = b"attnwgt1"
PANEL = 8  # outputs of a panel: COLUMNS of js/engine/lanes.ts
ALIGNMENT = 16  # bytes of a SIMD vector
KINDS = ("bert", "distilbert")
SPECIAL = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention": "attention.output.dense",
    "intermediate": "intermediate.dense",
    "output": "output.dense",
}
NORMS = {"attention_norm": "attention.output.LayerNorm", "output_norm": "output.LayerNorm"}


def as_panels(matrix: Array) -> Array:
    """``matrix`` [outputs, inputs] as float16 ``[panels, inputs, 8]``.

    >>> as_panels(np.ones((3, 4)))[0, 0].tolist()
    [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    n_outputs, n_inputs = matrix.shape
    panels = -(-n_outputs // PANEL)
    full = np.zeros((panels * PANEL, n_inputs), dtype="<f2")
    full[:n_outputs] = matrix
    return np.ascontiguousarray(full.reshape(panels, PANEL, n_inputs).transpose(0, 2, 1))


def as_vector(vector: Array) -> Array:
    """``vector`` as float32, filled with zeros to a multiple of 8."""
    full = np.zeros(-(-len(vector) // PANEL) * PANEL, dtype="<f4")
    full[: len(vector)] = vector
    return full


def _tensors(weights: Mapping[str, Array], n_layers: int) -> Iterator[tuple[str, Array]]:
    """Every tensor of the file with its name there."""
    embeddings = "bert.embeddings"
    yield "word", as_panels(weights[f"{embeddings}.word_embeddings.weight"])
    for name in ("position", "token_type"):
        yield name, weights[f"{embeddings}.{name}_embeddings.weight"].astype("<f2")

    def norm(name: str, source: str) -> Iterator[tuple[str, Array]]:
        for part in ("weight", "bias"):
            yield f"{name}.{part}", as_vector(weights[f"{source}.{part}"])

    def linear(name: str, source: str) -> Iterator[tuple[str, Array]]:
        yield f"{name}.weight", as_panels(weights[f"{source}.weight"])
        yield f"{name}.bias", as_vector(weights[f"{source}.bias"])

    yield from norm("embedding_norm", f"{embeddings}.LayerNorm")
    for layer in range(n_layers):
        prefix = f"bert.encoder.layer.{layer}"
        for name, source in LAYER.items():
            yield from linear(f"{layer}.{name}", f"{prefix}.{source}")
        for name, source in NORMS.items():
            yield from norm(f"{layer}.{name}", f"{prefix}.{source}")
    if "cls.seq_relationship.weight" in weights:
        yield from linear("pooler", "bert.pooler.dense")
        yield from linear("next_sentence", "cls.seq_relationship")
    if "cls.predictions.bias" in weights:
        yield from linear("transform", "cls.predictions.transform.dense")
        yield from norm("transform_norm", "cls.predictions.transform.LayerNorm")
        yield "prediction.bias", as_vector(weights["cls.predictions.bias"])


def pack_model(folder: Path) -> bytes:
    """The engine's file of the model in ``folder``; see `pack`.

    ``folder``: with ``config.json``, ``model.safetensors`` and ``tokenizer.json``.
    """
    from safetensors.numpy import load_file

    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return pack(folder.name, settings, tokenizer, load_file(folder / "model.safetensors"))


def check_layout(name: str, settings: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> None:
    """Refuse what the engine cannot run."""
    kind, activation = settings["model_type"], settings.get("hidden_act") or "another activation"
    reader = tokenizer["model"]
    if kind not in KINDS or (activation, reader["type"]) != ("gelu", "WordPiece"):
        raise NotAvailableError(
            f"{name} is {kind} with {activation} and {reader['type']}, which the engine of a "
            "page cannot run.",
            "It runs BERT and DistilBERT with GELU and WordPiece.",
        )
    normalizer = tokenizer.get("normalizer") or {}
    added = {token["content"] for token in tokenizer.get("added_tokens", ())}
    if not normalizer.get("lowercase") or normalizer.get("strip_accents") is False:
        raise NotAvailableError(
            f"The tokenizer of {name} keeps capital letters or accents.",
            "The engine of a page reads text as bert-base-uncased does.",
        )
    if added - SPECIAL:
        raise NotAvailableError(
            f"The tokenizer of {name} has tokens of its own: {', '.join(sorted(added - SPECIAL)[:5])}.",
            f"The engine of a page knows {', '.join(sorted(SPECIAL))}.",
        )
    if settings.get("position_embedding_type") not in (None, "absolute"):
        raise NotAvailableError(
            f"{name} has {settings['position_embedding_type']} positions.",
            "The engine of a page runs BERT with absolute positions.",
        )
    hidden, heads = int(settings["hidden_size"]), int(settings["num_attention_heads"])
    inner = int(settings["intermediate_size"])
    if hidden % heads or (hidden // heads) % PANEL or inner % PANEL:
        raise NotAvailableError(
            f"{name} has {heads} heads, {hidden} hidden and {inner} intermediate units.",
            f"The engine needs heads and intermediate layers of a multiple of {PANEL} units.",
        )


def pack(
    name: str,
    settings: Mapping[str, Any],
    tokenizer: Mapping[str, Any],
    weights: Mapping[str, Array],
) -> bytes:
    """The engine's file of a model.

    ``name``: of the model, for errors. ``settings``, ``tokenizer``: ``config.json`` and ``tokenizer.json``.
    ``weights``: BERT or DistilBERT with or without the heads of masked words and of the next sentence. Matrices of
    more than float16 are rounded.
    """
    settings, weights = settings_as_bert(settings), weights_as_bert(settings, weights)
    check_layout(name, settings, tokenizer)
    with np.errstate(over="ignore"):
        unfit = [key for key, item in weights.items() if not np.isfinite(item.astype("<f2")).all()]
    if unfit:
        raise NotAvailableError(
            f"{unfit[0]} has values that float16 cannot hold.", "The engine needs finite weights."
        )
    reader = tokenizer["model"]
    vocabulary = sorted(reader["vocab"], key=reader["vocab"].__getitem__)
    parts: list[bytes] = []
    offsets: dict[str, int] = {}
    size = 0

    def add(name: str, data: bytes) -> None:
        nonlocal size
        offsets[name] = size
        filled = data + bytes(-len(data) % ALIGNMENT)
        parts.append(filled)
        size += len(filled)

    for name, tensor in _tensors(weights, int(settings["num_hidden_layers"])):
        add(name, tensor.tobytes())
    text = "\n".join(vocabulary).encode()
    add("vocabulary", text)
    payload = b"".join(parts)
    header: dict[str, Any] = {
        "layers": settings["num_hidden_layers"],
        "heads": settings["num_attention_heads"],
        "hidden": settings["hidden_size"],
        "intermediate": settings["intermediate_size"],
        # Rows beyond the tokenizer's tokens take part in the softmax.
        "vocabulary": len(weights["bert.embeddings.word_embeddings.weight"]),
        "vocabularyBytes": len(text),
        "positions": settings["max_position_embeddings"],
        "types": settings["type_vocab_size"],
        "eps": settings["layer_norm_eps"],
        "bytes": size,
        "crc32": zlib.crc32(payload),
        "tensors": offsets,
    }
    written = json.dumps(header, separators=(",", ":")).encode()
    written += b" " * (-(len(MAGIC) + 4 + len(written)) % ALIGNMENT)
    return MAGIC + len(written).to_bytes(4, "little") + written + payload
