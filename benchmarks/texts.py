"""Sentences for the benchmarks of corpora: from a file, or from Python's own documentation; and a tiny model."""

from __future__ import annotations

import importlib
import inspect
import lzma
import pkgutil
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

SHORTEST, LONGEST = 20, 300  # characters
WORDS = ("the", "dog", "saw", "a", "cat", "in", "paris", "and", "ran", "home", "for", "two", "days")


def sentences(path: str | None = None, n: int | None = None, longest: int = LONGEST) -> list[str]:
    """Distinct sentences of a text file (``.xz`` is unpacked), or of the documentation that comes with Python.

    Parameters
    ----------
    path : str, optional
    n : int, optional
        How many; all of them unless given.
    longest : int
        In characters.
    """
    blocks = documentation() if path is None else _lines(path)
    distinct: dict[str, None] = {}
    for block in blocks:
        for one in re.split(r"(?<=[.!?])\s+", " ".join(block.split())):
            if SHORTEST < len(one) <= longest:
                distinct[one] = None
    if n is not None and len(distinct) < n:
        sys.exit(
            f"Only {len(distinct)} sentences, and {n} are asked for: give a file of more text."
        )
    return list(distinct)[:n]


def _lines(path: str) -> list[str]:
    data = Path(path).read_bytes()
    return (lzma.decompress(data) if path.endswith(".xz") else data).decode().splitlines()


def documentation() -> list[str]:
    """Python's language reference as `help` has it, and the documentation strings of its library."""
    from pydoc_data.topics import topics

    blocks = [block for text in topics.values() for block in text.split("\n\n")]
    for module in sorted(sys.stdlib_module_names - {"antigravity", "this", "idlelib"}):
        if module.startswith("_"):
            continue
        names = [module]
        try:
            loaded = importlib.import_module(module)
            names += [
                f"{module}.{m.name}" for m in pkgutil.iter_modules(getattr(loaded, "__path__", ()))
            ]
        except Exception:  # of another system
            continue
        for name in names:
            if name.rpartition(".")[2].startswith(("_", "test", "idle")):
                continue
            blocks += _strings(name)
    return blocks


def _strings(name: str) -> list[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            things = list(vars(importlib.import_module(name)).values())
    except BaseException:  # a module that needs a screen, or ends the program
        return []
    for thing in list(things):
        if inspect.isclass(thing) and thing.__module__ == name:
            things += vars(thing).values()
    docs = (getattr(thing, "__doc__", None) for thing in things)
    return [block for doc in docs if isinstance(doc, str) for block in doc.split("\n\n")]


def made_up(n: int, seed: int = 0) -> list[str]:
    """Sentences of 2 to 8 words drawn alike, with a number so that nearly all are distinct."""
    rng = np.random.default_rng(seed)
    return [
        f"{' '.join(rng.choice(WORDS, size))} {k}." for k, size in enumerate(rng.integers(2, 9, n))
    ]


def tiny(folder: str) -> str:
    """A random BERT of 2 layers and 4 heads with the embedded model's tokenizer, saved in a folder."""
    import torch
    import transformers as tf

    import attn_widget as aw

    tokenizer: Any = aw.load(None).tokenizer
    torch.manual_seed(0)
    config = tf.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=128, initializer_range=0.3,
    )  # fmt: skip
    tf.BertForMaskedLM(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
