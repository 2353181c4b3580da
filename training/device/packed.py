"""Fills rows of 512 tokens with whole sequences, so that a step has one shape and hardly any padding.

The kinds of sequences and their shares are those of `training.data`; what is drawn depends on (seed, step) alone.
Masking is done on the device, from the flags written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.corpus import Mixture
from training.data import (
    CLS,
    FULL_STOPS,
    IGNORED,
    KEPT_LAST,
    SEP,
    SHORT_PAIRED,
    Sequence,
    draw_name,
    draw_pair,
    draw_running,
    draw_short,
    is_twin,
    vary,
)

ROW = 512  # tokens; no sequence crosses a row
KINDS = ("single", "pair", "short", "long", "names")
SECOND, MASKABLE, COPYABLE, ASKED, KEPT = (1 << bit for bit in range(5))
SHORTEST_LEFT = 8  # tokens at the end of a row for which no further sentence is drawn
MOST = 16  # sequences of a row, on average over a step
TRIES = 4  # sentences drawn for the rest of a row before it is padded


@dataclass
class Packed:
    """The sequences of one step, without masks.

    ``ids`` int32, ``places`` int32 (position in the sequence), ``flags`` uint8: arrays [rows, 512]. ``next_labels`` int8 [rows, 512]:
    0 or 1 at the [CLS] of a pair, -1 elsewhere. ``starts`` int32 [rows * 16 + 1]: where each sequence begins in the rows
    one after the other; the rest is filled with their end, rows * 512.
    """

    ids: np.ndarray
    places: np.ndarray
    flags: np.ndarray
    next_labels: np.ndarray
    starts: np.ndarray

    @staticmethod
    def layout(rows: int) -> list[tuple[tuple[int, ...], type[np.generic]]]:
        """Shape and dtype of each array."""
        own = (rows, ROW)
        kinds = (np.int32, np.int32, np.uint8, np.int8)
        return [*((own, kind) for kind in kinds), ((rows * MOST + 1,), np.int32)]

    @classmethod
    def empty(cls, rows: int) -> Packed:
        return cls(*(np.zeros(shape, dtype) for shape, dtype in cls.layout(rows)))

    def arrays(self) -> list[np.ndarray]:
        return [self.ids, self.places, self.flags, self.next_labels, self.starts]


def sequences(
    text: Mixture, kind: str, settings: dict[str, Any], rng: np.random.Generator
) -> Iterator[Sequence]:
    """Sequences of ``kind`` without end."""
    length = int(settings["long_length"] if kind == "long" else settings["length"])
    paired = rng.random() < SHORT_PAIRED
    while True:
        if kind == "names":
            yield draw_name(text.draw("named", rng), rng)
        elif kind == "short":  # in a list of sentences neighbors say nothing
            yield draw_short(text.draw("running" if paired else "alone", rng), rng, paired)
        else:
            draw = draw_pair if kind == "pair" else draw_running
            yield draw(text.draw("running", rng), rng, length)


def flags_of(
    segments: list[np.ndarray],
    kind: str,
    bare: float,
    text: Mixture,
    rng: np.random.Generator,
) -> np.ndarray:
    """Flags of the tokens of one sequence, special tokens included, uint8 [n]."""
    flags = np.full(sum(map(len, segments)) + 1 + len(segments), MASKABLE, np.uint8)
    flags[0] = 0
    end = 0
    for segment in segments:
        end += len(segment) + 1
        flags[end] = 0
    if len(segments) == 2:
        flags[len(segments[0]) + 2 :] |= SECOND
        return flags
    (words,) = segments
    if kind in ("short", "names"):
        twins, rare = is_twin(words, text.is_frequent), ~text.is_frequent[words]
        flags[1:-1][twins] = 0
        flags[1:-1][rare & ~twins] |= COPYABLE
    if kind == "names":
        names = np.unique(words[text.is_name[words]])
        if len(names):
            flags[1:-1][words == rng.choice(names)] |= ASKED
    elif kind == "short" and bare > 0 and words[-1] not in FULL_STOPS and flags[-2] & MASKABLE:
        flags[-2] |= KEPT * (rng.random() < KEPT_LAST)
    return flags


def fill(text: Mixture, settings: dict[str, Any], seed: tuple[int, int], packed: Packed) -> Packed:
    """Fill ``packed`` in place with the sequences of ``seed`` = (run seed, step); returns it.

    It holds at most ``packed.starts.size - 1`` sequences; a row's padding counts as one of them.

    Parameters
    ----------
    settings : dict
        The section ``[batch]`` of the configuration.
    """
    rng = np.random.default_rng(seed)
    shares = np.array([settings[kind] for kind in KINDS], float)
    rows = len(packed.ids)
    kinds = rng.choice(len(KINDS), rows, p=shares / shares.sum())
    for array, empty in zip(packed.arrays(), (0, 0, 0, -1, rows * ROW), strict=True):
        array.fill(empty)
    count = 0
    for row, number in enumerate(kinds):
        kind = KINDS[number]
        bare = settings["bare"] if kind == "short" else 0.0
        at = misses = 0
        drawn = sequences(text, kind, settings, rng)
        most = len(packed.starts) - 1 - 2 * (rows - row)
        while at <= ROW - SHORTEST_LEFT and misses < TRIES and count < most:
            ((segments, label),) = vary([next(drawn)], bare, settings["curly"], rng)
            size = sum(map(len, segments)) + 1 + len(segments)
            if size > ROW - at:
                misses += 1
                continue
            own = slice(at, at + size)
            parts = [part for segment in segments for part in (segment, [SEP])]
            packed.ids[row, own] = np.concatenate([[CLS], *parts])
            packed.places[row, own] = np.arange(size)
            packed.flags[row, own] = flags_of(segments, kind, bare, text, rng)
            if label != IGNORED:
                packed.next_labels[row, at] = label
            packed.starts[count] = row * ROW + at
            at, count = at + size, count + 1
        if at < ROW:
            packed.places[row, at:] = np.arange(ROW - at)
            packed.starts[count] = row * ROW + at
            count += 1
    return packed
