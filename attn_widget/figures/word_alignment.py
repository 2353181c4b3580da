"""Words of a target aligned with words of its source by cross-attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks.rounding import first_largest
from attn_widget.figures.arrays import Bool, Float32, Float64
from attn_widget.host.frames import Records

# Which rows belong to a token of the target: the step that reads it, or the step before, which writes it.
Step = Literal["read", "written"]
STEPS: tuple[Step, ...] = ("read", "written")
Span = tuple[int, int]


@dataclass(frozen=True)
class WordAlignment(Records):
    """The word of the source that each word of the target looks at most.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Source word and target word, 0-based, in order of the target; a target word without a token or a weight has none.
    weights : float32 [len(pairs)]
        Weight of the target word on that source word.
    source, target : tuple of str
        The words: what stands between white space, as in files of alignments.
    """

    pairs: tuple[tuple[int, int], ...]
    weights: Float32
    source: tuple[str, ...]
    target: tuple[str, ...]

    def to_pharaoh(self) -> str:
        """The line of an alignment file, without its end: ``"0-0 1-2"``, source before target, 0-based."""
        return " ".join(f"{i}-{j}" for i, j in self.pairs)

    def to_records(self) -> list[dict[str, Any]]:
        """One record a pair: ``source, target`` (numbers), ``source_word, target_word, weight``."""
        return [
            {
                "source": i,
                "target": j,
                "source_word": self.source[i],
                "target_word": self.target[j],
                "weight": float(weight),
            }
            for (i, j), weight in zip(self.pairs, self.weights, strict=True)
        ]

    def __repr__(self) -> str:
        line = self.to_pharaoh()
        return f"WordAlignment({line if len(line) <= 60 else line[:57] + '...'!r})"


def word_spans(text: str) -> list[Span]:
    """Code points ``[start, end)`` of the words between white space.

    >>> word_spans("the cat's mat .")
    [(0, 3), (4, 9), (10, 13), (14, 15)]
    """
    spans, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        spans.append((start, start + len(word)))
        start += len(word)
    return spans


def tokens_in(words: Sequence[Span], tokens: Sequence[Span | None]) -> Bool:
    """Which tokens have a character of a word, bool [words, tokens]; None: a token of no text."""
    ends = np.array([(0, 0) if span is None else span for span in tokens], np.intp).reshape(-1, 2)
    spans = np.array(words, np.intp).reshape(-1, 2)
    return (ends[:, 0] < spans[:, 1:]) & (ends[:, 1] > spans[:, :1])


def align_words(
    weights: Float32, target: Bool, source: Bool, step: Step
) -> tuple[tuple[tuple[int, int], ...], Float32]:
    """Pairs of (source word, target word), and their weights.

    The weight of a target word on a source word is the mean over the target's tokens of the sum over the source's; on a tie
    the first source word is taken.

    ``weights``, float32 [n, m]: rows are target tokens. ``target``, ``source``, bool [words, n], [words, m]: the
    tokens of each word. ``step``, {"read", "written"}: the rows of a token: its own, or the one before.

    References
    ----------
    Chen, Liu, Chen, Jiang & Liu (2020), Accurate Word Alignment Induction from Neural Machine Translation, EMNLP: the step
    that reads a word (SHIFT-ATT) aligns better than the one that writes it (NAIVE-ATT).

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.array([[0.9, 0.1, 0], [0.2, 0.5, 0.3]], np.float32)
    >>> words = np.array([[True, False, False], [False, True, True]])
    >>> align_words(weights, np.eye(2, dtype=bool), words, "read")[0]
    ((0, 0), (1, 1))
    """
    rows: NDArray[Any] = weights.astype(np.float64)
    if step == "written":
        rows, target = rows[:-1], target[:, 1:]
    sizes = target.sum(axis=1, keepdims=True)
    merged: Float64 = target @ rows @ source.T / np.maximum(sizes, 1)
    found = [(first_largest(row), j) for j, row in enumerate(merged) if row.size and row.max() > 0]
    best = np.array([merged[j, i] for i, j in found], np.float32)
    return tuple((int(i), j) for i, j in found), best
