"""Write ``saved.json``: chunks of saved pages as Python packs them, and what a reader must get out of them.

Run ``python -m tests.golden.make_saved`` after a change of the codes, and look at the difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.page.compress import deflate, inflate
from attn_widget.page.encodings.chunks import layer_arrays
from attn_widget.page.encodings.codec import (
    WORST_SCORE,
    EncodedFactors,
    EncodedWeights,
    decode_scores,
    encode_weights,
)
from attn_widget.page.encodings.factors import encode_factors
from attn_widget.protocol.pack import pack
from tests.golden.make import analysis

PATH = Path(__file__).with_name("saved.json")
LAYER, HEADS = 1, [0, 1]  # the causal layer


def golden() -> list[dict[str, Any]]:
    """One entry a code: the compressed chunk, and weights (and scores) of both heads."""
    run = analysis()
    allowed = run.trace.allowed(LAYER)
    coded: dict[str, list[EncodedWeights | EncodedFactors]] = {
        "weights": [encode_weights(run.attention(LAYER, head)) for head in HEADS],
        "fine": [encode_weights(run.attention(LAYER, head), 65535) for head in HEADS],
        "qk": [  # as of a long text: pages of short ones are in page.json
            encode_factors(
                run.queries(LAYER, head),
                run.keys(LAYER, head),
                run.trace.scaling(LAYER),
                scores=run.scores(LAYER, head),
                weights=run.attention(LAYER, head),
                bias=run.trace.bias(LAYER, head),
                worst_score=WORST_SCORE,
            )
            for head in HEADS
        ],
    }
    entries: list[dict[str, Any]] = []
    for name, heads in coded.items():
        entry: dict[str, Any] = {
            "name": name,
            "n": run.n_tokens,
            "chunk": deflate(pack({}, layer_arrays(run, LAYER, HEADS, heads))).decode(),
        }
        for head, one in zip(HEADS, heads, strict=True):
            if isinstance(one, EncodedWeights):
                entry.setdefault("weights", []).append(one.shown.ravel().tolist())
            else:
                bias = run.trace.bias(LAYER, head)
                assert bias is not None
                scores = np.where(allowed, decode_scores(one, bias), -np.inf).ravel().tolist()
                plain = [None if score == -np.inf else score for score in scores]
                entry.setdefault("scores", []).append(plain)
        entries.append(entry)
    return entries


def same_bytes(text: str) -> bytes:
    """A chunk without its compression, which may differ between versions of zlib."""
    return inflate(text)


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), indent=1) + "\n")
    print(f"wrote {PATH.name}, {PATH.stat().st_size:,} bytes")
