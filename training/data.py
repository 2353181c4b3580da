"""Packed token ids to training batches: what one forward pass sees.

Every batch is a function of (seed, step, part) alone, so that a run that was killed continues
with the very batches it would have seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from training.corpus import Corpus, Mixture

PAD, CLS, SEP, MASK = 0, 101, 102, 103
FIRST_WORD = 999  # below lie the special and unused entries of bert-base-uncased's vocabulary
SHORTEST, LONGEST_SHORT = 4, 64  # word pieces of a sentence that stands alone
SHORT_PAIRED = 0.4  # share of batches of single sentences that have two each
DRAWN = 1024  # sentences, of which a batch takes neighbors in length
IGNORED = -100
DEFINED = 0.5  # share of sentences with names that say what a name is
FULL_STOPS = (999, 1012, 1029)  # ! . ?
QUOTE, CURLY = 1000, (1523, 1524)  # " and its two curly forms
APOSTROPHE, CURLY_APOSTROPHE = 1005, 1521
KEPT_LAST = 0.1  # of the sentences without a full stop: their last word is asked for as it stands


@dataclass
class Batch:
    """One forward pass. Shapes ``[batch, n]`` unless stated; int64."""

    input_ids: torch.Tensor
    token_type_ids: torch.Tensor
    attention_mask: torch.Tensor | None  # None: nothing is padded
    labels: torch.Tensor  # the original id where a token was chosen, else -100
    next_labels: torch.Tensor | None  # [batch]; 0 = true neighbor, 1 = random, as in transformers
    # bool: words of a sentence that stands alone which are seen, rare, and no answer
    copyable: torch.Tensor | None = None


Sequence = tuple[list[np.ndarray], int]  # the segments, and the next-sentence label


def draw_running(corpus: Corpus, rng: np.random.Generator, length: int) -> Sequence:
    return [corpus.running(int(rng.integers(corpus.n_sentences)), length - 2)], IGNORED


def _neighbor(corpus: Corpus, rng: np.random.Generator, after: int) -> tuple[int, int]:
    """The sentence that really follows, or (half of the time) a random one; and its label."""
    if rng.random() < 0.5:
        return after % corpus.n_sentences, 0
    return int(rng.integers(corpus.n_sentences)), 1


def draw_pair(corpus: Corpus, rng: np.random.Generator, length: int) -> Sequence:
    """Whole sentences up to a random cut, then text to fill ``length``."""
    room = length - 3
    first = int(rng.integers(corpus.n_sentences - 1))
    cut = rng.uniform(0.2, 0.8) * room
    after = first + 1
    while after < corpus.n_sentences and (
        corpus.sentences[after + 1] - corpus.sentences[first] <= cut
    ):
        after += 1
    a = corpus.running(first, int(corpus.sentences[after] - corpus.sentences[first]))[: room - 8]
    second, label = _neighbor(corpus, rng, after)
    return [a, corpus.running(second, room - len(a))], label


def draw_short(corpus: Corpus, rng: np.random.Generator, paired: bool) -> Sequence:
    while True:
        first = int(rng.integers(corpus.n_sentences - 1))
        a = corpus.sentence(first)
        if not SHORTEST <= len(a) <= LONGEST_SHORT:
            continue
        if not paired:
            return [a], IGNORED
        second, label = _neighbor(corpus, rng, first + 1)
        b = corpus.sentence(second)
        if SHORTEST <= len(b) <= LONGEST_SHORT:
            return [a, b], label


def _shorts(text: Mixture, rng: np.random.Generator, tokens: int) -> list[Sequence]:
    paired = rng.random() < SHORT_PAIRED
    source = "running" if paired else "alone"  # in a list of sentences neighbors say nothing
    drawn = [draw_short(text.draw(source, rng), rng, paired) for _ in range(DRAWN)]
    return _alike(drawn, rng, tokens)


def draw_name(corpus: Corpus, rng: np.random.Generator) -> Sequence:
    named, defined = corpus.naming
    if not len(named):
        raise ValueError(
            "The text has no sentence of at most 48 word pieces with two names in it, and batch.names "
            f"asks for them. Add text, or train with --set batch.names=0. Names: {len(corpus.names)}."
        )
    share = DEFINED if len(defined) else 0.0
    pool = defined if rng.random() < share else named
    return [corpus.sentence(int(rng.choice(pool)))], IGNORED


def _names(text: Mixture, rng: np.random.Generator, tokens: int) -> list[Sequence]:
    return _alike([draw_name(text.draw("named", rng), rng) for _ in range(DRAWN)], rng, tokens)


def without_full_stop(segment: np.ndarray) -> np.ndarray:
    """``segment`` without the mark that ends it, as people type into a widget.

    >>> without_full_stop(np.array([2040, 2939, 1029])).tolist()
    [2040, 2939]
    """
    return segment[:-1] if len(segment) > 2 and segment[-1] in FULL_STOPS else segment


def curl(segment: np.ndarray) -> np.ndarray:
    """``segment`` with typographic quotes and apostrophes; quotes open and close in turn.

    >>> curl(np.array([1000, 7592, 1000, 2009, 1005, 1055])).tolist()
    [1523, 7592, 1524, 2009, 1521, 1055]
    """
    curled = np.where(segment == APOSTROPHE, CURLY_APOSTROPHE, segment)
    places = np.flatnonzero(segment == QUOTE)
    curled[places] = np.resize(CURLY, len(places))
    return curled


def vary(
    sequences: list[Sequence], bare: float, curly: float, rng: np.random.Generator
) -> list[Sequence]:
    """Take the full stop from ``bare`` of the sentences that stand alone, and curl the quotes of ``curly`` of all."""
    varied: list[Sequence] = []
    for segments, label in sequences:
        if len(segments) == 1 and rng.random() < bare:
            segments = [without_full_stop(segments[0])]
        if rng.random() < curly:
            segments = [curl(segment) for segment in segments]
        varied.append((segments, label))
    return varied


def _alike(drawn: list[Sequence], rng: np.random.Generator, tokens: int) -> list[Sequence]:
    """Sequences of about one length, so that little is padded."""
    lengths = np.array([sum(map(len, segments)) + 3 for segments, _ in drawn])
    order = np.argsort(lengths, kind="stable")
    start = int(rng.integers(len(order) - 8))
    chosen: list[Sequence] = []
    for position in order[start:]:
        if (len(chosen) + 1) * lengths[position] > tokens and len(chosen) >= 8:
            break
        chosen.append(drawn[position])
    return chosen


def ask_for_a_name(
    ids: np.ndarray,
    labels: np.ndarray,
    original: np.ndarray,
    is_name: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Mask one name of each row wherever it stands there; in place, on arrays [batch, n]."""
    for row, words in enumerate(original):
        names = np.unique(words[is_name[words]])
        if len(names):
            asked = words == rng.choice(names)
            ids[row, asked] = MASK
            labels[row, asked] = words[asked]


