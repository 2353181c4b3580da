"""A small RoBERTa made on the spot, for tests and examples: ``python -m training.roberta FOLDER``.

A byte-level BPE tokenizer and a masked language model of RoBERTa's architecture (Liu et al. 2019), both
trained on the prose of the Python Language Reference, which every Python carries as
`pydoc_data.topics`. It takes half a minute on two cores, needs no network, and the same seed, text and
versions give the same weights. It knows little English, but its parts are all real.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import time
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import (
    DataCollatorForLanguageModeling,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaTokenizer,
)

SEED = 0
STEPS = 300
BATCH = 16  # sequences
LENGTH = 64  # tokens of a training sequence, special ones included
PEAK_RATE = 3e-3
WARM_UP = 40  # steps
VOCABULARY = 2000
MASK_RATE = 0.15
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]  # ids 0 to 4, as in roberta-base
SHORTEST = 80  # characters of a paragraph
PROSE = 0.9  # share of letters and spaces from which on a paragraph is prose, not a listing
SIZES: dict[str, Any] = {
    "hidden_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 192,
    "max_position_embeddings": 514,  # 512 and the two that RoBERTa reserves for padding
}


def paragraphs() -> list[str]:
    """The prose of the Python Language Reference, a paragraph each.

    Examples
    --------
    >>> len(paragraphs()) > 500
    True
    """
    texts: list[str] = []
    for name in sorted(topics):
        for part in topics[name].split("\n\n"):
            text = re.sub(r"\s+", " ", part).strip()
            prose = sum(letter.isalpha() or letter == " " for letter in text)
            if len(text) >= SHORTEST and prose >= PROSE * len(text):
                texts.append(text)
    return list(dict.fromkeys(texts))


def train_tokenizer(texts: list[str]) -> Any:
    """A `RobertaTokenizer` of `VOCABULARY` entries: every byte is one, so that no text is unknown."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    learned = json.loads(backend.to_str())["model"]
    merges: Any = [tuple(merge) for merge in learned["merges"]]
    return RobertaTokenizer(vocab=learned["vocab"], merges=merges, model_max_length=512)


def sequences(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """All paragraphs in a row, cut into sequences of `LENGTH` tokens with their special ones."""
    inner = LENGTH - 2
    ids = [i for one in tokenizer(texts, add_special_tokens=False)["input_ids"] for i in one]
    cuts = range(0, len(ids) - inner + 1, inner)
    start, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    return [[start, *ids[at : at + inner], end] for at in cuts]


def learning_rate(step: int, steps: int) -> float:
    """Linear warm-up, then half a cosine to zero."""
    if step < WARM_UP:
        return PEAK_RATE * (step + 1) / WARM_UP
    return PEAK_RATE * (1 + math.cos(math.pi * (step - WARM_UP) / max(1, steps - WARM_UP))) / 2


def train(folder: Path, *, steps: int = STEPS, seed: int = SEED) -> list[float]:
    """Make the model and its tokenizer, and save both in ``folder``, with ``losses.npy``.

    Parameters
    ----------
    folder : Path
        Made where it is missing.
    steps : int
        Of AdamW, `BATCH` sequences each.

    Returns
    -------
    list of float
        The loss of every step, nats per masked token.
    """
    texts = paragraphs()
    tokenizer = train_tokenizer(texts)
    data = sequences(tokenizer, texts)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        order = random.Random(seed)
        config = RobertaConfig(
            vocab_size=len(tokenizer),
            type_vocab_size=1,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            **SIZES,
        )
        model = RobertaForMaskedLM(config).train()
        mask = DataCollatorForLanguageModeling(tokenizer, mlm_probability=MASK_RATE)
        optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
        losses: list[float] = []
        for step in range(steps):
            batch = mask([{"input_ids": data[order.randrange(len(data))]} for _ in range(BATCH)])
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, steps)
            loss = model(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(float(loss.detach()))
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    np.save(folder / "losses.npy", np.array(losses, dtype=np.float32))
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    began = time.monotonic()
    losses = train(asked.folder, steps=asked.steps, seed=asked.seed)
    last = losses[-20:]
    print(
        f"{asked.folder}: {len(losses)} steps in {time.monotonic() - began:.0f} s, "
        f"loss {losses[0]:.2f} to {sum(last) / len(last):.2f} nats"
    )


if __name__ == "__main__":
    main()
