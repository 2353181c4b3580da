"""Surprisal of words against a plain batched pass that gives the logits of every position.

Run: ``python -m benchmarks.surprisal`` (SmolLM2; ``--texts 1000 --model smollm2``). Both read the same blocks of texts in
turn, so what else the machine does weighs on both.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

import attn_widget as aw
from attn_widget.features.corpus.reading.batch import one_thread
from attn_widget.features.corpus.reading.blocks import blocks_of
from attn_widget.features.surprisal.read import HEAD_ROWS, Reader
from attn_widget.trace.forward import inference_mode
from benchmarks.texts import sentences


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--model", default="smollm2")
    options = parser.parse_args()
    texts = sentences(n=options.texts, longest=120)
    reader = Reader(aw.load(options.model, progress=False), True)
    encoder = reader.encoder
    head = encoder.family.lm
    assert head is not None
    prepared = [reader.prepare(text) for text in texts]
    blocks = blocks_of([len(text.ids) for text in prepared], list(range(len(texts))))
    plain = ours = 0.0
    with one_thread(), inference_mode(encoder), torch.no_grad():
        for number, block in enumerate(blocks):
            some = [prepared[k] for k in block]
            ids = torch.from_numpy(np.stack([text.ids for text in some]))

            def logits(ids: torch.Tensor = ids) -> None:
                hidden = encoder.network.base_model(
                    input_ids=ids, attention_mask=torch.ones_like(ids)
                )[0].flatten(0, 1)
                for first in range(0, len(hidden), HEAD_ROWS):
                    head(encoder.network, hidden[first : first + HEAD_ROWS])

            def words(some: list = some) -> None:  # pyright: ignore[reportMissingTypeArgument]
                reader._block(some)  # pyright: ignore[reportPrivateUsage]

            times: dict[str, float] = {}
            order = (("plain", logits), ("ours", words))
            for name, work in order if number % 2 else order[::-1]:
                began = time.perf_counter()
                work()
                times[name] = time.perf_counter() - began
            plain, ours = plain + times["plain"], ours + times["ours"]
    tokens = sum(len(text.ids) for text in prepared)
    print(f"| {encoder.name} | {len(texts):,} sentences, {tokens:,} tokens |")
    print("|---|--:|")
    print(f"| logits alone | {plain:.1f} s |")
    print(f"| surprisal of words | {ours:.1f} s |")
    print(f"| ratio | {ours / plain:.3f} |")


if __name__ == "__main__":
    main()
