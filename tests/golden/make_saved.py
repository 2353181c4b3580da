"""Write ``saved.json``: chunks of saved pages as Python packs them, and what a reader must get out of them.

Run ``python -m tests.golden.make_saved`` after a change of the codes, and look at the difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attn_widget.analysis import Analysis
from attn_widget.model.tokens import Token
from attn_widget.page.compress import deflate, inflate
from attn_widget.page.encodings.chunks import encode_heads, layer_arrays
from attn_widget.page.encodings.codec import (
    MAX_SCORE_ERROR,
    EncodedFactors,
    EncodedWeights,
    decode_scores,
    encode_weights,
)
from attn_widget.page.encodings.factors import encode_factors
from attn_widget.protocol.pack import pack
from attn_widget.trace.qkv import LayerQKV, QKVTrace
from tests.golden.make import analysis

PATH = Path(__file__).with_name("saved.json")
LAYER, HEADS = 1, [0, 1]  # the causal layer
SCORE_ERROR = 0.00005  # less than js/tests/decode.test.ts allows


def qk(run: Any) -> list[Any]:
    """As of a long text: pages of short ones are in page.json."""
    bias = [run.trace.bias(LAYER, head) for head in HEADS]

    def stack(figure: Any) -> Any:
        return np.stack([figure(LAYER, head) for head in HEADS])

    return encode_factors(
        stack(run.model.queries),
        stack(run.model.keys),
        run.trace.scaling(LAYER),
        scores=stack(run.scores),
        weights=stack(run.attention),
        bias=None if bias[0] is None else np.stack(bias),
        max_score_error=MAX_SCORE_ERROR,
        scores_up_to=0,
    )


def golden() -> list[dict[str, Any]]:
    """One entry a code: the compressed chunk, and weights (and scores) of both heads."""
    run = analysis()
    allowed = run.trace.allowed(LAYER)
    encoded: dict[str, list[EncodedWeights | EncodedFactors]] = {
        "weights": [encode_weights(run.attention(LAYER, head)) for head in HEADS],
        "fine": [encode_weights(run.attention(LAYER, head), 65535) for head in HEADS],
        "qk": qk(run),
    }
    entries: list[dict[str, Any]] = []
    for name, heads in encoded.items():
        entry: dict[str, Any] = {
            "name": name,
            "n": run.trace.n_tokens,
            "chunk": deflate(pack({}, layer_arrays(run, LAYER, HEADS, heads))).decode(),
        }
        for head, one in zip(HEADS, heads, strict=True):
            if isinstance(one, EncodedWeights):
                entry.setdefault("weights", []).append(one.decoded.ravel().tolist())
            else:
                bias = run.trace.bias(LAYER, head)
                assert bias is not None
                scores = np.where(allowed, decode_scores(one, bias), -np.inf).ravel().tolist()
                plain = [None if score == -np.inf else score for score in scores]
                entry.setdefault("scores", []).append(plain)
        entries.append(entry)
    return [*entries, corrected()]


def corrected() -> dict[str, Any]:
    """Two heads that share their keys, causal, of more tokens than twice the numbers of a head; scores are the kernel's."""
    n, d = 12, 2
    whole = np.arange(3 * n * d, dtype=np.float32).reshape(3, n, d)
    q, k = torch.from_numpy(whole[:2] * 5 % 7 - 3), torch.from_numpy(whole[2:] * 3 % 11 - 5)
    causal = torch.tril(torch.ones(n, n)).bool()[None]
    tokens = [Token(f"t{i}", i, i, i + 1, f"t{i}", special=False) for i in range(n)]
    run = Analysis(QKVTrace(tokens, [LayerQKV(q, k, k, 0.5, allowed=causal)]), tagger=None)
    heads = encode_heads(run, 0, HEADS, ("qk", SCORE_ERROR))
    scores = [run.scores(0, head).ravel().tolist() for head in HEADS]
    return {
        "name": "corrected",
        "n": n,
        "chunk": deflate(pack({}, layer_arrays(run, 0, HEADS, heads))).decode(),
        "weights": [one.decoded.ravel().tolist() for one in heads],
        "scores": [[None if score == -np.inf else score for score in one] for one in scores],
    }


def same_bytes(text: str) -> bytes:
    """A chunk without its compression, which may differ between versions of zlib."""
    return inflate(text)


if __name__ == "__main__":
    PATH.write_text(json.dumps(golden(), indent=1) + "\n")
    print(f"wrote {PATH.name}, {PATH.stat().st_size:,} bytes")