def ask_for_the_last(
    ids: np.ndarray,
    labels: np.ndarray,
    original: np.ndarray,
    maskable: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Ask for the last word as it stands in `KEPT_LAST` of the rows that end without a full stop; in place.

    Hardly a sentence of prose ends so: an unmasked last word would be taken for the full stop that is missing.
    """
    last = np.argmax(original == SEP, axis=1) - 1
    rows = np.arange(len(original))
    ends = ~np.isin(original[rows, last], FULL_STOPS) & maskable[rows, last]
    asked = ends & (rng.random(len(rows)) < KEPT_LAST)
    rows, last = rows[asked], last[asked]
    ids[rows, last] = labels[rows, last] = original[rows, last]


def mask_tokens(
    ids: np.ndarray, maskable: np.ndarray, rate: float, vocabulary: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Dynamic masking (Devlin et al. 2019): returns the changed ids and the labels."""
    chosen = maskable & (rng.random(ids.shape) < rate)
    labels = np.where(chosen, ids, IGNORED)
    dice = rng.random(ids.shape)
    random_ids = rng.integers(FIRST_WORD, vocabulary, ids.shape)
    changed = np.where(chosen & (dice < 0.8), MASK, ids)
    changed = np.where(chosen & (dice >= 0.8) & (dice < 0.9), random_ids, changed)
    return changed, labels


def is_twin(segment: np.ndarray, is_frequent: np.ndarray) -> np.ndarray:
    """True where a token stands more than once in ``segment``, frequent words apart; bool [n].

    >>> frequent = np.arange(3) == 1
    >>> is_twin(np.array([0, 1, 2, 1, 0]), frequent).tolist()
    [True, False, False, False, True]
    """
    _, inverse, counts = np.unique(segment, return_inverse=True, return_counts=True)
    return (counts[inverse] > 1) & ~is_frequent[segment]


def collate(
    sequences: list[Sequence],
    rate: float,
    vocabulary: int,
    rng: np.random.Generator,
    is_frequent: np.ndarray | None = None,
    is_name: np.ndarray | None = None,
    last: bool = False,
) -> Batch:
    """Add the special tokens, pad, mask.

    With ``is_frequent`` no word of a segment that stands alone is chosen that one could copy from a repetition;
    its other words that are not frequent are ``copyable``. With ``is_name`` one name of each
    sequence is chosen besides, with all its repetitions. With ``last`` see `ask_for_the_last`.
    """
    longest = max(sum(map(len, segments)) + 1 + len(segments) for segments, _ in sequences)
    shape = (len(sequences), longest)
    ids = np.full(shape, PAD, dtype=np.int64)
    types = np.zeros(shape, dtype=np.int64)
    attention = np.zeros(shape, dtype=np.int64)
    twins, rare = np.zeros((2, *shape), dtype=bool)
    for row, (segments, _) in enumerate(sequences):
        at = 1
        ids[row, 0] = CLS
        for kind, segment in enumerate(segments):
            ids[row, at : at + len(segment)] = segment
            ids[row, at + len(segment)] = SEP
            types[row, at : at + len(segment) + 1] = kind
            at += len(segment) + 1
        attention[row, :at] = 1
        if is_frequent is not None and len(segments) == 1:
            twins[row, 1 : at - 1] = is_twin(segments[0], is_frequent)
            rare[row, 1 : at - 1] = ~is_frequent[segments[0]]
    maskable = (ids != PAD) & (ids != CLS) & (ids != SEP) & ~twins
    changed, labels = mask_tokens(ids, maskable, rate, vocabulary, rng)
    if is_name is not None:
        ask_for_a_name(changed, labels, ids, is_name, rng)
    if last:
        ask_for_the_last(changed, labels, ids, maskable, rng)
    next_labels = np.array([label for _, label in sequences])
    return Batch(
        torch.from_numpy(changed),
        torch.from_numpy(types),
        None if attention.all() else torch.from_numpy(attention),
        torch.from_numpy(labels),
        torch.from_numpy(next_labels) if (next_labels != IGNORED).any() else None,
        torch.from_numpy(rare & ~twins & (labels == IGNORED)) if rare.any() else None,
    )


def build_batch(
    text: Mixture | Corpus,
    settings: dict[str, float | int],
    vocabulary: int,
    seed: tuple[int, ...],
) -> Batch:
    """The batch of ``seed`` = (run seed, step, part).

    ``settings`` is the section ``[batch]``; without ``bare`` and ``curly`` (see `vary`) the text is taken as it stands.
    """
    if isinstance(text, Corpus):
        text = Mixture.of(text)
    rng = np.random.default_rng(seed)
    kinds = ("single", "pair", "short", "long", "names")
    shares = np.array([settings[kind] for kind in kinds], dtype=float)
    kind = kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))]
    tokens = int(settings["micro_tokens"])
    length = int(settings["long_length"] if kind == "long" else settings["length"])
    bare, curly = float(settings.get("bare", 0.0)), float(settings.get("curly", 0.0))
    alone = kind in ("short", "names")
    if alone:
        sequences = (_shorts if kind == "short" else _names)(text, rng, tokens)
    else:
        build = draw_pair if kind == "pair" else draw_running
        count = max(1, tokens // length)
        sequences = [build(text.draw("running", rng), rng, length) for _ in range(count)]
    if bare or curly:
        sequences = vary(sequences, bare if kind == "short" else 0.0, curly, rng)
    # who types one sentence and masks a name does not want another name of it back
    is_frequent = text.is_frequent if alone else None
    is_name = text.is_name if kind == "names" else None
    last = kind == "short" and bare > 0 and len(sequences[0][0]) == 1
    rate = float(settings["mask_rate"])
    return collate(sequences, rate, vocabulary, rng, is_frequent, is_name, last)
