"""Packed token ids as `prepare` wrote them, and mixtures of several such corpora."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from training.names import naming_sentences

N_FREQUENT = 300  # of the most frequent entries: function words, punctuation, "city", "year"

N_IDS = 1 << 16  # of 16 bits


def most_frequent(counts: np.ndarray) -> np.ndarray:
    """True where an id is among the `N_FREQUENT` most frequent ones, bool like ``counts``."""
    frequent = np.zeros(len(counts), bool)
    frequent[np.argsort(-counts, kind="stable")[:N_FREQUENT]] = True
    return frequent


@dataclass
class Corpus:
    """The arrays that `prepare` wrote, memory-mapped."""

    tokens: np.ndarray
    sentences: np.ndarray
    paragraphs: np.ndarray
    names: np.ndarray

    @classmethod
    def open(cls, folder: Path, split: str) -> Corpus:
        return cls(
            np.memmap(folder / f"{split}.tokens", dtype=np.uint16, mode="r"),
            np.fromfile(folder / f"{split}.sentences", dtype=np.int64),
            np.fromfile(folder / f"{split}.paragraphs", dtype=np.int64),
            np.fromfile(folder / f"{split}.names", dtype=np.uint16),
        )

    @property
    def n_sentences(self) -> int:
        return len(self.sentences) - 1

    def sentence(self, index: int) -> np.ndarray:
        return self.tokens[self.sentences[index] : self.sentences[index + 1]].astype(np.int64)

    def running(self, index: int, length: int) -> np.ndarray:
        """``length`` tokens from the beginning of sentence ``index`` (wrapping at the end)."""
        start = self.sentences[index]
        part = self.tokens[start : start + length]
        if len(part) < length:
            part = np.concatenate([part, self.tokens[: length - len(part)]])
        return part.astype(np.int64)

    def unigram_counts(self, vocabulary: int) -> np.ndarray:
        return np.bincount(self.tokens[:10_000_000], minlength=vocabulary)

    @cached_property
    def is_frequent(self) -> np.ndarray:
        """True where an id is among the `N_FREQUENT` most frequent ones, bool [65,536]."""
        return most_frequent(self.unigram_counts(N_IDS))

    @cached_property
    def is_name(self) -> np.ndarray:
        """True where an id is a name and not frequent, bool [65,536]."""
        named = np.zeros(N_IDS, bool)
        named[self.names] = True
        return named & ~self.is_frequent

    @cached_property
    def naming(self) -> tuple[np.ndarray, np.ndarray]:
        """The result of `naming_sentences`, as (with names, saying what a name is)."""
        return naming_sentences(self.tokens, self.sentences, self.is_name)


@dataclass
class Mixture:
    """Several corpora, and how often a sequence of running text, a lone sentence, a named one is drawn from each."""

    parts: dict[str, Corpus]
    shares: dict[str, dict[str, float]]  # "running", "alone", "named": share by part

    @classmethod
    def open(cls, folder: Path, settings: dict[str, dict[str, float]]) -> Mixture:
        """The splits in ``folder`` that ``settings["running"]``, ``["alone"]`` and ``["named"]`` give a share."""
        return cls.from_settings(settings, lambda split: Corpus.open(folder, split))

    @classmethod
    def from_settings(
        cls, settings: dict[str, dict[str, float]], corpus: Callable[[str], Corpus]
    ) -> Mixture:
        """The splits that ``settings`` give a share, each as ``corpus`` opens it."""
        shares = {
            name: {split: share for split, share in settings[name].items() if share > 0}
            for name in ("running", "alone", "named")
        }
        splits = dict.fromkeys(split for own in shares.values() for split in own)
        return cls({split: corpus(split) for split in splits}, shares)

    @classmethod
    def of(cls, corpus: Corpus) -> Mixture:
        """One corpus, for everything."""
        return cls({"": corpus}, {name: {"": 1.0} for name in ("running", "alone", "named")})

    def draw(self, name: str, rng: np.random.Generator) -> Corpus:
        """A corpus for one sequence; ``name`` as in ``shares``."""
        own = self.shares[name]
        if len(own) == 1:
            return self.parts[next(iter(own))]
        share = np.array(list(own.values()))
        return self.parts[list(own)[int(rng.choice(len(share), p=share / share.sum()))]]

    def unigram_counts(self, vocabulary: int) -> np.ndarray:
        """Counts of each part's first 10 million word pieces together."""
        counts = [part.unigram_counts(vocabulary) for part in self.parts.values()]
        return np.sum(counts, axis=0)

    @cached_property
    def is_frequent(self) -> np.ndarray:
        """True where an id is among the `N_FREQUENT` most frequent ones, bool [65,536]."""
        return most_frequent(self.unigram_counts(N_IDS))

    @cached_property
    def is_name(self) -> np.ndarray:
        """True for ids that are names in a part that named sentences come from, and not frequent; bool [65,536]."""
        named = np.any([self.parts[split].is_name for split in self.shares["named"]], axis=0)
        return named & ~self.is_frequent
