"""Tokens to words, sentences, parts of speech and entities: one text, or a pair of texts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from attn_widget.errors import InputError
from attn_widget.language.align import Part, align
from attn_widget.language.identify import in_script, speaks
from attn_widget.language.language import Language, Sentence, Word
from attn_widget.language.lines import unit_starts
from attn_widget.language.segment import has_nupunkt, sentence_starts, tile
from attn_widget.language.taggers import Tagger, TaggerLike, Tagging, resolve, run
from attn_widget.language.words import trim
from attn_widget.model.tokens import Token

Segmenter = Literal["nupunkt", "tagger"]

# Words after the last token of a truncated text belong to no token. This many of their characters are
# tagged all the same, as context for the last words and the last sentence.
CONTEXT_AFTER = 1000  # code points

BREAK = "\n\n"  # stands between paragraphs

# "[MASK]", "<mask>", "[SEP]" typed by the user stand for a word or for nothing: no tag is right.
_PLACEHOLDER = re.compile(r"\[[A-Z]+\d*\]|</?\w+>")


def annotate(
    tokens: Sequence[Token],
    text: str,
    text_pair: str | None = None,
    *,
    tagger: TaggerLike = "auto",
    segmenter: Segmenter = "nupunkt",
) -> Language:
    """Find words, sentences and tags, and bring them to the tokens by character offsets.

    Words are the tagger's; without one, those of Unicode Standard Annex 29. Where one token
    bridges several words they become one, so that every token's visible characters lie inside its
    word, whose tag is its own. A token belongs to the sentence of its first visible character. A
    special token has no word, no sentence and no tag; a token of white space has no word.

    ``tokens``, sequence of Token, [n]: with code point offsets into `text` (segment 0) and `text_pair` (segment 1).
    ``text``, ``text_pair``: each is tagged by itself. ``tagger``, {"auto"}, None, spacy.language.Language or
    callable: see `attn_widget.language.taggers.resolve`. ``segmenter``, {"nupunkt", "tagger"}: who divides
    sentences. nupunkt has no release for Python 3.10: there the tagger divides, or full stops do. Raises
    `InputError`: when the tagger fails or returns words that cannot be, or is asked for sentences that it does not
    give. Raises `InputTypeError`: when `tagger` is nothing that can tag.

    >>> tokens = [Token("[CLS]", 1, 0, 0, special=True), Token("it", 2, 0, 2), Token("'s", 3, 2, 4)]
    >>> tags = lambda text: [(0, 2, "PRON"), (2, 4, "AUX")]
    >>> language = annotate(tokens, "it's", tagger=tags)
    >>> [(token.text, token.word, token.pos) for token in language.tokens]
    [('[CLS]', None, None), ('it', 0, 'PRON'), ("'s", 1, 'AUX')]
    """
    if segmenter not in ("nupunkt", "tagger"):
        raise InputError(f"segmenter={segmenter!r} is unknown.", 'Give "nupunkt" or "tagger".')
    resolved, reason = resolve(tagger)
    if segmenter == "tagger" and resolved is None:
        raise InputError(f"Sentences are not divided. {reason}", 'Leave segmenter="tagger" out.')
    filled = list(tokens)
    words: list[Word] = []
    sentences: list[Sentence] = []
    notes = [] if reason is None else [reason]
    looked_for_entities = False
    arcs = None
    divided_by = segmenter
    for segment, whole in enumerate((text,) if text_pair is None else (text, text_pair)):
        visible = [
            k
            for k, token in enumerate(tokens)
            if token.segment == segment and not token.special and token.start < token.end
        ]
        if not visible:
            continue
        reach = _reach(tokens, visible, whole)
        read = _without_control(tokens, segment, whole)[: reach + CONTEXT_AFTER]
        tagging = _tag(read, resolved, segmenter, notes)
        looked_for_entities = looked_for_entities or tagging.finds_entities
        arcs = tagging.arcs if segment == 0 else arcs
        segment_words, token_word = _words(tokens, visible, read, segment, tagging)
        starts, divided_by = _starts(read, tagging, segmenter)
        cuts, token_sentence = _sentences(tokens, visible, read, segment, starts)
        for k, word, sentence in zip(visible, token_word, token_sentence, strict=True):
            filled[k] = replace(
                tokens[k],
                word=None if word is None else len(words) + word,
                sentence=None if sentence is None else len(sentences) + sentence,
                pos=None if word is None else segment_words[word].pos,
                entity=None if word is None else segment_words[word].entity,
            )
        words.extend(segment_words)
        sentences.extend(cuts)

    no_tags = no_entities = None
    if all(word.pos is None for word in words):
        no_tags = " ".join(notes) or (
            "The tagger gave no part of speech." if words else "The text has no word."
        )
    if all(word.entity is None for word in words):
        if looked_for_entities:
            no_entities = "The tagger found no named entity in this text."
        else:
            no_entities = no_tags or "The tagger does not look for named entities."
    return Language(
        tuple(filled),
        tuple(words),
        tuple(sentences),
        None if resolved is None else resolved.name,
        divided_by,
        tuple(notes),
        no_tags,
        no_entities,
        arcs,
    )


def _without_control(tokens: Sequence[Token], segment: int, text: str) -> str:
    """``text`` with a break in the place of each control token that it spells: no word reaches over one, and no sentence."""
    for token in tokens:
        if token.special and token.segment == segment and token.start < token.end:
            length = token.end - token.start
            text = text[: token.start] + BREAK.ljust(length)[:length] + text[token.end :]
    return text


def _reach(tokens: Sequence[Token], visible: list[int], text: str) -> int:
    """End of the last token; beyond it (a truncated text) there is little to read."""
    reach = max(tokens[k].end for k in visible)
    if reach > len(text) or min(tokens[k].start for k in visible) < 0:
        raise InputError(
            f"The tokens reach to code point {reach} of a text of {len(text)}.",
            "Give the text that the tokens were made from.",
        )
    return reach


def _tag(text: str, tagger: Tagger | None, segmenter: Segmenter, notes: list[str]) -> Tagging:
    """The tagger's answer without what it cannot know; adds to `notes`."""
    nothing = Tagging([], None, False)
    if tagger is None:
        return nothing
    verdict = speaks(text, tagger.language, tagger.lexicon)
    if verdict.note is not None and verdict.note not in notes:
        notes.append(verdict.note)
    if not verdict.spoken and segmenter == "nupunkt":
        return nothing
    tagging = run(tagger, text)
    if segmenter == "tagger" and tagging.sentence_starts is None:
        raise InputError(
            f"The tagger {tagger.name} does not divide sentences.", 'Leave segmenter="tagger" out.'
        )
    if not verdict.spoken:
        return nothing._replace(sentence_starts=tagging.sentence_starts)
    words = [
        word
        if in_script(text[word.start : word.end], tagger.language)
        else word._replace(upos=None, entity=None)
        for word in tagging.words
    ]
    foreign = sum(new is not old for new, old in zip(words, tagging.words, strict=True))
    if foreign:
        notes.append(
            f"{foreign} of {len(words)} words have no tag: they are in a script that the tagger's "
            "language is not written in."
        )
    return tagging._replace(words=words)


