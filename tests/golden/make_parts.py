"""Write ``parts.json``: the packs of an encoder-decoder's three parts, and what the kernel answers about each.

Run ``python -m tests.golden.make_parts`` after a change of the protocol, and look at the difference.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import attn_widget as aw
from attn_widget.analysis import Analysis
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from tests.unit.tiny_models import build

PATH = Path(__file__).with_name("parts.json")
SOURCE, OUTPUT = "The cat sat on the mat.", "A brown fox"  # 9 and, with the start tokens, 5 tokens
REQUESTS: list[dict[str, Any]] = [
    {"kind": "weights", "layer": 1, "head": 1},
    {"kind": "weights", "layer": 0, "head": "mean", "rows": [1, 3]},
    {"kind": "scores", "layer": 1, "head": 1},
    {"kind": "qkv", "layer": 1, "head": 1},
    {"kind": "qkv", "layer": 1, "head": 1, "rows": [0, 2]},
    {"kind": "metrics", "tau": "uniform"},
    {"kind": "layer_change"},
    {"kind": "specialization"},
    {"kind": "patterns"},
    {"kind": "rollout", "layer": 1},
    {"kind": "flow", "token": 4},
    {"kind": "predictions", "mode": "next", "top_k": 3},
    {"kind": "language"},
    {"kind": "sentences", "aggregation": "max"},
    {"kind": "alignment"},
    {"kind": "written_shares"},
    {"kind": "contributions", "target": {"position": 3, "token": 20}, "method": "decomposition"},
    {"kind": "head_effects", "target": {"position": 3, "token": 20}},
    {"kind": "mixing", "quantity": "value_zeroing", "layer": 1},
]


def analysis() -> Analysis:
    """A random BART with 2 layers of 4 heads in its encoder and 3 of 2 in its decoder."""
    return aw.analyze(SOURCE, output=OUTPUT, model=build("bart"), tagger=None, progress=False)


def golden() -> dict[str, Any]:
    """By part, the pack and the replies, with bytes as base64."""

    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    run, parts = analysis(), dict[str, Any]()
    for part in run.model.parts:
        one = run.of(part)
        slices: list[dict[str, Any]] = []
        for request in REQUESTS:
            reply, buffers = answer(one, request)
            slices.append(
                {"request": request, "reply": reply, "buffers": [encoded(b) for b in buffers]}
            )
        paint = first_paint(one, 1, 1, live=True)
        parts[part] = {"first_paint": encoded(paint), "slices": slices}
    return parts


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), indent=1, ensure_ascii=True) + "\n")
    print(f"wrote {PATH.name}, {PATH.stat().st_size:,} bytes")
