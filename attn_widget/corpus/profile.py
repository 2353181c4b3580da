"""Profile: the figures of all heads over many texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.analysis.texts import analyze
from attn_widget.checks import (
    check_choice,
    check_count,
    check_flag,
    check_kind,
    check_path,
    check_seed,
    check_several,
    index_in,
)
from attn_widget.corpus import statistics
from attn_widget.corpus.examples import SAMPLE, ReadTexts, chosen, link_of, sampled
from attn_widget.corpus.identity import digest_of, fingerprint
from attn_widget.corpus.pattern_accuracy import accuracy_records, count_hits
from attn_widget.corpus.storage import Rows, read, write
from attn_widget.errors import InputError
from attn_widget.figures import specialization
from attn_widget.figures.roles import Roles, head_roles
from attn_widget.host.files import destination
from attn_widget.host.frames import dataframe
from attn_widget.model.tokenizing import check_text


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
    read : ReadTexts, optional
        The texts, for `examples`; they are neither saved nor pickled.

    Attributes
    ----------
    figures : float32 [texts, keys, L, H]
        NaN = N/A on that text.
    index : int64 [texts]
        Place of each text in the list that was given.
    n_tokens : int64 [texts]
        With special tokens.
    """

    def __init__(
        self, rows: Rows, meta: dict[str, Any], seed: int = 0, read: ReadTexts | None = None
    ) -> None:
        check_kind(
            rows, Rows, "rows", "profile(texts) makes a Profile, Profile.load(path) reads one."
        )
        check_kind(
            meta, dict, "meta", "profile(texts) makes a Profile, Profile.load(path) reads one."
        )
        if read is not None:
            check_kind(read, ReadTexts, "read", "profile(texts) makes a Profile with its texts.")
        self.index, self.n_tokens, self.figures = rows.index, rows.n_tokens, rows.figures
        self._digests = rows.digests
        self.meta = meta
        self.seed = check_seed(seed)
        self._read = read

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None}

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
        low, high = statistics.bootstrap(self.figures, self.seed, self._hashes)
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

    @cached_property
    def patterns(self) -> Any:
        """How often each head's largest weight falls where a pattern says (needs pandas).

        The texts run again, once. Patterns: the previous and the next word, the first token, the separator,
        punctuation, the same word elsewhere.

        Returns
        -------
        pandas.DataFrame
            ``pattern``; ``keys`` (``"all"``, or ``"words"`` when special tokens do not compete); ``layer,
            head``; ``accuracy`` over all ``queries`` that have a target, with the bootstrap 95% interval
            ``low, high`` over texts; ``chance``, of a random largest weight; ``offset``, of the best fixed
            offset from -8 to 8. Patterns without a query are left out.

        Raises
        ------
        InputError
            The profile was loaded from a file, which has no texts.
        NotAvailableError
            pandas is not installed, or the model adds no special tokens at both ends.

        References
        ----------
        Clark et al., "What Does BERT Look At?", BlackboxNLP 2019.
        """
        read = self._texts_of(None, None)
        found = count_hits(read, self.index.tolist(), self.n_tokens.tolist(), self._hashes.tolist())
        return dataframe(accuracy_records(found, self.seed, self._hashes))

    def examples(
        self,
        layer: int,
        head: int,
        by: str = "confidence_max",
        k: int = 10,
        *,
        lowest: bool = False,
        texts: Sequence[str] | None = None,
        model: Any = None,
    ) -> Any:
        """The texts in which a figure of a head is largest, with the head's strongest link in each (needs pandas).

        Parameters
        ----------
        layer, head : int
        by : str
            One of `keys`, or ``"sample"``: texts drawn alike, by their hashes and the profile's seed.
        k : int
            How many texts.
        lowest : bool
            Those with the smallest figures instead.
        texts, model : optional
            What the profile was made of; only for one that was loaded from a file.

        Returns
        -------
        pandas.DataFrame
            ``index`` (place of the text), ``text``, ``value`` (of ``by``), and the largest weight between
            two words, for ``previous``, ``next`` and ``self`` between a word and that one: ``query, key,
            query_token, key_token, weight``. Texts without the figure are left out; the choice does not
            depend on the order of the texts.

        Raises
        ------
        InputError, InputTypeError
            No such layer, head or figure; texts or a model that the profile was not made of, or none.
        NotAvailableError
            pandas is not installed.

        Examples
        --------
        >>> from attn_widget import profile
        >>> p = profile(["Cats purr.", "The dog saw the cat in Paris."], progress=False)
        >>> p.examples(2, 3, by="previous", k=1)[["index", "query_token", "key_token"]].values.tolist()
        [[0, '.', '##rr']]
        """
        layer, head = index_in(layer, self.n_layers, "layer"), index_in(head, self.n_heads, "head")
        by = check_choice(by, "by", (*self.keys, SAMPLE))
        k = check_count(k, "k", 1)
        lowest = check_flag(lowest, "lowest")
        read = self._texts_of(texts, model)
        if by == SAMPLE:
            rows = sampled(self._hashes, self.seed, k)
            values = np.full(self.n_texts, np.nan, np.float32)
        else:
            values = self.figures[:, self.keys.index(by), layer, head]
            rows = chosen(values, self._hashes, k, lowest=lowest)
        found: list[dict[str, Any]] = []
        for row in rows:
            place = int(self.index[row])
            analysis = analyze(
                read.texts[place],
                model=read.encoder,
                tagger=None,
                truncation=read.truncation,
                progress=False,
            )
            link = link_of(analysis, layer, head, by)
            found.append(
                {"index": place, "text": read.texts[place], "value": float(values[row]), **link}
            )
        return dataframe(found)

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

        Parameters
        ----------
        path : str or path

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

        Parameters
        ----------
        path : str or path

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

    @property
    def _hashes(self) -> NDArray[np.uint64]:
        """A number for each text; its place in files of earlier versions."""
        return self.index.astype(np.uint64) if self._digests is None else self._digests

    def _texts_of(self, texts: Sequence[str] | None, model: Any) -> ReadTexts:
        from attn_widget.model.loading import load

        if texts is None and model is None:
            if self._read is None:
                raise InputError(
                    "This profile was loaded from a file, which has no texts.",
                    "Pass texts= and model=, those that it was made of.",
                )
            return self._read
        given: Sequence[str] = () if self._read is None else self._read.texts
        if texts is not None:
            several = check_several(texts, "texts", "str")
            given = [check_text(one, f"text {k}") for k, one in enumerate(several)]
        if not given or digest_of(given) != self.meta["texts"]:
            raise InputError(
                "texts are not those that the profile was made of.", "Pass the same list."
            )
        encoder = load(model, progress=False)
        if fingerprint(encoder.network) != self.meta["weights"]:
            raise InputError(
                f"model is {encoder.name}, and the profile was made with {self.model} or other weights.",
                "Pass the same model.",
            )
        return ReadTexts(given, encoder, bool(self.meta["truncation"]))

    def _named(self, figures: NDArray[Any]) -> dict[str, NDArray[Any]]:
        return dict(zip(self.keys, figures, strict=True))

    def __repr__(self) -> str:
        asked = self.meta.get("n_texts", self.n_texts)
        texts = f"{self.n_texts}" if asked == self.n_texts else f"{self.n_texts} of {asked}"
        return (
            f"<Profile of {self.model}: {texts} texts, {int(self.n_tokens.sum())} tokens, "
            f"{self.n_layers} layers x {self.n_heads} heads>"
        )
