"""Write ``engine_source.json``: what the kernel answers about texts that the tiny model of ``engine.json`` runs.

Run ``python -m tests.golden.make_engine_source`` after a change of the slices, and look at the difference.
``js/tests/features/engine/engine-source.test.ts`` asks an `EngineSource` the same questions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import attn_widget as aw
from attn_widget.features.inside.slices import EMBEDDINGS, LAYER
from attn_widget.figures.catalog.choices import MIXINGS
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.protocol.pack import unpack
from tests.golden.make_engine import numbers, write_model

PATH = Path(__file__).with_name("engine_source.json")
NO_TAGS = "Parts of speech and entities need a tagger, and this page has none."
Heads = list[tuple[int, int]]
# Text, second text, masked tokens, heads switched off.
TEXTS: tuple[tuple[str, str | None, list[int], Heads], ...] = (
    ("cab dab e bad", None, [], []),
    ("Ab  c, é x", None, [], []),
    ("a bad cab", "dab [MASK] \U0001f600 e", [], []),
    ("a", None, [], []),
    ("a b c d e f g h i j k l m n o p q r s t u v", None, [], []),
    ("A cab. Bad (e)! “𝒳b…” d? E", None, [], []),
    ("a't 日本。カナ é́ ไท", "A. B! e", [], []),
    ("a bad cab", None, [2, 3], []),
    ("a bad cab", "d e", [1], [(0, 1), (1, 0)]),
)
REQUESTS: tuple[dict[str, Any], ...] = (
    {"kind": "weights", "layer": 1, "head": 0},
    {"kind": "weights", "layer": 1, "head": "mean", "rows": [1, 3]},
    {"kind": "scores", "layer": 0, "head": 1},
    {"kind": "qkv", "layer": 1, "head": 1},
    {"kind": "qkv", "layer": 1, "head": 1, "rows": [0, 2]},
    {"kind": "rollout", "layer": 0},
    {"kind": "rollout", "layer": 1},
    {"kind": "metrics", "tau": 0.2},
    {"kind": "metrics", "tau": "uniform"},
    {"kind": "patterns"},
    {"kind": "first_token", "head": "mean"},
    {"kind": "first_token", "head": 1},
    {"kind": "tensor", "name": "hidden", "layer": 0},
    {"kind": "tensor", "name": "hidden", "layer": 2, "cols": [2, 9], "rows": [1, 3]},
    {"kind": "tensor", "name": "query", "layer": 1, "head": 0},
    {"kind": "tensor", "name": "value", "layer": 0, "head": 1},
    {"kind": "tensor", "name": "head_output", "layer": 1, "head": 1},
    *({"kind": "tensor", "name": name, "layer": 1} for name in LAYER),
    *({"kind": "tensor", "name": name} for name in EMBEDDINGS),
    {"kind": "tensor", "name": "ffn_activation", "layer": 0, "rows": [1, 2]},
    {"kind": "tensor", "name": "position_table", "rows": [2, 4], "cols": [0, 5]},
    {"kind": "tensor", "name": "sinusoid", "rows": [0, 3]},
    {"kind": "residuals"},
    {"kind": "layer_change"},
    {"kind": "hidden_path"},
    {"kind": "architecture"},
    {"kind": "predictions", "mode": "as_is", "top_k": 3},
    {"kind": "predictions", "mode": "masked", "top_k": 4},
    {"kind": "softmax", "position": 1},
    {"kind": "softmax", "position": 2, "mode": "masked", "token_ids": [7, 3]},
    {"kind": "next_sentence"},
    {"kind": "intact"},
    {"kind": "language"},
    {"kind": "specialization"},
    {"kind": "roles"},
    {"kind": "flow", "token": 1},
    *({"kind": "mixing", "quantity": kind, "layer": 1} for kind in MIXINGS),
    {"kind": "mixing", "quantity": "norms", "layer": 1, "head": 0},
    {"kind": "mixing", "quantity": "mixing", "layer": 0, "rows": [1, 3]},
    *({"kind": "mixing_rollout", "quantity": kind, "layer": 1} for kind in MIXINGS),
    {"kind": "mixing_rollout", "quantity": "alti", "layer": 0, "rows": [0, 2]},
    {"kind": "mixing_pair", "layer": 0, "query": 2, "key": 1},
    {"kind": "mixing_pair", "layer": 1, "query": 1, "key": 1},
    {"kind": "value_lengths", "layer": 0},
    {"kind": "sentences", "aggregation": "mass"},
    {"kind": "sentences", "aggregation": "mass", "layer": 1},
    {"kind": "sentences", "aggregation": "mass", "layer": 1, "head": 0},
    {"kind": "sentences", "aggregation": "max"},
    {"kind": "sentences", "aggregation": "max", "layer": 0},
    {"kind": "sentences", "aggregation": "max", "head": 1},
    {"kind": "drill", "aggregation": "mass", "a": 0, "b": 0},
    {"kind": "drill", "aggregation": "max", "a": 1, "b": 0, "layer": 1},
    *({"kind": "qk", "layer": 1, "head": 1, "query": 2, "key": 1, "against": against}
      for against in ("others", "all", "rivals", 0, 1)),
    {"kind": "qk", "layer": 0, "head": 0, "query": 1, "key": 2, "against": "others", "by": "tokens"},
    {"kind": "qk", "layer": 1, "head": "mean", "query": 1, "key": 2, "against": "others"},
)  # fmt: skip


def written(array: Any) -> dict[str, Any]:
    return {"shape": list(array.shape), "data": numbers(array)}


def answered(analysis: aw.Analysis, request: dict[str, Any]) -> dict[str, Any]:
    said, buffers = answer(analysis, request)
    if not said["ok"]:
        return {"request": request, "error": said["error"], "hint": said["hint"]}
    arrays = {
        head["name"]: written(np.frombuffer(data, dtype=head["dtype"]).reshape(head["shape"]))
        for head, data in zip(said["arrays"], buffers, strict=True)
    }
    data = said["data"]
    if request["kind"] == "qk":
        # A page has no other way, and runs nothing without a token.
        data["others"] = ["tokens"]
        data["notes"][0] = data["notes"][0].replace(": 'run without each' shows that", "")
    elif "notes" in data:
        data["notes"] = [NO_TAGS]
    reasons = data.get("reasons", {})
    for key in {"syntax", "semantics", "entities"} & set(reasons):
        reasons[key] = NO_TAGS
    return {"request": request, "data": data, "arrays": arrays}


def painted(run: aw.Analysis) -> dict[str, Any]:
    """The first paint, but for what the page decides itself."""
    meta, arrays = unpack(first_paint(run, 0, 0))
    kept = ("version", "model", "text", "text_pair", "truncated", "tokens", "masked", "heads_off",
            "unknown", "profile", "metrics", "thumb", "predictions")  # fmt: skip
    meta["model"]["revision"] = None
    if meta["predictions"] is not None:
        del meta["predictions"]["opens"]  # the page's engine opens as pages do
    del arrays["weights"]
    return {
        "meta": {key: meta[key] for key in kept},
        "arrays": {key: written(array) for key, array in arrays.items()},
    }


@contextmanager
def without_nupunkt() -> Generator[None]:
    """Full stops divide sentences, as they do in a page."""
    modules = [
        vars(import_module(f"attn_widget.language.{one}")) for one in ("annotate", "segment")
    ]
    before = [module["has_nupunkt"] for module in modules]
    for module in modules:
        module["has_nupunkt"] = lambda: False
    try:
        yield
    finally:
        for module, had in zip(modules, before, strict=True):
            module["has_nupunkt"] = had


def golden() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name, without_nupunkt():
        folder = Path(name) / "tiny"
        folder.mkdir()
        write_model(folder)
        for text, pair, masked, off in TEXTS:
            run = aw.analyze(text, pair, model=str(folder), tagger=None, progress=False)
            run = run.mask(masked) if masked else run
            run = run.ablate(off) if off else run
            slices = [answered(run, request) for request in REQUESTS]
            found.append({**painted(run), "slices": slices})
    return found


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), ensure_ascii=True, separators=(",", ":")) + "\n")
