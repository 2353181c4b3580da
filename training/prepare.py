"""Corpus to packed token ids: text files, one paragraph a line, to memory-mapped arrays.

Writes into the output folder, for a split called NAME:

- ``NAME.tokens``      uint16, the word pieces of all sentences, no special tokens
- ``NAME.sentences``   int64, where each sentence begins in the tokens (one more entry at the end)
- ``NAME.paragraphs``  int64, where each paragraph begins among the sentences (one more at the end)
- ``NAME.names``       uint16, the entries of the vocabulary that are proper names (`training.names`)

Run: ``python -m training.prepare --out RUN/data --split train shard-0.txt.xz shard-1.txt.xz``. ``--apart`` drops what
our evaluations use; ``--held FILE`` writes 2% of the lines into a text file instead, for validation.
"""

from __future__ import annotations

import itertools
import lzma
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from nupunkt import sent_tokenize
from tokenizers import Tokenizer

from training.apart import Apart, evaluation_texts
from training.model import base_folder
from training.names import NameCounter
from training.settings import build_parser, read_settings

HELD_BLOCK, HELD_EVERY = 50, 2_500  # lines; a block stands in one place of one book


def read_paragraphs(files: list[Path], min_chars: int) -> Iterator[str]:
    """The lines of plain or xz-compressed text files that are long enough to be prose."""
    for file in files:
        opener = lzma.open if file.suffix == ".xz" else open
        with opener(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                if len(line) >= min_chars:
                    yield line.strip()


def hold_aside(paragraphs: Iterator[str], file: Path) -> Iterator[str]:
    """The paragraphs but for 2%, which go into ``file``: 50 in a row of every 2,500, from the middle on."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as held:
        for number, paragraph in enumerate(paragraphs):
            if 0 <= number % HELD_EVERY - HELD_EVERY // 2 < HELD_BLOCK:
                held.write(paragraph + "\n")
            else:
                yield paragraph


def keep_apart(paragraphs: Iterator[str], apart: Apart) -> Iterator[str]:
    """The paragraphs that hold no text of an evaluation; tells at the end how many did."""
    dropped = 0
    for paragraph in paragraphs:
        if apart.holds(paragraph):
            dropped += 1
        else:
            yield paragraph
    print(f"{dropped:,} paragraphs hold a text of an evaluation and are left out", flush=True)


def load_tokenizer(package: str) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(base_folder(package) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def pack(paragraphs: Iterator[str], tokenizer: Tokenizer, out: Path, split: str) -> dict[str, int]:
    """Tokenize sentence by sentence and write the four arrays of ``split`` into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    sentence_starts, paragraph_starts = [0], [0]
    names = NameCounter()
    with (out / f"{split}.tokens").open("wb") as sink:
        while chunk := list(itertools.islice(paragraphs, 2000)):
            texts: list[str] = []
            names.add(chunk)
            for paragraph in chunk:
                texts += [str(sentence) for sentence in sent_tokenize(paragraph)]
                paragraph_starts.append(paragraph_starts[0] + len(sentence_starts) - 1 + len(texts))
            encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
            ids = [np.asarray(e.ids, dtype=np.uint16) for e in encoded]
            sink.write(np.concatenate(ids).tobytes())
            ends = sentence_starts[-1] + np.cumsum([len(i) for i in ids])
            sentence_starts.extend(ends.tolist())
    np.asarray(sentence_starts, dtype=np.int64).tofile(out / f"{split}.sentences")
    np.asarray(paragraph_starts, dtype=np.int64).tofile(out / f"{split}.paragraphs")
    names.ids(tokenizer.get_vocab()).tofile(out / f"{split}.names")
    return {
        "tokens": sentence_starts[-1],
        "sentences": len(sentence_starts) - 1,
        "paragraphs": len(paragraph_starts) - 1,
    }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--split", default="train")
    parser.add_argument("--apart", action="store_true", help="leave out what evaluations use")
    parser.add_argument("--held", type=Path, metavar="FILE", help="keep 2% of the lines for it")
    arguments = parser.parse_args()
    settings = read_settings(arguments.config, arguments.set)
    started = time.perf_counter()
    paragraphs = read_paragraphs(arguments.files, settings["prepare"]["min_chars"])
    if arguments.apart:
        paragraphs = keep_apart(paragraphs, Apart(evaluation_texts()))
    if arguments.held is not None:
        paragraphs = hold_aside(paragraphs, arguments.held)
    tokenizer = load_tokenizer(settings["model"]["base"])
    counts = pack(paragraphs, tokenizer, arguments.out, arguments.split)
    print(arguments.split, counts, f"{time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
