"""Masked words by kind of text, and words that are seen in sentences without a full stop."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from attn_widget.features.corpus.reading.targets import is_punctuation
from training.cloze import Reader, read_prompts
from training.corpus import Corpus
from training.data import CLS, IGNORED, PAD, SEP, mask_tokens
from training.masked import LENGTH, MASK_RATE, SEED, masked_figures, masked_sequences
from training.prepare import pack, read_paragraphs

MIN_CHARS = 8  # short sentences are what some kinds are made of
SEQUENCES = 400  # of a kind of running text, spread over all of it
SENTENCES = 2_000  # of a kind of single sentences
LONE = 1.2  # sentences a line, at most, where each line is read alone
BARE = 300  # sentences of a kind that lose their full stop
FEWEST, MOST = 4, 24  # words of such a sentence


def lone_sequences(
    corpus: Corpus, vocabulary: int, limit: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sentences alone, padded, masked the same way at every call: ``input_ids, labels``, int64 [sentences, n].

    Sentences come in order of their length, so that a batch pads little.
    """
    lengths = np.diff(corpus.sentences)
    fitting = np.flatnonzero((lengths >= FEWEST) & (lengths <= LENGTH - 2))
    some = fitting[np.linspace(0, len(fitting) - 1, min(limit, len(fitting))).astype(int)]
    some = some[np.argsort(lengths[some], kind="stable")]
    ids = np.full((len(some), int(lengths[some].max()) + 2), PAD, np.int64)
    ids[:, 0] = CLS
    for row, index in enumerate(some):
        sentence = corpus.sentence(int(index))
        ids[row, 1 : len(sentence) + 1] = sentence
        ids[row, len(sentence) + 1] = SEP
    maskable = (ids != PAD) & (ids != CLS) & (ids != SEP)
    rng = np.random.default_rng(SEED)
    changed, labels = mask_tokens(ids, maskable, MASK_RATE, vocabulary, rng)
    return torch.from_numpy(changed), torch.from_numpy(np.where(maskable, labels, IGNORED))


def evaluate_kind(reader: Reader, packer: Tokenizer, file: Path, quick: bool) -> dict[str, Any]:
    """Figures on one file of held-out text: masked words, and `seen_words` of its sentences."""
    paragraphs = list(read_paragraphs([file], MIN_CHARS))
    share = 10 if quick else 1
    with tempfile.TemporaryDirectory() as folder:
        counts = pack(iter(paragraphs), packer, Path(folder), "kind")
        corpus = Corpus.open(Path(folder), "kind")
        alone = counts["sentences"] <= LONE * counts["paragraphs"]
        vocabulary = reader.model.config.vocab_size
        ids, labels = (
            lone_sequences(corpus, vocabulary, SENTENCES // share)
            if alone
            else masked_sequences(corpus.tokens, vocabulary, SEQUENCES // share)
        )
        bare = bare_sentences(corpus, BARE // share)
    return {
        "file": file.name,
        "tokens": counts["tokens"],
        "alone": alone,
        "masked": asdict(masked_figures(reader.model, ids, labels)),
        "seen": seen_words(reader, bare),
    }


def bare_sentences(corpus: Corpus, limit: int) -> list[list[int]]:
    """Ids of up to ``limit`` sentences that ended with a full stop, without it, spread over the text."""
    stop = 1012
    lengths = np.diff(corpus.sentences)
    ends = corpus.tokens[corpus.sentences[1:] - 1] == stop
    fitting = np.flatnonzero(ends & (lengths > FEWEST) & (lengths <= MOST + 1))
    if not len(fitting):
        return []
    some = fitting[np.linspace(0, len(fitting) - 1, min(limit, len(fitting))).astype(int)]
    return [corpus.sentence(int(index))[:-1].tolist() for index in some]


def everyday_sentences(reader: Reader) -> list[list[int]]:
    """The everyday prompts with their first answer and without their last mark."""
    sentences: list[list[int]] = []
    for prompts in read_prompts("everyday").values():
        for prompt in prompts:
            text = prompt["text"].replace("[MASK]", prompt["accept"][0]).rstrip(".!?")
            sentences.append(reader.tokenizer(text, add_special_tokens=False).input_ids)
    return sentences


@torch.no_grad()
def seen_words(reader: Reader, sentences: Iterable[list[int]]) -> dict[str, float | int]:
    """Share of unmasked words that are predicted first in their own place, in sentences without a full stop.

    ``last`` is the share of last words, where a model of prose expects the full stop; ``words`` that of all words.
    Sentences that end in another mark are left out.
    """
    last = words = n_words = n = 0
    for ids in sentences:
        end = str(reader.tokenizer.convert_ids_to_tokens([ids[-1]])[0])
        if is_punctuation(end):
            continue
        whole = torch.tensor([[CLS, *ids, SEP]])
        first = reader.model(input_ids=whole).prediction_logits.argmax(-1)
        same = (first == whole)[0, 1:-1]
        last += int(same[-1])
        words += int(same.sum())
        n_words += len(ids)
        n += 1
    return {
        "n": n,
        "last": last / max(1, n),
        "words": words / max(1, n_words),
        "n_words": n_words,
    }
