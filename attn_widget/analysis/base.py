"""Base of `Analysis`: the trace, its inputs, and a cache of computed figures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from attn_widget.analysis.comparison_text import ComparisonText
from attn_widget.checks import check_choice, check_kind
from attn_widget.errors import NotAvailableError, NotPickled
from attn_widget.host.installed import imported
from attn_widget.host.threads import torch_threads
from attn_widget.language import Language, Word, annotate, without_words
from attn_widget.language.taggers import check_tagger, is_ready
from attn_widget.model.residues import ESM, each_residue
from attn_widget.model.tokens import Token
from attn_widget.trace import Trace
from attn_widget.trace.run import Run

if TYPE_CHECKING:
    from typing_extensions import Self


Value = TypeVar("Value")
Made = TypeVar("Made", bound="AnalysisBase")


# Questions to the model that the parts of an encoder-decoder answer; all others are about one text.
OF_PARTS: dict[str, frozenset[str]] = {
    "encoder": frozenset(
        {
            *("a vocabulary", "another run", "layers", "mixing ratios", "values"),
            *("embeddings", "position embeddings", "parameters"),
        }
    ),
    "decoder": frozenset(
        {"a vocabulary", "another run", "mixing ratios", "values", "predictions", "contributions"}
    ),
    "cross": frozenset({"a vocabulary", "another run", "values"}),
}


@dataclass(frozen=True)
class Origin:
    """Source of an analysis that was made of another.

    ``known``: figures that hold for it as well.
    """

    base: Any = None  # what a view of words, or without special tokens, is a view of
    unmasked: Any = None  # the run of the text itself
    unablated: Any = None  # the run with all of its heads
    # Its words, sentences and tags; by default the text is tagged.
    find_language: Callable[[], Language] | None = None
    compare_with: tuple[ComparisonText, ...] = ()
    # Contributions from elsewhere, by name.
    outside: Mapping[str, Any] = field(default_factory=dict[str, Any])
    cache: Mapping[object, Any] = field(default_factory=dict[object, Any])
    # The analyses of a run's parts that were made already; all of them share it.
    parts: dict[str, Any] | None = None
    # The text of each part, of tensors from outside.
    texts: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


class AnalysisBase(NotPickled):
    """A trace, the run and the language behind it, and the figures found so far."""

    _INSTEAD = (
        "Keep its text and call analyze() again, or its figures: to_dataframe(), attention()."
    )

    def __init__(
        self,
        trace: Trace,
        *,
        run: Run | None = None,
        language: Language | None = None,
        tagger: Any = "auto",
        text: str | None = None,
        text_pair: str | None = None,
        origin: Origin | None = None,
    ) -> None:
        check_kind(
            trace, Trace, "trace", "analyze(text) makes an Analysis; so does from_attentions()."
        )
        if run is not None:
            check_kind(run, Run, "run", "analyze(text) has one.")
        if language is not None:
            check_kind(language, Language, "language", "attn_widget.language.annotate() makes one.")
        self.trace = trace
        self.run = run
        self.text = text if run is None else None if run.encoding.wordless else run.encoding.text
        self.text_pair = text_pair if run is None else run.encoding.text_pair
        self._lock: Any = threading.RLock()  # of the figures; the encoder's own is taken inside it
        if origin is not None:
            check_kind(origin, Origin, "origin", "Leave it out.")
        origin = Origin() if origin is None else origin
        self.base: Self | None = origin.base
        self._compare_with = origin.compare_with
        self._outside = origin.outside
        self._unmasked: Self | None = origin.unmasked
        self._unablated: Self | None = origin.unablated
        check_tagger(tagger)
        self._tagger = tagger
        # A method of the analysis that this one was made of: its own, kept here, would tie it to itself.
        self._find_language = origin.find_language
        self._cache: dict[object, Any] = {**origin.cache}
        self._texts = origin.texts
        self._parts: dict[str, Self] = {} if origin.parts is None else origin.parts
        if language is not None:
            self._cache["language"] = language

    # The parts of an encoder-decoder

    @property
    def _part_names(self) -> tuple[str, ...]:
        return tuple(self.trace.parts) or (self.part,)

    @property
    def part(self) -> str:
        """The kind of attention that this analysis is of."""
        whole = self._whole.trace
        names = (name for name, trace in whole.parts.items() if trace is whole)
        return next(names, "self" if whole.square else "cross")

    @property
    def _whole(self) -> Self:
        """The analysis that a view was made from; any other is its own."""
        return self if self.base is None else self.base

    def of(self, part: str) -> Self:
        """The same run, seen from another of its parts (``a.model.parts``); no pass is run again.

        Parameters
        ----------
        part : str
            ``"encoder"``: source tokens look at source tokens. ``"decoder"``: target tokens look at those up to
            themselves. ``"cross"``: target tokens (rows) look at source tokens (columns), [n, m].

        Returns
        -------
        Analysis

        Raises
        ------
        InputError, InputTypeError
            A part that the run has not.
        NotAvailableError
            A view of words, or without special tokens.
        """
        check_choice(part, "part", self._part_names)
        if part == self.part:
            return self
        if self.base is not None:
            raise NotAvailableError("This view is of one part of the run.", self._where_to_ask)
        with self._lock:
            self._parts[self.part] = self
            if part not in self._parts:
                self._parts[part] = self._seen_from(part)
            return self._parts[part]

    def _seen_from(self, part: Any) -> Self:
        run = None if self.run is None else self.run.of(part)
        trace = self.trace.parts[part]
        text = None if run is not None else self._texts.get(part)
        unablated = None if self._unablated is None else self._unablated.of(part)
        origin = Origin(unablated=unablated, parts=self._parts, texts=self._texts)
        return type(self)(trace, run=run, tagger=self._tagger, text=text, origin=origin)

    # The text and its tokens

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The n positions; with words, sentences and tags once `language` was used."""
        language: Language | None = self._cache.get("language")
        return self.trace.tokens if language is None else language.tokens

    @property
    def language(self) -> Language:
        """Words, sentences, parts of speech and entities, aligned with the tokens."""
        return self._cached("language", lambda: (self._find_language or self._annotate)())

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of the text."""
        return self.language.words

    def _cached(self, key: object, compute: Callable[[], Value]) -> Value:
        with self._lock:
            if key not in self._cache:
                self._cache[key] = self._computed(compute)
            return self._cache[key]

    def _cached_unlocked(self, key: object, compute: Callable[[], Value]) -> Value:
        """Like `_cached`, but computes outside the lock, for what takes seconds."""
        with self._lock:
            if key in self._cache:
                return self._cache[key]
        value = self._computed(compute)
        with self._lock:
            return self._cache.setdefault(key, value)

    def _computed(self, compute: Callable[[], Value]) -> Value:
        """Figures that layers are asked for one by one need no more threads than the text can feed."""
        if self.run is None or imported("torch") is None:
            return compute()
        with torch_threads() as choose:
            choose(self.trace.n_tokens * self.run.encoder.hidden_size)
            return compute()

    def _untagged(self) -> Self:
        if "language" in self._cache or self.run is None:
            return self
        return self._again(tagger=None, find_language=None)  # no known figure has asked for words

    def _again(self, **changes: Any) -> Self:
        """The same run; ``changes`` of the tagger and the origin."""
        tagger = changes.pop("tagger", self._tagger)
        origin = Origin(
            base=self.base,
            unmasked=self._unmasked,
            unablated=self._unablated,
            find_language=self._find_language or self._annotate,
            compare_with=self._compare_with,
            outside=self._outside,
            cache=self._cache,
            texts=self._texts,
        )
        return type(self)(
            self.trace,
            run=self.run,
            tagger=tagger,
            text=self.text,
            text_pair=self.text_pair,
            origin=replace(origin, **changes),
        )

    def _annotate(self) -> Language:
        if self.text is None and self.run is not None:
            reason = f"{self.run.encoder.name} reads no text, so there are no words and sentences."
            return without_words(self.trace.tokens, reason)
        if self.text is None:
            raise NotAvailableError(
                "Words and sentences need the text, and only tokens were given.", "Pass text=."
            )
        proteins = self.run is not None and self.run.encoder.family.name == ESM
        tagger = each_residue if proteins else self._tagger
        return annotate(self.trace.tokens, self.text, self.text_pair, tagger=tagger)

    def _opens_on(self, _layers: Any, _heads: Any) -> tuple[int, int, int | None]:
        """Layer, head and token that a run of no text opens on, among these; features know them."""
        return 0, 0, None

    @property
    def _where_to_ask(self) -> str:
        if self.base is not None:
            return "Ask the analysis that this view was made from: its base."
        return "Use analyze(text, model=...)."

    def _require_model(self, what: str, *, of_tokens: bool = False, where: str = "") -> Run:
        """The run, where it can be asked for ``what``; ``where`` is the message for a view."""
        run = self._run_for(what, of_tokens, where)
        part = run.encoder.part
        if part is not None and what not in OF_PARTS[part]:
            others = [name for name in self._part_names if what in OF_PARTS[name]]
            raise NotAvailableError(
                f"{run.encoder.name} is an encoder-decoder, and {what} of its {part} part are not known here.",
                f"Ask of({others[0]!r})."
                if others
                else "Attention and figures of it are available.",
            )
        return run

    def _run_for(self, what: str, of_tokens: bool, where: str) -> Run:
        if self.run is None:
            raise NotAvailableError(
                f"Attention tensors were given, and no model to ask for {what}.",
                "Use analyze(text, model=...).",
            )
        if (of_tokens or where) and self.base is not None:
            where = where or f"The model's {what} are for its own tokens"
            raise NotAvailableError(f"{where}, and this view changes them.", self._where_to_ask)
        return self.run


def known_language(analysis: AnalysisBase) -> Language:
    """Its `language`; without words where they cannot be divided, for figures that can do without them."""
    try:
        return analysis.language
    except NotAvailableError as error:
        if analysis.text is None:
            raise
        return without_words(analysis.trace.tokens, str(error))


def has_tagger_ready(analysis: AnalysisBase) -> bool:
    """True if its `language` is available immediately; if not, its tagger starts loading in the background."""
    known: dict[object, Any] = analysis._cache  # pyright: ignore[reportPrivateUsage]
    return "language" in known or analysis.text is None or is_ready(analysis._tagger)  # pyright: ignore[reportPrivateUsage]


def lock_of(analysis: AnalysisBase) -> Any:
    """The lock of its figures; the encoder's own is taken inside it."""
    return analysis._lock  # pyright: ignore[reportPrivateUsage]


def methods_from_elsewhere(analysis: AnalysisBase) -> Mapping[str, Any]:
    """Contributions that no method of ours has found, by name."""
    return analysis._outside  # pyright: ignore[reportPrivateUsage]


def cached(analysis: AnalysisBase, key: object, compute: Callable[[], Value]) -> Value:
    """The result of ``compute``, computed on first use and cached with the analysis."""
    return analysis._cached(key, compute)  # pyright: ignore[reportPrivateUsage]


def with_comparison_texts(analysis: Made, texts: Iterable[ComparisonText]) -> Made:
    """The same run with other comparison texts; computed figures are kept."""
    compare_with = tuple(texts)
    if compare_with == analysis._compare_with:  # pyright: ignore[reportPrivateUsage]
        return analysis
    return analysis._again(compare_with=compare_with)  # pyright: ignore[reportPrivateUsage]


def untagged(analysis: Made) -> Made:
    """The same run, its words and sentences found without a tagger unless they are known already."""
    return analysis._untagged()  # pyright: ignore[reportPrivateUsage]
