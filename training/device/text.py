"""Text for a decoder: documents, a byte-level BPE tokenizer of 8,192 entries, and tokens as uint16.

Run: ``python -m training.device.text --out DATA --apart --set wikipedia train-*.txt.xz --set books books.txt.xz --held wikipedia validation.txt.xz``.
It writes ``DATA/tokenizer.json``, trained on a tenth of the text, ``DATA/NAME.tokens``, the documents of a set one after the other, and
``DATA/held-NAME.txt``, a document a line as JSON. Of a set without ``--held`` 2% of the lines are kept for it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from training.apart import Apart, evaluation_texts
from training.prepare import hold_aside, keep_apart, read_paragraphs

VOCABULARY = 8192
START = "<|endoftext|>"  # id 0: begins every document
DOCUMENT = 1500  # characters at most, but for a longer line
SHORTEST = 2  # characters of a line
EVERY = 10  # of the documents one is read by the tokenizer's training


def documents(lines: Iterable[str]) -> Iterator[str]:
    """Lines that follow each other, as documents of at most 1,500 characters each; a longer line is one by itself.

    >>> [len(text) for text in documents(["a" * 700] * 3 + ["b" * 2000])]
    [1401, 700, 2000]
    """
    kept: list[str] = []
    size = 0
    for line in lines:
        if kept and size + len(line) > DOCUMENT:
            yield "\n".join(kept)
            kept, size = [], 0
        kept.append(line)
        size += len(line) + 1
    if kept:
        yield "\n".join(kept)


def train_tokenizer(texts: Iterable[str], vocabulary: int = VOCABULARY) -> Tokenizer:
    """GPT-2's kind of tokenizer; what it encodes begins with ``<|endoftext|>``, as each document does in training."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[START],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", pair=f"{START} $A $B", special_tokens=[(START, 0)]
    )
    return tokenizer


def encode(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[np.ndarray]:
    """The tokens of some documents at a time; uint16 arrays."""
    texts = iter(texts)
    while some := list(itertools.islice(texts, 2000)):
        ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(some)]
        yield np.fromiter(itertools.chain.from_iterable(ids), np.uint16)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", nargs="+", action="append", required=True, metavar="NAME FILE")
    parser.add_argument("--held", nargs="+", action="append", default=[], metavar="NAME FILE")
    parser.add_argument("--apart", action="store_true", help="leave out what evaluations use")
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY, help="entries at most")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    apart = Apart(evaluation_texts()) if arguments.apart else None
    held = {name: read_paragraphs([*map(Path, files)], SHORTEST) for name, *files in arguments.held}
    sets: dict[str, list[str]] = {}
    for name, *files in arguments.set:
        lines = read_paragraphs([*map(Path, files)], SHORTEST)
        if apart is not None:
            lines = keep_apart(lines, apart)
        aside = out / f"{name}.aside"
        if name not in held:
            lines = hold_aside(lines, aside)
            held[name] = read_paragraphs([aside], SHORTEST)  # once the set is read
        sets[name] = list(documents(lines))
        print(f"{name}: {len(sets[name]):,} documents", flush=True)
    for name, lines in held.items():
        with (out / f"held-{name}.txt").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(text) + "\n" for text in documents(lines))
    every = [text for texts in sets.values() for text in texts]
    tokenizer = train_tokenizer(every[::EVERY], arguments.vocabulary)
    tokenizer.save(str(out / "tokenizer.json"))
    print(f"tokenizer: {time.monotonic() - begun:.0f} s", flush=True)
    for name, texts in sets.items():
        tokens = np.concatenate(list(encode(tokenizer, texts)))
        (out / f"{name}.tokens").write_bytes(tokens.tobytes())
        n_bytes = sum(len(text.encode()) for text in texts)
        print(f"{name}: {len(tokens):,} tokens, {n_bytes / len(tokens):.2f} bytes each", flush=True)
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
