"""Base of `Analysis`: the trace, its inputs, and a cache of computed figures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from attn_widget.checks import check_kind
from attn_widget.errors import NotAvailableError, NotPickled
from attn_widget.language.taggers import check_tagger

if TYPE_CHECKING:
    from typing_extensions import Self

    from attn_widget.analysis.comparison_text import ComparisonText
    from attn_widget.language import Language, Word
    from attn_widget.model.encoding import Masked
    from attn_widget.model.tokens import Token
    from attn_widget.trace import Trace
    from attn_widget.trace.layer_activations import LayerParts
    from attn_widget.trace.run import Run

Value = TypeVar("Value")
Made = TypeVar("Made", bound="AnalysisBase")


@dataclass(frozen=True)
class Origin:
    """Where an analysis comes from that was made of another.

    Attributes
    ----------
    base : Analysis, optional
        What a view of words, or without special tokens, is a view of.
    unmasked : Analysis, optional
        The run of the text itself.
    intact : Analysis, optional
        The run with all of its heads.
    find_language : callable, optional
        Its words, sentences and tags; by default the text is tagged.
    beside : tuple of ComparisonText
    known : mapping
        Figures that hold for it as well.
    """

    base: Any = None
    unmasked: Any = None
    intact: Any = None
    find_language: Callable[[], Language] | None = None
    beside: tuple[ComparisonText, ...] = ()
    known: Mapping[object, Any] = field(default_factory=lambda: {})


class AnalysisBase(NotPickled):
    """A trace, the run and the language behind it, and the figures found so far."""

    INSTEAD = "Keep its text and call analyze() again, or its figures: to_dataframe(), attention()."

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
        from attn_widget.trace import Trace

        check_kind(
            trace, Trace, "trace", "analyze(text) makes an Analysis; so does from_attentions()."
        )
        if run is not None:
            from attn_widget.trace.run import Run

            check_kind(run, Run, "run", "analyze(text) has one.")
        if language is not None:
            from attn_widget.language import Language

            check_kind(language, Language, "language", "attn_widget.language.annotate() makes one.")
        self.trace = trace
        self.run = run
        self.text = text if run is None else run.encoding.text
        self.text_pair = text_pair if run is None else run.encoding.text_pair
        self.lock: Any = threading.RLock()  # of the figures; the encoder's own is taken inside it
        if origin is not None:
            check_kind(origin, Origin, "origin", "Leave it out.")
        origin = Origin() if origin is None else origin
        self.base: Self | None = origin.base
        self.beside = origin.beside
        self._unmasked: Self | None = origin.unmasked
        self._intact: Self | None = origin.intact
        check_tagger(tagger)
        self._tagger = tagger
        self._find_language: Callable[[], Language] = origin.find_language or self._annotate
        self._cache: dict[object, Any] = {**origin.known}
        self._layers: dict[int, LayerParts] = {}  # least recently used first
        if language is not None:
            self._cache["language"] = language

    # The text and its tokens

    @property
    def n_layers(self) -> int:
        """Number of layers, L."""
        return self.trace.n_layers

    @property
    def n_heads(self) -> int:
        """Heads in each layer, H."""
        return self.trace.n_heads

    @property
    def n_tokens(self) -> int:
        """Positions, n: tokens, or words in a merged view."""
        return self.trace.n_tokens

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The n positions; with words, sentences and tags once `language` was used."""
        language: Language | None = self._cache.get("language")
        return self.trace.tokens if language is None else language.tokens

    @property
    def truncated(self) -> dict[str, int] | None:
        """``{"limit", "length"}`` in tokens if the text was truncated, else None."""
        return None if self.run is None else self.run.encoding.truncated

    @property
    def heads_off(self) -> tuple[tuple[int, int], ...]:
        """Heads that `ablate` has switched off, as (layer, head)."""
        return () if self.run is None else self.run.encoder.heads_off

    @property
    def masked(self) -> tuple[Masked, ...]:
        """Tokens that `mask` has replaced, with the text's own tokens; in a view, those of the base."""
        return () if self.run is None else self.run.encoding.masked

    @property
    def vocab_size(self) -> int:
        """Entries in the model's vocabulary."""
        return self._require_model("a vocabulary").encoder.vocab_size

    @property
    def language(self) -> Language:
        """Words, sentences, parts of speech and entities, aligned with the tokens."""
        return self._once("language", lambda: self._find_language())

    @property
    def has_tagger_ready(self) -> bool:
        """Whether `language` is available immediately; if not, its tagger starts loading in the background."""
        from attn_widget.language.taggers import is_ready

        return "language" in self._cache or self.text is None or is_ready(self._tagger)

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of the text."""
        return self.language.words

    def _once(self, key: object, compute: Callable[[], Value]) -> Value:
        with self.lock:
            if key not in self._cache:
                self._cache[key] = compute()
            return self._cache[key]

    def _freely(self, key: object, compute: Callable[[], Value]) -> Value:
        """As `_once`, for what takes seconds: other figures can be asked for meanwhile."""
        with self.lock:
            if key in self._cache:
                return self._cache[key]
        value = compute()
        with self.lock:
            return self._cache.setdefault(key, value)

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
            intact=self._intact,
            find_language=self._find_language,
            beside=self.beside,
            known=self._cache,
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
        from attn_widget.language import annotate

        if self.text is None:
            raise NotAvailableError(
                "Words and sentences need the text, and only tokens were given.", "Pass text=."
            )
        return annotate(self.trace.tokens, self.text, self.text_pair, tagger=self._tagger)

    @property
    def _where_to_ask(self) -> str:
        if self.base is not None:
            return "Ask the analysis that this view was made from: its base."
        return "Use analyze(text, model=...)."

    def _require_model(self, what: str, *, of_tokens: bool = False, where: str = "") -> Run:
        """The run, where it can be asked for ``what``; ``where`` is the message for a view."""
        if self.run is None:
            raise NotAvailableError(
                f"Attention tensors were given, and no model to ask for {what}.",
                "Use analyze(text, model=...).",
            )
        if (of_tokens or where) and self.base is not None:
            where = where or f"The model's {what} are for its own tokens"
            raise NotAvailableError(f"{where}, and this view changes them.", self._where_to_ask)
        return self.run


def once(kept: AnalysisBase, key: object, compute: Callable[[], Value]) -> Value:
    """The result of ``compute``, computed on first use and cached with the analysis."""
    return kept._once(key, compute)  # pyright: ignore[reportPrivateUsage]


def with_beside(kept: Made, texts: Iterable[ComparisonText]) -> Made:
    """The same run with other comparison texts; computed figures are kept."""
    beside = tuple(texts)
    return kept if beside == kept.beside else kept._again(beside=beside)  # pyright: ignore[reportPrivateUsage]


def untagged(kept: Made) -> Made:
    """The same run, its words and sentences found without a tagger unless they are known already."""
    return kept._untagged()  # pyright: ignore[reportPrivateUsage]
