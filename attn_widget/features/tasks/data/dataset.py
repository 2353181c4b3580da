"""Dataset: texts with classes, in three splits that share nothing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import (
    as_array,
    check_entries,
    check_kind,
    check_name,
    check_several,
)
from attn_widget.errors import InputError, InputTypeError
from attn_widget.features.tasks.data.splits import SHARES, assign, equal_classes, join_groups


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Texts and their classes.

    Attributes
    ----------
    texts : tuple of str, length n
    labels : int64 ndarray [n]
        0 to c - 1, read only.
    scores : float64 ndarray [n] or None
        Mean human rating, -4 (most negative) to 4, where the data has one; read only.
    """

    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    scores: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        texts = check_entries(self.texts, "texts")
        object.__setattr__(
            self, "texts", tuple(check_name(text, f"text {k}") for k, text in enumerate(texts))
        )
        object.__setattr__(self, "labels", as_array(self.labels, "labels"))
        if self.scores is not None:
            object.__setattr__(self, "scores", as_array(self.scores, "scores", np.float64))
        if self.labels.dtype.kind not in "iu" and self.labels.size:
            raise InputTypeError(
                f"labels have the type {self.labels.dtype}, expected int: classes 0 to c - 1."
            )
        for values in (self.labels, self.scores):
            if values is None:
                continue
            if values.shape != (len(self.texts),):
                raise InputError(
                    f"{len(self.texts)} texts and an array of shape {values.shape}.",
                    "Give one label (and one score) for each text.",
                )
            values.flags.writeable = False

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Split({len(self)} texts)"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A classification task: no text or review is in more than one of its splits.

    Attributes
    ----------
    name : str
    classes : tuple of str, length c
        Names, in the order of the labels; of ratings from the worst to the best.
    train, validation, test : Split
    left_out : dict of str to int
        How many texts stand in no split, by reason: ``"to make the classes equal"``.
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        classes = check_several(self.classes, "classes", "names (str)")
        object.__setattr__(
            self, "classes", tuple(check_name(c, "an entry of classes") for c in classes)
        )
        for name in ("train", "validation", "test"):
            check_kind(getattr(self, name), Split, name, "from_dataset(table) makes a Dataset.")
        check_kind(self.left_out, Mapping, "left_out", "Leave it out.")

    @property
    def splits(self) -> dict[str, Split]:
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def counts(self) -> dict[str, tuple[int, ...]]:
        """Texts of each class, by split."""
        return {
            name: tuple(np.bincount(split.labels, minlength=len(self.classes)).tolist())
            for name, split in self.splits.items()
        }

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(split):,}" for name, split in self.splits.items())
        return f"Dataset({self.name!r}, {len(self.classes)} classes, {sizes})"


def make_split(texts: Sequence[str], labels: Any, scores: Any, rows: Sequence[int]) -> Split:
    """The given rows, in the given order."""
    chosen = list(rows)
    return Split(
        tuple(texts[row] for row in chosen),
        np.asarray(labels, dtype=np.int64)[chosen],
        None if scores is None else np.asarray(scores, dtype=np.float64)[chosen],
    )


def split_equally(
    name: str,
    texts: Sequence[str],
    labels: NDArray[np.int64],
    groups: Sequence[Hashable],
    classes: tuple[str, ...],
    seed: int,
    scores: NDArray[np.float64] | None = None,
) -> Dataset:
    """Texts as three splits with as many of each class, groups and near copies in one of them."""
    placed = assign(labels, join_groups(texts, groups), tuple(SHARES), seed)
    kept = equal_classes(labels, placed, classes)
    splits = {split: make_split(texts, labels, scores, rows) for split, rows in kept.items()}
    left_out = len(texts) - sum(map(len, kept.values()))
    return Dataset(name, classes, **splits, left_out={"to make the classes equal": left_out})
