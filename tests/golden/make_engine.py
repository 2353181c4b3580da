"""Write ``engine.json``: a tiny model as it is packed for the engine of a page, a run of it, and tokenized lines.

Run ``python -m tests.golden.make_engine`` after a change of the format, and look at the difference.
"""

from __future__ import annotations

import base64
import json
import random
import tempfile
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

import attn_widget as aw
from attn_widget.features.engine.packing import pack_model
from attn_widget.features.engine.text import as_text
from tests.hard_texts import HARD_TEXTS

PATH = Path(__file__).with_name("engine.json")
MINI = Path(aw.__file__).parent / "mini"
TEXT = "cab dab e bad"
SETTINGS = {
    "architectures": ["BertForPreTraining"],
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 16,
    "intermediate_size": 24,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 24,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "type_vocab_size": 2,
    "vocab_size": 57,
    "pad_token_id": 0,
}
MORE_LINES = [
    "a [MASK] b[MASK]c [mask] [[MASK]] [SEP]",
    "x" * 100 + " " + "y" * 101,
    "한국어 가나다",
    "\u0301a e\u0301\u0323 Ω \u212b",
]


def lines(count: int, seed: int = 0) -> list[str]:
    """Hard texts, characters of them mixed, and characters of all of Unicode."""
    rng = random.Random(seed)
    pool = "".join(HARD_TEXTS)
    found = [*HARD_TEXTS, *MORE_LINES]
    while len(found) < count:
        found.append("".join(rng.choices(pool, k=rng.randint(1, 60))))
        anywhere = (
            rng.choice([rng.randrange(1, 0x3000), rng.randrange(0xE000, 0x20000)])
            for _ in range(rng.randint(1, 40))
        )
        found.append("".join(map(chr, anywhere)))
    return found[:count]


def tokenized(texts: list[str]) -> list[dict[str, Any]]:
    """Ids and offsets of the embedded tokenizer, [CLS] and [SEP] included."""
    backend = Tokenizer.from_file(str(MINI / "tokenizer.json"))
    return [
        {"text": text, "ids": found.ids, "offsets": found.offsets}
        for text, found in zip(texts, backend.encode_batch(texts), strict=True)
    ]


def write_model(folder: Path, seed: int = 0) -> None:
    """A BERT of two layers with random weights, and a vocabulary of letters."""
    rng = np.random.default_rng(seed)
    size, inner = SETTINGS["hidden_size"], SETTINGS["intermediate_size"]
    weights: dict[str, Any] = {}

    def linear(name: str, outputs: int, inputs: int) -> None:
        weights[f"{name}.weight"] = rng.normal(0, 0.4, (outputs, inputs)).astype("f2")
        weights[f"{name}.bias"] = rng.normal(0, 0.2, outputs).astype("f2")

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = rng.normal(1, 0.1, size).astype("f2")
        weights[f"{name}.bias"] = rng.normal(0, 0.1, size).astype("f2")

    for name, rows in (("word", 57), ("position", 24), ("token_type", 2)):
        table = rng.normal(0, 1, (rows, size)).astype("f2")
        weights[f"bert.embeddings.{name}_embeddings.weight"] = table
    norm("bert.embeddings.LayerNorm")
    for layer in range(SETTINGS["num_hidden_layers"]):
        prefix = f"bert.encoder.layer.{layer}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{prefix}.attention.{name}", size, size)
        linear(f"{prefix}.intermediate.dense", inner, size)
        linear(f"{prefix}.output.dense", size, inner)
        norm(f"{prefix}.attention.output.LayerNorm")
        norm(f"{prefix}.output.LayerNorm")
    linear("bert.pooler.dense", size, size)
    linear("cls.seq_relationship", 2, size)
    linear("cls.predictions.transform.dense", size, size)
    norm("cls.predictions.transform.LayerNorm")
    weights["cls.predictions.bias"] = rng.normal(0, 0.2, 57).astype("f2")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(SETTINGS))
    reader = json.loads((MINI / "tokenizer.json").read_text())
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *ascii_lowercase]
    vocabulary = {
        token: i for i, token in enumerate([*tokens, *(f"##{c}" for c in ascii_lowercase)])
    }
    reader["model"]["vocab"] = vocabulary
    for added in reader["added_tokens"]:
        added["id"] = vocabulary[added["content"]]
    for name, special in reader["post_processor"]["special_tokens"].items():
        special["ids"] = [vocabulary[name]]
    (folder / "tokenizer.json").write_text(json.dumps(reader))
    (folder / "tokenizer_config.json").write_text((MINI / "tokenizer_config.json").read_text())


def numbers(values: Any) -> list[float]:
    return [float(f"{value:.7g}") for value in np.asarray(values, dtype=float).ravel()]


def golden() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tiny"
        folder.mkdir()
        write_model(folder)
        packed = pack_model(folder)
        encoder = aw.load(str(folder))
        run = aw.analyze(TEXT, model=encoder)
    layers, heads = range(run.trace.n_layers), range(run.trace.n_heads)
    logits = [run.trace.logits_tensor([i])[0].tolist() for i in (1, 2)]
    return {
        "file": base64.b64encode(packed).decode(),
        "text": TEXT,
        "ids": [token.id for token in run.tokens],
        "attention": numbers([[run.attention(k, h) for h in heads] for k in layers]),
        "hidden": [numbers(state) for state in run.model.hidden_states],
        "queries": numbers(np.concatenate([run.model.queries(1, h) for h in heads], axis=1)),
        "logits": numbers(logits),
        "next_sentence": numbers(run.trace.nsp_logits),
        "text_of_file": as_text(packed).decode(),
        "lines": tokenized(lines(130)),
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), ensure_ascii=True, indent=1) + "\n")
