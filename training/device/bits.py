"""Bits a byte of held-out documents, by causal models of any tokenizer.

Run: ``python -m training.device.bits MODEL smollm2 --data DATA --documents 30 --write bits.json``, where ``DATA`` is what `training.device.text`
wrote. Every document is read by itself, from its first byte on, after the token that begins a document.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy

import attn_widget as aw
from training.device.decoder import ROW
from training.device.text import START


def chosen(file: Path, count: int, tokenizers: list[Any]) -> list[str]:
    """``count`` documents from all over ``file``, that every tokenizer gives at most 511 tokens."""
    texts = [*map(json.loads, file.read_text(encoding="utf-8").splitlines())]
    fitting = [
        text
        for text in texts[:: max(1, len(texts) // (2 * count))]
        if all(len(tokens_of(tokenizer, text)) <= ROW for tokenizer in tokenizers)
    ]
    return fitting[:: max(1, len(fitting) // count)][:count]


def tokens_of(tokenizer: Any, text: str) -> list[int]:
    start = tokenizer.convert_tokens_to_ids(START)
    return [start, *tokenizer(text, add_special_tokens=False)["input_ids"]]


@torch.inference_mode()
def measure(network: Any, tokenizer: Any, texts: list[str]) -> dict[str, float]:
    """Bits a byte; perplexity and share of first choices a token, which models of other tokens do not share."""
    nats, first, n_tokens = 0.0, 0, 0
    for text in texts:
        ids = torch.tensor([tokens_of(tokenizer, text)])
        logits = network(input_ids=ids).logits[0, :-1].double()
        nats += float(cross_entropy(logits, ids[0, 1:], reduction="sum"))
        first += int((logits.argmax(-1) == ids[0, 1:]).sum())
        n_tokens += ids.shape[1] - 1
    n_bytes = sum(len(text.encode()) for text in texts)
    return {
        "documents": len(texts),
        "bytes": n_bytes,
        "tokens": n_tokens,
        "bits_a_byte": nats / math.log(2) / n_bytes,
        "perplexity": math.exp(nats / n_tokens),
        "top1": first / n_tokens,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", nargs="+", help="what attn_widget.load opens")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=30, help="of each held-out text")
    parser.add_argument("--write", type=Path, help="all figures, as JSON")
    arguments = parser.parse_args()
    encoders = {name: aw.load(name, progress=False) for name in arguments.models}
    tokenizers = [encoder.tokenizer for encoder in encoders.values()]
    figures: dict[str, dict[str, dict[str, float]]] = {name: {} for name in encoders}
    for file in sorted(arguments.data.glob("held-*.txt")):
        texts = chosen(file, arguments.documents, tokenizers)
        text = file.stem.removeprefix("held-")
        for name, encoder in encoders.items():
            begun = time.monotonic()
            found = figures[name][text] = measure(encoder.network, encoder.tokenizer, texts)
            print(text, name, found, f"{time.monotonic() - begun:.0f} s", flush=True)
    if arguments.write is not None:
        arguments.write.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
