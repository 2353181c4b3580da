"""Write ``golden.json``: what the kernel sends, byte for byte, for a run that any machine computes alike.

Run ``python -m tests.golden.make`` after a change of the protocol, and look at the difference.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.model.tokens import Token
from attn_widget.protocol.answer import answer
from attn_widget.protocol.initial_payload import first_paint
from attn_widget.trace import WeightsTrace

PATH = Path(__file__).with_name("golden.json")
TEXT = "naïve 👩‍🚀 </script>"
SURFACES = ["[CLS]", "naïve", "👩‍🚀", "</script>", "[SEP]"]
REQUESTS: list[dict[str, Any]] = [
    {"kind": "weights", "layer": 1, "head": 0},
    {"kind": "weights", "layer": 1, "head": "mean", "rows": [1, 3]},
    {"kind": "scores", "layer": 0, "head": 1},
    {"kind": "qkv", "layer": 0, "head": 1, "rows": [0, 2]},
    {"kind": "metrics", "tau": "uniform"},
    {"kind": "weights", "layer": 7, "head": 0},
    {"kind": "softmax", "position": 0},
    {"kind": "nothing"},
    {"kind": "rollout", "layer": 1},
    {"kind": "rollout", "layer": 1, "rows": [4, 5]},
    {"kind": "layer_change"},
    {"kind": "flow", "token": 4},
    {"kind": "sentences", "aggregation": "mass"},
    {"kind": "sentences", "aggregation": "max", "layer": 1, "head": 0},
    {"kind": "drill", "aggregation": "max", "a": 0, "b": 0},
    {"kind": "specialization"},
    {"kind": "first_token", "head": "mean"},
    {"kind": "tensor", "name": "value", "layer": 1, "head": 1, "rows": [0, 2], "cols": [1, 3]},
    {"kind": "architecture"},
]


def analysis() -> Analysis:
    """Two layers of two heads over five tokens; causal in layer 1; every weight a sum of powers of two."""
    n, layers, heads, width = len(SURFACES), 2, 2, 4
    q = np.arange(layers * heads * n * width, dtype=np.float32).reshape(layers, heads, n, width) % 7
    k = (q * 3) % 5
    causal = np.tril(np.ones((n, n), dtype=bool))
    rows = [0.5, 0.25, 0.125, 0.0625, 0.0625]
    full = np.array([[np.roll(rows, i + h) for i in range(n)] for h in range(heads)], np.float32)
    triangle = np.zeros((heads, n, n), dtype=np.float32)
    for i in range(n):
        triangle[:, i, : i + 1] = [*rows[:i], 2.0**-i]
    tokens: list[Token] = []
    at = 0
    for index, surface in enumerate(SURFACES):
        special = surface.startswith("[")
        start = 0 if special else TEXT.index(surface, at)
        end = 0 if special else start + len(surface)
        at = max(at, end)
        tokens.append(Token(surface, 100 + index, start, end, surface, special=special))
    masked = np.where(causal, np.log(np.where(causal, triangle, 1)), -np.inf).astype(np.float32)
    trace = WeightsTrace(
        tokens,
        [full, triangle],
        scores=[np.log(full), masked],
        queries=list(q),
        keys=list(k),
        values=list(q),
        scaling=[0.5, 0.5],
        allowed=[None, causal],
    )
    return Analysis(trace, tagger=None, text=TEXT)


def golden() -> dict[str, Any]:
    """The pack and the replies, with bytes as base64."""

    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    run = analysis()
    slices = []
    for request in REQUESTS:
        reply, buffers = answer(run, request)
        slices.append(
            {"request": request, "reply": reply, "buffers": [encoded(b) for b in buffers]}
        )
    return {"first_paint": encoded(first_paint(run, 0, 1)), "slices": slices}


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), indent=1, ensure_ascii=True) + "\n")
    print(f"wrote {PATH.name}, {PATH.stat().st_size:,} bytes")
