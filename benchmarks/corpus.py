"""Cost of a profile per token, relative to a plain batched forward pass.

Run: ``python -m benchmarks.corpus`` (the embedded model, without a tagger). The plain pass reads batches of
texts of one length, made of the same number of tokens.
"""

from __future__ import annotations

import time

import torch

import attn_widget as aw
from attn_widget.model.loading import load

BATCH = 32


def main() -> None:
    encoder = load(None)
    texts = [f"The dog number {k} saw the cat in Paris and ran home." for k in range(200)]
    aw.profile(texts[:5], tagger=None, progress=False)
    start = time.perf_counter()
    p = aw.profile(texts, tagger=None, progress=False)
    profiled = time.perf_counter() - start
    n_tokens, length = int(p.n_tokens.sum()), int(p.n_tokens.max())
    ids = torch.full((BATCH, length), 5)
    n_batches = max(1, round(n_tokens / ids.numel()))
    with torch.inference_mode():
        encoder.network(input_ids=ids)
        start = time.perf_counter()
        for _ in range(n_batches):
            encoder.network(input_ids=ids)
        plain = (time.perf_counter() - start) / (n_batches * ids.numel())
    cost = profiled / n_tokens
    print(f"profile: {cost * 1e6:,.0f} s per million tokens ({n_tokens} tokens, {length} a text)")
    print(f"plain batched pass: {plain * 1e6:,.0f} s per million tokens; ratio {cost / plain:.1f}")


if __name__ == "__main__":
    main()
