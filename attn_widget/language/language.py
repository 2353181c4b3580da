"""Word, Sentence, Language: what is known about the words of a text."""

from __future__ import annotations

from dataclasses import dataclass

from attn_widget.model.tokens import Token


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text: one or more tokens.

    Attributes
    ----------
    text : str
        As the text has it; two words of the tagger when one token bridges them ("of the").
    start, end : int
        Code points ``[start, end)`` in the text of its segment.
    segment : int
        0 for the text, 1 for ``text_pair``.
    pos, entity : str or None
        As for `Token`.
    tokens : (int, int)
        Tokens ``[first, last + 1)``.
    """

    text: str
    start: int
    end: int
    segment: int
    pos: str | None
    entity: str | None
    tokens: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the text, without the white space around it.

    Attributes
    ----------
    text : str
    start, end : int
        Code points ``[start, end)`` in the text of its segment.
    segment : int
        0 for the text, 1 for ``text_pair``.
    tokens : (int, int)
        Tokens ``[first, last + 1)``; the tokens whose ``sentence`` is this one.
    """

    text: str
    start: int
    end: int
    segment: int
    tokens: tuple[int, int]


@dataclass(frozen=True)
class Language:
    """Words of an analysis, with tags and sentences.

    Attributes
    ----------
    tokens : tuple of Token, [n]
        As given, with ``word``, ``sentence``, ``pos`` and ``entity`` filled in.
    words : tuple of Word
        In order; disjoint within a segment; each has at least one token.
    sentences : tuple of Sentence
        In order; each has at least one token.
    tagger_name : str or None
        None when there is no tagger.
    segmenter : {"nupunkt", "tagger", "full stops"}
        Who divided the sentences.
    notes : tuple of str
        What a reader should know: a language that the tagger does not speak, no tagger.
    no_tags : str or None
        Why no word has a part of speech; None when at least one has.
    no_entities : str or None
        Why no word is in an entity; None when at least one is.
    arcs : tuple or None
        Dependencies of the text (not of ``text_pair``), as the tagger gives them; None where it does not parse.
    """

    tokens: tuple[Token, ...]
    words: tuple[Word, ...]
    sentences: tuple[Sentence, ...]
    tagger_name: str | None
    segmenter: str
    notes: tuple[str, ...]
    no_tags: str | None
    no_entities: str | None
    arcs: tuple[tuple[str, tuple[int, int], tuple[int, int], str], ...] | None = None

    def __repr__(self) -> str:
        return (
            f"Language({len(self.tokens)} tokens, {len(self.words)} words, "
            f"{len(self.sentences)} sentences, tagger={self.tagger_name!r})"
        )


def without_words(tokens: tuple[Token, ...], reason: str) -> Language:
    """Tokens without words and sentences, and the reason."""
    return Language(tokens, (), (), None, "nupunkt", (reason,), reason, reason)
