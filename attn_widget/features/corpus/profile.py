"""Profile: the figures of all heads over many texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attn_widget.analysis import Analysis
from attn_widget.checks import (
    check_choice,
    check_count,
    check_flag,
    check_kind,
    check_path,
    check_several,
    index_in,
    short_repr,
)
from attn_widget.errors import InputError, NotAvailableError
from attn_widget.features.corpus.examples import (
    Example,
    ReadTexts,
    analysis_of,
    chosen,
    computed,
    record,
    sampled,
    with_text,
)
from attn_widget.features.corpus.feeds import HeadFeeds
from attn_widget.features.corpus.heaps import (
    KEPT,
    LINK,
    SAMPLE,
    example_names,
    example_values,
    link_kind,
)
from attn_widget.features.corpus.identity import digest_of, same_model
from attn_widget.features.corpus.parquet_file import described_content
from attn_widget.features.corpus.profile_figures import ProfileFigures
from attn_widget.features.corpus.reading.two_texts import as_item
from attn_widget.features.corpus.storage import Rows, read, write
from attn_widget.features.corpus.totals import Totals
from attn_widget.features.corpus.totals_file import is_totals, read_totals, write_totals
from attn_widget.host.files import destination
from attn_widget.host.frames import dataframe
from attn_widget.host.results import Result
from attn_widget.model.loading import load
from attn_widget.model.tokenizing import check_text


class Profile(Result, ProfileFigures):
    """The figures of every head (docs/definitions.md, sections 2 and 3, and patterns) over many texts.

    The mean of a figure that grows with the length of a text (``focus_entropy``) is one over these
    lengths; ``focus_normalized`` can be compared between corpora.

    Parameters
    ----------
    rows : Rows or Totals
        Figures of each text, or their sums alone.
    meta : dict
        ``keys``, ``model``, ``revision``, ``tagger``, ``n_texts`` (asked for), ``versions`` ...
    seed : int
        Of the bootstrap.
    read : ReadTexts, optional
        The texts, for `examples`; they are neither saved nor pickled.

    Attributes
    ----------
    qk : HeadFeeds or None
        Which heads feed the one that ``qk`` named.
    """

    def __init__(
        self,
        rows: Rows | Totals,
        meta: dict[str, Any],
        seed: int = 0,
        read: ReadTexts | None = None,
    ) -> None:
        super().__init__(rows, meta, seed)
        if read is not None:
            check_kind(read, ReadTexts, "read", "profile(texts) makes a Profile with its texts.")
        self._read = read
        self._recent: dict[str, Analysis] = {}
        self.qk: HeadFeeds | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None, "_recent": {}}

    def examples(
        self,
        layer: int,
        head: int,
        by: str = "confidence_max",
        k: int = 10,
        *,
        lowest: bool = False,
        texts: Sequence[Any] | None = None,
        model: Any = None,
    ) -> Any:
        """The texts in which a figure of a head is largest, with the head's strongest link in each (needs pandas).

        Parameters
        ----------
        layer, head : int
        by : str
            One of `keys`; ``"link"``, the largest weight between two words; ``"same word"`` or a relation
            (``"verb to object"``; see `patterns`), the mean weight on its targets; or ``"sample"``: texts
            drawn alike, by their hashes and the profile's seed.
        k : int
            How many texts; at most 16 where the profile keeps sums alone.
        lowest : bool
            Those with the smallest figures instead.
        texts, model : optional
            What the profile was made of; only for one with the figures of each text that was loaded from a file.

        Returns
        -------
        pandas.DataFrame
            ``index`` (place of the text), ``text``, of an encoder-decoder ``output`` (what it writes), ``value`` (of ``by``), and the largest weight between
            two words (for ``previous``, ``next``, ``self`` and the patterns between those that it is of):
            ``query, key, query_token, key_token, weight``. Texts without the figure are left out; the choice does not
            depend on the order of the texts. In cross-attention ``query`` is a row, and ``query_token`` the token that it
            writes.

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
        [[0, 'pu', 'cats']]
        """
        return dataframe(self._examples(layer, head, by, k, lowest, texts, model))

    def linked_examples(
        self,
        layer: int,
        head: int,
        by: str,
        k: int = 10,
        lowest: bool = False,
    ) -> list[tuple[dict[str, Any], Any]]:
        """The rows of `examples`, each with the `Analysis` of its text.

        Parameters
        ----------
        layer, head, by, k, lowest
            As in `examples`.
        """
        rows = self._examples(layer, head, by, k, lowest, None, None)
        encoder, generate = self._encoder_of(None), int(self.meta.get("generate", 0))
        read = None if self._totals is not None else self._texts_of(None, None)
        linked: list[tuple[dict[str, Any], Any]] = []
        for row in rows:
            item = row["text"] if read is None else read.texts[row["index"]]
            self._recent = recent = with_text(self._recent, encoder, item, generate)
            linked.append((row, recent[item]))
        return linked

    @property
    def has_examples(self) -> bool:
        """True if `examples` needs neither ``texts`` nor ``model``."""
        if self._totals is not None:
            return self._totals.heaps is not None and self._read is not None
        return self._read is not None

    def analysis_of(self, index: Any) -> Analysis:
        """The `Analysis` of one of the listed texts, by its position.

        Parameters
        ----------
        index : int

        Raises
        ------
        InputError
            It is not among them.
        """
        texts: Any = {}
        if self._totals is None and self._read is not None:
            texts = dict(enumerate(self._read.texts)) if isinstance(index, int) else {}
        elif self._totals is not None and self._totals.heaps is not None:
            texts = {at: entry.text for at, entry in self._totals.heaps.texts.items()}
        generate = 0 if self._read is None else self._read.generate
        if not isinstance(index, int) or index not in texts:
            raise InputError(
                f"Text {short_repr(index)} is not at hand.", "Open one that is listed."
            )
        return analysis_of(self._encoder_of(None), texts[index], self._tagger, generate)

    @property
    def example_names(self) -> tuple[str, ...]:
        """Names that `examples` takes as ``by``."""
        if self._totals is None and self._each.observed is None:
            return (*self.keys, SAMPLE)
        if self.part == "cross":
            return (*self.keys, LINK, SAMPLE)
        return (*example_names(self.keys), SAMPLE)

    def _examples(
        self,
        layer: Any,
        head: Any,
        by: Any,
        k: Any,
        lowest: Any,
        texts: Sequence[Any] | None,
        model: Any,
    ) -> list[dict[str, Any]]:
        """The rows of `examples`."""
        layer, head = index_in(layer, self.n_layers, "layer"), index_in(head, self.n_heads, "head")
        by = check_choice(by, "by", self.example_names)
        k, lowest = check_count(k, "k", 1), check_flag(lowest, "lowest")
        figure = None if by == SAMPLE else self.example_names.index(by)
        if self._totals is not None:
            if model is not None:
                self._encoder_of(model)
            return self._kept(figure, layer, head, k, lowest)
        read = self._texts_of(texts, model)
        if figure is None:
            places = sampled(self._hashes, self.seed, k)
            values = np.full(self.n_texts, np.nan, np.float32)
        else:
            values = example_values(self._each)[:, figure, layer, head]
            places = chosen(values, self._hashes, k, lowest=lowest)
        observed = self._each.observed
        if observed is None:
            entries = [(int(self.index[row]), float(values[row])) for row in places]
            return computed(read, entries, layer, head, by)
        rows: list[dict[str, Any]] = []
        for row in places:
            place = int(self.index[row])
            query, key, weight = (
                part[row, link_kind(by), layer, head]
                for part in (observed.queries_at, observed.keys_at, observed.weights)
            )
            link = int(query), int(key), float(weight)
            rows.append(record(place, read.example(place), float(values[row]), *link))
        return rows

    def _kept(
        self, figure: int | None, layer: int, head: int, k: int, lowest: bool
    ) -> list[dict[str, Any]]:
        """The rows of `examples` of a profile that keeps sums."""
        heaps = None if self._totals is None else self._totals.heaps
        if heaps is None:
            raise NotAvailableError("This profile keeps no examples.")
        check_count(k, "k", 1, KEPT, f"A profile of sums keeps {KEPT} texts of each figure.")
        rows: list[dict[str, Any]] = []
        for at in heaps.best(figure, layer, head, lowest=lowest)[:k]:
            entry = {name: values[at].item() for name, values in heaps.entries.items()}
            text = heaps.texts[entry["index"]]
            link = entry["query"], entry["key"], entry["weight"]
            example = Example(text.text, text.tokens, text.tokens)
            rows.append(record(entry["index"], example, entry["value"], *link))
        return rows

    def save(self, path: str | Path) -> None:
        """Write the profile as Parquet: one row per text, its figures as lists of ``L * H``; or its sums.

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
        meta = {**self.meta, "seed": self.seed}
        if self._totals is not None:
            write_totals(destination(path), self._totals, meta)
        elif self.qk is None:
            write(destination(path), replace(self._each, texts=None), meta)
        else:
            more = self.qk.columns(self._each.index)
            meta = {**meta, "qk": self.qk.described}
            write(destination(path), replace(self._each, texts=None), meta, more)

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
        path = check_path(path, "path")
        if is_totals(path):
            totals, meta = read_totals(path)
            with described_content(path):
                return cls(totals, meta, int(meta.pop("seed")))
        rows, meta = read(path)
        if "seed" not in meta:
            raise InputError(
                f"{str(path)!r} is a part of an unfinished profile.",
                "Call profile(texts, resume=folder) with its folder to finish it.",
            )
        with described_content(path):
            more, qk, seed = meta.pop("more", {}), meta.pop("qk", None), int(meta.pop("seed"))
            found = cls(rows, meta, seed)
            if qk is not None:
                found.qk = HeadFeeds.loaded(rows, more, qk, meta, seed)
            return found

    def _texts_of(self, texts: Sequence[Any] | None, model: Any) -> ReadTexts:
        if texts is None and model is None:
            if self._read is None:
                raise InputError(
                    "This profile was loaded from a file, which has no texts.",
                    "Pass the texts= and model= that it was made from.",
                )
            self._read.encoder.check_weights()
            return self._read
        checked: Sequence[Any] = () if self._read is None else self._read.texts
        if texts is not None:
            several = check_several(
                texts, "texts", "str" if self.part is None else "texts or pairs"
            )
            checked = [
                as_item(text)
                if self.part is not None and not isinstance(text, str)
                else check_text(text, f"text {k}")
                for k, text in enumerate(several)
            ]
        if not checked or digest_of([str(text) for text in checked]) != self.meta["texts"]:
            raise InputError(
                "texts are not those that the profile was made from.", "Pass the same list."
            )
        return ReadTexts(
            checked,
            self._encoder_of(model),
            bool(self.meta["truncation"]),
            generate=int(self.meta.get("generate", 0)),
        )

    @property
    def _tagger(self) -> Any:
        return "auto" if self._read is None else self._read.tagger

    def _encoder_of(self, model: Any) -> Any:
        """The model that the profile was made with."""
        if model is None and self._read is not None:
            self._read.encoder.check_weights()
            return self._read.encoder
        encoder = load(model, progress=False)
        if not same_model(encoder, self.meta):
            raise InputError(
                f"model is {encoder.name}, and the profile was made with {self.model} or other weights.",
                "Pass the same model.",
            )
        return encoder if self.part is None else encoder.of(self.part)

    def __repr__(self) -> str:
        requested = self.meta.get("n_texts", self.n_texts)
        texts = f"{self.n_texts}" if requested == self.n_texts else f"{self.n_texts} of {requested}"
        return (
            f"<Profile of {self.model}{'' if self.part is None else f' ({self.part})'}: {texts} texts, {self.total_tokens} tokens, "
            f"{self.n_layers} layers x {self.n_heads} heads>"
        )
