"""Sentences with the mean rating of some twenty people, from the source distribution of vaderSentiment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attn_widget.checks import (
    as_array,
    check_choice,
    check_entries,
    check_name,
    check_seed,
    short_repr,
)
from attn_widget.errors import InputError
from attn_widget.features.tasks.data.archive import member
from attn_widget.features.tasks.data.dataset import Dataset, split_equally

Source = Literal["amazon", "films", "tweets", "editorials"]
SOURCES: dict[str, str] = {
    "amazon": "amazonReviewSnippets_GroundTruth.txt",
    "films": "movieReviewSnippets_GroundTruth.txt",
    "tweets": "tweets_GroundTruth.txt",
    "editorials": "nytEditorialSnippets_GroundTruth.txt",
}
# Five equal parts of -3 to 3, where 96 to 100 per cent of the means of some twenty ratings lie; the
# outer two reach to the ends of the scale. Why not of -4 to 4: docs/tasks.md.
CUTS = (-1.8, -0.6, 0.6, 1.8)
CLASSES = {
    5: ("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
    3: ("negative", "neutral", "positive"),
}


@dataclass(frozen=True, eq=False, repr=False)
class RatedSentences:
    """Every sentence of one source, as the file has it.

    Attributes
    ----------
    name : str
    ids : tuple of str, length n
        ``"12_3"`` is the third sentence of review 12; ``"12"`` where the file knows no reviews.
    groups : tuple of str, length n
        What stands before the ``_``: the review, or the editorial.
    texts : tuple of str, length n
    scores : float64 ndarray [n]
        Mean rating, -4 (most negative) to 4; read only.
    """

    name: str
    ids: tuple[str, ...]
    groups: tuple[str, ...]
    texts: tuple[str, ...]
    scores: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_name(self.name, "name")
        for name in ("ids", "groups", "texts"):
            object.__setattr__(self, name, tuple(check_entries(getattr(self, name), name)))
        object.__setattr__(self, "scores", as_array(self.scores, "scores", np.float64))
        lengths = {len(self.ids), len(self.groups), len(self.texts), *self.scores.shape}
        if self.scores.ndim != 1 or len(lengths) != 1:
            raise InputError("ids, groups, texts and scores differ in length.", "Give one of each.")

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"RatedSentences({self.name!r}, {len(self):,} in {len(set(self.groups)):,} groups)"


def stars(scores: ArrayLike, classes: int = 5) -> NDArray[np.int64]:
    """Ratings as classes.

    Five classes are cut at -1.8, -0.6, 0.6 and 1.8; three classes join the two lowest and the two
    highest of them. A rating on a cut belongs to the side of the middle, so
    that turning every sign mirrors the classes.

    Parameters
    ----------
    scores : float array [n]
        -4 to 4.
    classes : {5, 3}

    Returns
    -------
    int64 ndarray [n]
        0 (most negative) to ``classes - 1``.

    Raises
    ------
    InputError
        Another number of classes, or a rating outside the scale.
    InputTypeError
        Ratings that are no numbers.

    Examples
    --------
    >>> stars([-3.1, -1.8, -0.6, 0.7, 4]).tolist(), stars([-3.1, -1.8, -0.6, 0.7, 4], 3).tolist()
    ([0, 1, 2, 3, 4], [0, 0, 1, 2, 2])
    """
    check_classes(classes)
    values = as_array(scores, "scores", np.float64)
    if not (np.abs(values) <= 4).all():  # false for NaN too
        worst = values[~(np.abs(values) <= 4)][0]
        raise InputError(f"A rating is {worst}, expected -4 to 4.", "Scale the ratings first.")
    low = np.searchsorted(CUTS[:2], values, side="right")
    high = np.searchsorted(CUTS[2:], values, side="left")
    five = (low + high).astype(np.int64)
    return five if classes == 5 else np.array([0, 0, 1, 2, 2])[five]


def rated_sentences(name: Source, *, cache: str | os.PathLike[str] | None = None) -> RatedSentences:
    """All sentences of a source with the mean of their human ratings, before any cut or split.

    Parameters
    ----------
    name : {"amazon", "films", "tweets", "editorials"}
    cache : path, optional
        Folder for the downloaded archive (2.5 MB, once); see `load_amazon`.

    Returns
    -------
    RatedSentences

    Raises
    ------
    InputError
        No such source.
    InputTypeError
        ``cache`` is no path.
    NotAvailableError
        The archive is missing and cannot be fetched.

    References
    ----------
    Hutto & Gilbert (2014), VADER: A parsimonious rule-based model for sentiment analysis of social
    media text, section 3.4.
    """
    check_choice(name, "name", SOURCES)
    return parse(name, member(SOURCES[name], cache))


def parse(name: str, data: bytes) -> RatedSentences:
    """Read ``id TAB rating TAB text`` lines (UTF-8, perhaps with a byte order mark; any line ends)."""
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n").split("\n")
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows, start=1):
        if len(row) != 3 or not row[2].strip():
            raise InputError(
                f"{SOURCES.get(name, name)}, line {number}: {len(row)} columns, expected an id, a rating "
                "and a text.",
                "The file is damaged: remove it from the cache and load again.",
            )
    ids, ratings, texts = zip(*rows, strict=True)
    if len(set(ids)) < len(ids):
        raise InputError(f"{SOURCES.get(name, name)} has an id twice.", "The file is damaged.")
    scores = np.array([float(rating) for rating in ratings])
    scores.flags.writeable = False
    groups = tuple(identifier.split("_")[0] for identifier in ids)
    return RatedSentences(name, ids, groups, tuple(text.strip() for text in texts), scores)


def load_amazon(
    *, classes: int = 5, seed: int = 0, cache: str | os.PathLike[str] | None = None
) -> Dataset:
    """Sentences of 300 customer reviews of five products, with stars.

    Ratings are cut by `stars`; reviews are shared out 70/20/10, so that no review (and no near copy of
    a sentence) stands in two splits; then sentences are left out until every class is as frequent in
    each split. The same seed gives the same splits on every machine.

    Parameters
    ----------
    classes : {5, 3}
    seed : int
    cache : path, optional
        Folder for the downloaded archive; otherwise that of the environment variable
        ``ATTN_WIDGET_CACHE``, otherwise the user's cache folder.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError, InputTypeError
        Another number of classes, a seed that is no whole number from 0 to 2**32 - 1, a cache that is
        no path.
    NotAvailableError
        The archive is not in the cache and cannot be fetched, or is not the one that it should be.

    References
    ----------
    Hutto & Gilbert (2014); the reviews are those of Hu & Liu (2004), Mining and summarizing customer
    reviews.
    """
    return _load("amazon", classes, seed, cache)


def load_films(
    *, classes: int = 5, seed: int = 0, cache: str | os.PathLike[str] | None = None
) -> Dataset:
    """Snippets of film reviews, with stars; errors as in `load_amazon`.

    The file does not say which review a snippet is from: each is a review of its own here.

    Parameters
    ----------
    classes, seed, cache
        As in `load_amazon`.

    References
    ----------
    Hutto & Gilbert (2014); the snippets are those of Pang & Lee (2005), Seeing stars.
    """
    return _load("films", classes, seed, cache)


def load_tweets(
    *, classes: int = 5, seed: int = 0, cache: str | os.PathLike[str] | None = None
) -> Dataset:
    """Tweets, with stars; errors as in `load_amazon`.

    The 200 made-up variants of 30 tweets (capitals, ``!!``, "very") stay in the split of their tweet.

    Parameters
    ----------
    classes, seed, cache
        As in `load_amazon`.

    References
    ----------
    Hutto & Gilbert (2014).
    """
    return _load("tweets", classes, seed, cache)


def load_editorials(
    *, classes: int = 5, seed: int = 0, cache: str | os.PathLike[str] | None = None
) -> Dataset:
    """Sentences of 498 newspaper editorials, with stars; errors as in `load_amazon`.

    80 sentences have five stars: with five classes as many of each stay, 400 in all.

    Parameters
    ----------
    classes, seed, cache
        As in `load_amazon`.

    References
    ----------
    Hutto & Gilbert (2014).
    """
    return _load("editorials", classes, seed, cache)


def check_classes(classes: object) -> None:
    """Raise in words unless there are cuts for this many classes."""
    if isinstance(classes, bool) or not isinstance(classes, int) or classes not in CLASSES:
        raise InputError(
            f"classes is {short_repr(classes)}, expected 5 or 3.", "Use classes=5 or classes=3."
        )


def _load(name: Source, classes: int, seed: int, cache: str | os.PathLike[str] | None) -> Dataset:
    check_classes(classes)
    seed = check_seed(seed)
    rated = rated_sentences(name, cache=cache)
    labels = stars(rated.scores, classes)
    return split_equally(
        name, rated.texts, labels, rated.groups, CLASSES[classes], seed, rated.scores
    )