def _starts(text: str, tagging: Tagging, segmenter: Segmenter) -> tuple[list[int], str]:
    """Starts of sentences, and what found them."""
    starts = tagging.sentence_starts
    if starts is not None and (segmenter == "tagger" or not has_nupunkt()):
        # The tagger alone divides sentences where it is asked to; elsewhere line breaks do, too.
        lines = [] if segmenter == "tagger" else unit_starts(text)
        return sorted({*starts, *lines}), "tagger"
    return sentence_starts(text), "nupunkt" if has_nupunkt() else "full stops"


def _words(
    tokens: Sequence[Token], visible: list[int], text: str, segment: int, tagging: Tagging
) -> tuple[list[Word], list[int | None]]:
    """Words of one segment, and which of them each visible token is in."""
    spans = [(tokens[k].start, tokens[k].end) for k in visible]
    parts, token_word = align(text, [Part(*word) for word in tagging.words], spans)
    ranges: list[tuple[int, int]] = [(len(tokens), 0)] * len(parts)
    untagged: set[int] = set()
    for k, word in zip(visible, token_word, strict=True):
        if word is not None:
            first, stop = ranges[word]
            ranges[word] = (min(first, k), max(stop, k + 1))
            if _PLACEHOLDER.fullmatch(tokens[k].text) and tokens[k].text == tokens[k].surface:
                untagged.add(word)
    words = [
        Word(
            text[part.start : part.end],
            part.start,
            part.end,
            segment,
            None if k in untagged else part.pos,
            None if k in untagged else part.entity,
            ranges[k],
        )
        for k, part in enumerate(parts)
    ]
    return words, token_word


def _sentences(
    tokens: Sequence[Token], visible: list[int], text: str, segment: int, starts: Sequence[int]
) -> tuple[list[Sentence], list[int | None]]:
    """Sentences of one segment with a token, and which of them each visible token is in."""
    tiles = tile(text, starts)
    if not tiles:
        return [], [None] * len(visible)
    begins = [start for start, _ in tiles]
    token_tile: list[int] = []
    members: dict[int, list[int]] = {}
    for k in visible:
        start, end = trim(text, tokens[k].start, tokens[k].end)
        at = bisect_right(begins, start if start < end else tokens[k].start) - 1
        token_tile.append(at)
        members.setdefault(at, []).append(k)
    order = {at: k for k, at in enumerate(sorted(members))}
    sentences: list[Sentence] = []
    for at in order:
        start, end = trim(text, *tiles[at])
        own = members[at]
        sentences.append(Sentence(text[start:end], start, end, segment, (min(own), max(own) + 1)))
    return sentences, [order[at] for at in token_tile]
