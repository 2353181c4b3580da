"""Profile: the figures of all heads over many texts."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import check_kind, check_path, check_seed
from attn_widget.corpus import statistics
from attn_widget.corpus.storage import Rows, read, write
from attn_widget.errors import InputError
from attn_widget.figures import metrics, patterns, specialization
from attn_widget.figures.roles import Roles, head_roles
from attn_widget.host.files import destination
from attn_widget.host.frames import dataframe

KEYS = (*metrics.KEYS, *specialization.KEYS, *patterns.KEYS)


class Profile:
    """The figures of every head (docs/definitions.md, sections 2 and 3, and patterns) over many texts.

    The mean of a figure that grows with the length of a text (``focus_entropy``) is one over these
    lengths; ``focus_normalized`` can be compared between corpora.

    Parameters
    ----------
    rows : Rows
        Figures of each text.
    meta : dict
        ``keys``, ``model``, ``revision``, ``tagger``, ``n_texts`` (asked for), ``versions`` ...
    seed : int
        Of the bootstrap.

    Attributes
    ----------
    figures : float32 [texts, keys, L, H]
        NaN = N/A on that text.
    index : int64 [texts]
        Place of each text in the list that was given.
    n_tokens : int64 [texts]
        With special tokens.
    """

    def __init__(self, rows: Rows, meta: dict[str, Any], seed: int = 0) -> None:
        check_kind(
            rows, Rows, "rows", "profile(texts) makes a Profile, Profile.load(path) reads one."
        )
        check_kind(
            meta, dict, "meta", "profile(texts) makes a Profile, Profile.load(path) reads one."
        )
        self.index, self.n_tokens, self.figures = rows.index, rows.n_tokens, rows.figures
        self._digests = rows.digests
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
    def n_texts(self) -> int:
        """How many texts were read."""
        return len(self.index)

    @property
    def failed(self) -> list[dict[str, str]]:
        """Parts of the files that could not be read: ``source`` (file and place) and ``reason``."""
        return self.meta.get("failed", [])

    @property
    def n_layers(self) -> int:
        return self.figures.shape[2]

    @property
    def n_heads(self) -> int:
        return self.figures.shape[3]

    @cached_property
    def mean(self) -> dict[str, NDArray[np.float32]]:
        """Mean over the texts that have the figure: key to float32 [L, H]; NaN where none has."""
        return self._named(statistics.mean(self.figures))

    @cached_property
    def sd(self) -> dict[str, NDArray[np.float32]]:
        """Sample standard deviation over texts: key to float32 [L, H]; NaN below two texts."""
        return self._named(statistics.sd(self.figures))

    @cached_property
    def count(self) -> dict[str, NDArray[np.int64]]:
        """How many texts have the figure: key to int64 [L, H]."""
        return self._named(statistics.count(self.figures))

    @cached_property
    def interval(self) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Bootstrap 95% interval of the mean: key to (low, high), each float32 [L, H].

        Each text's weights come from its own hash: the same texts in another order give the same bits.

        References
        ----------
        Efron and Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.
        """
        digests = self.index.astype(np.uint64) if self._digests is None else self._digests
        low, high = statistics.bootstrap(self.figures, self.seed, digests)
        return {key: (low[k], high[k]) for k, key in enumerate(self.keys)}

    def roles(self, seed: int | None = None) -> Roles:
        """Clusters of heads by their mean specialization over the texts (docs/definitions.md, section 10).

        Parameters
        ----------
        seed : int, optional
            The profile's own unless given.

        Raises
        ------
        NotAvailableError
            Nothing tells the heads apart.
        InputError, InputTypeError
            ``seed`` is no int from 0 to 2**32 - 1.
        """
        seed = self.seed if seed is None else check_seed(seed)
        means = {key: self.mean[key] for key in specialization.KEYS}
        zscores = {key: specialization.standardize(values) for key, values in means.items()}
        return head_roles(zscores, seed)

    def to_dataframe(self) -> Any:
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
        return dataframe(
            {
                "key": key,
                "layer": layer,
                "head": head,
                "mean": float(self.mean[key][layer, head]),
                "sd": float(self.sd[key][layer, head]),
                "low": float(self.interval[key][0][layer, head]),
                "high": float(self.interval[key][1][layer, head]),
                "count": int(self.count[key][layer, head]),
            }
            for key in self.keys
            for layer in range(self.n_layers)
            for head in range(self.n_heads)
        )

    def save(self, path: str | Path) -> None:
        """Write the profile as Parquet: one row a text, its figures as lists of ``L * H``.

        Raises
        ------
        InputTypeError
            `path` is no str or path.
        InputError
            A missing folder, or a file that cannot be written, of which nothing stays (the old one does).
        NotAvailableError
            pyarrow is not installed.
        """
        rows = Rows(self.index, self.n_tokens, self.figures, self._digests)
        write(destination(path), rows, {**self.meta, "seed": self.seed})

    @classmethod
    def load(cls, path: str | Path) -> Profile:
        """Read a profile that `save` wrote.

        Raises
        ------
        InputError
            There is no such file, or it is not a profile.
        NotAvailableError
            pyarrow is not installed.
        """
        rows, meta = read(check_path(path, "path"))
        if "seed" not in meta:
            raise InputError(
                f"{str(path)!r} is a part of an unfinished profile.",
                "Call profile(texts, resume=folder) with its folder to finish it.",
            )
        return cls(rows, meta, int(meta.pop("seed")))

    def _named(self, figures: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return dict(zip(self.keys, figures, strict=True))

    def __repr__(self) -> str:
        asked = self.meta.get("n_texts", self.n_texts)
        texts = f"{self.n_texts}" if asked == self.n_texts else f"{self.n_texts} of {asked}"
        return (
            f"<Profile of {self.model}: {texts} texts, {int(self.n_tokens.sum())} tokens, "
            f"{self.n_layers} layers x {self.n_heads} heads>"
        )
