"""Cost of a profile per token, relative to a plain batched forward pass of the same texts.

Run: ``python -m benchmarks.corpus [texts]`` (the embedded model, without a tagger). Lengths are drawn from 8 to
128 tokens. The plain passes read the blocks that the profile reads: the whole model, with the heads above the
encoder, and the encoder alone. Each is the least of three rounds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import torch

import attn_widget as aw
from attn_widget.features.corpus.identity import text_digest
from attn_widget.features.corpus.reading.blocks import blocks_of
from attn_widget.model.loading import load

WORDS = ("the", "dog", "saw", "a", "cat", "in", "paris", "and", "ran", "home", "for", "two", "days")
ROUNDS = 3


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    n_texts = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    rng = np.random.default_rng(0)
    encoder = load(None)
    texts = [" ".join(rng.choice(WORDS, size)) for size in rng.integers(6, 127, n_texts)]
    encodings = [encoder.encode(text) for text in texts]
    lengths = [encoding.n_tokens for encoding in encodings]
    blocks = [
        torch.cat([encodings[k].inputs["input_ids"] for k in block])
        for block in blocks_of(lengths, [text_digest(text) for text in texts])
    ]

    def plain(model: torch.nn.Module) -> None:
        with torch.inference_mode():
            for ids in blocks:
                model(input_ids=ids)

    work = {
        "profile": lambda: aw.profile(texts, tagger=None, progress=False),
        "plain pass, whole model": lambda: plain(encoder.network),
        "plain pass, encoder alone": lambda: plain(encoder.network.base_model),
    }
    aw.profile(texts[:5], tagger=None, progress=False)
    taken = {name: min(seconds(item) for _ in range(ROUNDS)) for name, item in work.items()}
    n_tokens = sum(lengths)
    print(f"{n_texts} texts, {n_tokens} tokens, {len(blocks)} blocks")
    for name, spent in taken.items():
        ratio = taken["profile"] / spent
        print(
            f"{name}: {spent / n_tokens * 1e6:,.0f} s per million tokens; profile is {ratio:.2f} x"
        )


if __name__ == "__main__":
    main()
