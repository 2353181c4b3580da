"""The figures of a profile: means, intervals and patterns of all heads over the texts."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_kind, check_seed
from attn_widget.errors import NotAvailableError
from attn_widget.features.corpus.statistics import intervals, means
from attn_widget.features.corpus.storage import Rows
from attn_widget.features.corpus.totals import Totals
from attn_widget.figures import specialization
from attn_widget.figures.roles import Roles, head_roles
from attn_widget.host.frames import dataframe, records

if TYPE_CHECKING:
    from pandas import DataFrame


class ProfileFigures:
    """Figures over texts, from those of each text or from their sums.

    Parameters
    ----------
    rows : Rows or Totals
    meta : dict
    seed : int
    """

    def __init__(self, rows: Rows | Totals, meta: dict[str, Any], seed: int) -> None:
        hint = "profile(texts) makes a Profile, Profile.load(path) reads one."
        if not isinstance(rows, Totals):
            check_kind(rows, Rows, "rows", hint)
        check_kind(meta, dict, "meta", hint)
        self._rows = None if isinstance(rows, Totals) else rows
        self._totals = rows if isinstance(rows, Totals) else None
        self.meta = meta
        self.seed = check_seed(seed)

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the figures, in order."""
        return tuple(self.meta["keys"])

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.meta["model"]

    @property
    def part(self) -> Any:
        """Part of an encoder-decoder whose heads these are: ``"encoder"``, ``"decoder"`` or ``"cross"``; else None."""
        return self.meta.get("part")

    @property
    def figures(self) -> NDArray[np.float32]:
        """Figures of each text, float32 [texts, keys, L, H]; NaN = N/A on that text.

        Raises
        ------
        NotAvailableError
            The profile keeps sums alone, as ``engine="ray"`` makes it; so for `index` and `n_tokens`.
        """
        return self._each.figures

    @property
    def index(self) -> NDArray[np.int64]:
        """Position of each text in the given list, int64 [texts]."""
        return self._each.index

    @property
    def n_tokens(self) -> NDArray[np.int64]:
        """Tokens of each text, with special tokens, int64 [texts]."""
        return self._each.n_tokens

    @property
    def n_texts(self) -> int:
        """Number of texts that were read."""
        return len(self.index) if self._totals is None else self._totals.n_texts

    @property
    def total_tokens(self) -> int:
        """Tokens of all texts, with special tokens."""
        return int(self.n_tokens.sum()) if self._totals is None else self._totals.n_tokens

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Unread parts of the files, and texts without figures: ``source``, ``reason``; of a text also ``index``."""
        return self.meta.get("failed", [])

    @property
    def n_layers(self) -> int:
        return self._shape[1]

    @property
    def n_heads(self) -> int:
        return self._shape[2]

    @property
    def _shape(self) -> tuple[int, ...]:
        """Keys, layers, heads."""
        return self.figures.shape[1:] if self._totals is None else self._totals.shape

    @property
    def _each(self) -> Rows:
        if self._rows is None:
            raise NotAvailableError(
                "This profile keeps sums over its texts, not the figures of each.",
                'profile(texts, engine="local") keeps them; mean, interval, patterns and examples are here.',
            )
        return self._rows

    @cached_property
    def mean(self) -> dict[str, NDArray[np.float32]]:
        """Mean over the texts that have the figure: key to float32 [L, H]; NaN where none has."""
        sums = self._totals
        return self._named(means.mean(self.figures) if sums is None else sums.mean())

    @cached_property
    def sd(self) -> dict[str, NDArray[np.float32]]:
        """Sample standard deviation over texts: key to float32 [L, H]; NaN below two texts."""
        sums = self._totals
        return self._named(means.sd(self.figures) if sums is None else sums.sd())

    @cached_property
    def count(self) -> dict[str, NDArray[np.int64]]:
        """Number of texts that have the figure: key to int64 [L, H]."""
        sums = self._totals
        return self._named(means.count(self.figures) if sums is None else sums.count)

    @cached_property
    def interval(self) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Bootstrap 95% interval of the mean: key to (low, high), each float32 [L, H].

        Each text's weights come from its own hash: the same texts in another order give the same bits. NaN
        where fewer than eight different texts have the figure; `interval_note` says so.

        References
        ----------
        Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
        Hesterberg (2015), "What Teachers Should Know about the Bootstrap", The American Statistician 69.
        """
        if self._totals is None:
            low, high = intervals.bootstrap(self.figures, self.seed, self._hashes)
        else:
            low, high = self._totals.interval()
        return {key: (low[k], high[k]) for k, key in enumerate(self.keys)}

    @cached_property
    def interval_note(self) -> str | None:
        """Why no figure has an interval, or which means rest on one text; None otherwise.

        A profile that keeps totals alone (``folder=``) does not know the second.
        """
        lows = np.stack([low for low, _ in self.interval.values()])
        few = intervals.too_few(self.n_texts, lows)
        return few or (intervals.one_text(self.figures) if self._totals is None else None)

    def roles(self, seed: int | None = None) -> Roles:
        """Clusters of heads by their mean specialization over the texts (docs/definitions.md, section 10).

        Parameters
        ----------
        seed : int, optional
            The profile's own unless given.

        Raises
        ------
        NotAvailableError
            Nothing tells the heads apart; cross-attention, which has no specialization.
        InputError, InputTypeError
            ``seed`` is no int from 0 to 2**32 - 1.
        """
        seed = self.seed if seed is None else check_seed(seed)
        require_one_text(self.part, "Roles are clusters of heads by their specialization")
        zscores = {key: specialization.standardize(self.mean[key]) for key in specialization.KEYS}
        return head_roles(zscores, seed)

    @cached_property
    def patterns(self) -> Any:
        """Accuracy of each head on patterns: how often its largest weight falls where they say (needs pandas).

        Patterns: the previous and the next word, the first token, the separator, punctuation, the same word
        elsewhere; where the tagger parses, also determiner to noun, and verb to subject and object and back.

        Returns
        -------
        pandas.DataFrame
            ``pattern``; ``keys`` (``"all"``, or ``"words"`` when special tokens do not compete); ``layer,
            head``; ``accuracy`` over all ``queries`` that have a target, with Wilson's 95% interval ``low,
            high`` for texts that were drawn as wholes; ``chance``, of a random largest weight; ``best_by_chance``,
            which the best of all heads stays below in 95% of cases if they point at random; ``offset``, of
            the best fixed offset from -8 to 8. Patterns without a query are left out.

        Raises
        ------
        NotAvailableError
            pandas is not installed, the model adds no special tokens at both ends, the profile was saved
            by an earlier version, or it is of cross-attention.

        References
        ----------
        Clark et al., "What Does BERT Look At?", BlackboxNLP 2019.
        """
        return dataframe(self.pattern_records())

    def pattern_records(self) -> list[dict[str, Any]]:
        """The rows of `patterns`.

        Raises
        ------
        NotAvailableError
            As `patterns`, but for pandas.
        """
        return self._accuracies

    @cached_property
    def _accuracies(self) -> list[dict[str, Any]]:
        require_one_text(self.part, "Patterns are of the tokens of one text")
        totals = self._totals
        if totals is None:
            if self._each.observed is None:
                raise NotAvailableError(
                    "This profile was saved before patterns were stored with the figures.",
                    "Run profile(texts) again.",
                )
            totals = Totals((0, self.n_layers, self.n_heads), self.seed)
            totals.add(replace(self._each, figures=self.figures[:, :0], digests=self._hashes))
        records = totals.accuracies()
        if not records and self.n_texts:
            raise NotAvailableError(
                f"No text has a pattern: they need a special token at both ends, which {self.model} may not add."
            )
        return records

    def to_dataframe(self) -> DataFrame:
        """One row for each figure of each head (needs pandas).

        Returns
        -------
        pandas.DataFrame
            Columns ``key, layer, head, mean, sd, low, high, count``.

        Raises
        ------
        NotAvailableError
            pandas is not installed.
        """
        low, high = (np.stack([ends[k] for ends in self.interval.values()]) for k in (0, 1))
        keys, layers, heads = np.indices(self._shape)
        mean, sd, count = (np.stack(list(of.values())) for of in (self.mean, self.sd, self.count))
        named = np.array(self.keys)[keys]
        table = records(
            key=named, layer=layers, head=heads, mean=mean, sd=sd, low=low, high=high, count=count
        )
        return dataframe(table)

    @property
    def _hashes(self) -> NDArray[np.uint64]:
        """A number for each text; its place in files of earlier versions."""
        marks = self._each.digests
        return self.index.astype(np.uint64) if marks is None else marks

    def _named(self, figures: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return dict(zip(self.keys, figures, strict=True))


def require_one_text(part: str | None, what: str) -> None:
    """Raise a NotAvailableError with ``what`` that is, of cross-attention."""
    if part == "cross":
        raise NotAvailableError(
            f"{what}, and queries and keys of cross-attention are two texts.",
            'Profile the other parts: profile(texts, part="encoder") or part="decoder".',
        )
