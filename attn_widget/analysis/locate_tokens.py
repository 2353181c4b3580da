"""Tokens that came as strings: which are special, what text they make, where they lie in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from attn_widget.errors import InputError
from attn_widget.model.tokens import Token

OPENING = frozenset(["[CLS]", "<s>", "<cls>", "<bos>", "<|endoftext|>", "<|startoftext|>"])
SEPARATING = frozenset(["[SEP]", "</s>", "<sep>", "<eos>"])
PADDING = frozenset(["[PAD]", "<pad>", "<|pad|>"])
UNREADABLE = frozenset(["[UNK]", "<unk>", "[MASK]", "<mask>"])  # stand for text they do not spell
UNKNOWN_ID = -1  # of a token that came as a string
SPACES = {"Ġ": " ", "▁": " ", "Ċ": "\n"}  # byte-level BPE, SentencePiece, byte-level line break


class Piece(NamedTuple):
    """Spelling of a token, and whether a space precedes it."""

    surface: str
    spaced: bool


def spell(token: str, *, marked: bool) -> Piece:
    """Spelling of a token without its tokenizer's marks.

    Parameters
    ----------
    token : str
    marked : bool
        Whether the tokenizer marks spaces (``Ġthe``, ``▁the``) instead of continuations (``##ing``).

    Examples
    --------
    >>> spell("##ing", marked=False), spell("Ġthe", marked=True)
    (Piece(surface='ing', spaced=False), Piece(surface='the', spaced=True))
    """
    if not marked:
        continues = token.startswith("##") and len(token) > 2
        return Piece(token[2:] if continues else token, not continues)
    bare = token.lstrip("".join(SPACES))
    return Piece(bare, bare != token)


def locate_tokens(
    tokens: Sequence[str], text: str | None = None, text_pair: str | None = None
) -> tuple[tuple[Token, ...], str, str | None]:
    """Tokens with segments and offsets, and the texts that they lie in.

    Parameters
    ----------
    tokens : sequence of str, [n]
        Without padding. What follows the first separator between other tokens is the second segment.
    text, text_pair : str, optional
        Where to find them; by default the texts that the tokens spell.

    Returns
    -------
    tokens : tuple of Token, [n]
    text : str
    text_pair : str or None

    Raises
    ------
    InputError
        A token is not found where it should be.

    Examples
    --------
    >>> tokens, text, pair = locate_tokens(["[CLS]", "The", "cat", "##s", ".", "[SEP]"])
    >>> text, [(token.surface, token.start) for token in tokens[1:-1]]
    ('The cats .', [('The', 0), ('cat', 4), ('s', 7), ('.', 9)])
    """
    special = OPENING | SEPARATING
    # XLM and older BPEs close a word with "</w>"; they are read as marking nothing.
    marked = any(token[:1] in SPACES for token in tokens)
    segment = 0
    placed: list[Token] = []
    for i, token in enumerate(tokens):
        placed.append(
            Token(token, UNKNOWN_ID, 0, 0, token, segment=segment, special=token in special)
        )
        seen = any(not earlier.special for earlier in placed)
        rest = any(later not in special for later in tokens[i + 1 :])
        if token in SEPARATING and seen and rest:
            segment = 1
    texts: list[str] = []
    for number, whole in enumerate((text, text_pair)[: segment + 1]):
        members = [i for i, t in enumerate(placed) if t.segment == number and not t.special]
        pieces = [spell(placed[i].text, marked=marked) for i in members]
        spans, where = _compose(pieces) if whole is None else (_find(pieces, whole), whole)
        texts.append(where)
        for i, (start, end) in zip(members, spans, strict=True):
            placed[i] = replace(placed[i], start=start, end=end, surface=where[start:end])
    return tuple(placed), texts[0], texts[1] if segment else None


def _compose(pieces: Sequence[Piece]) -> tuple[list[tuple[int, int]], str]:
    """The text that the pieces spell, with a space where one is marked."""
    text = ""
    spans: list[tuple[int, int]] = []
    for surface, spaced in pieces:
        if spaced and text:
            text += " "
        spans.append((len(text), len(text) + len(surface)))
        text += surface
    return spans, text


def _find(pieces: Sequence[Piece], text: str) -> list[tuple[int, int]]:
    """Where each piece stands in ``text``, one after the other with only white space between."""
    folded = text.lower() if len(text.lower()) == len(text) else text
    spans: list[tuple[int, int]] = []
    at = 0
    waiting: list[int] = []  # unknown or mask tokens: they get what lies before the next one found
    for i, (surface, _) in enumerate(pieces):
        if surface in UNREADABLE and not text.startswith(surface, _skip(text, at)):
            waiting.append(i)
            spans.append((at, at))
            continue
        start = _skip(text, at)
        if waiting:
            start = max(text.find(surface, at), folded.find(surface.lower(), at))
        if start < 0 or not (
            text.startswith(surface, start) or folded.startswith(surface.lower(), start)
        ):
            raise InputError(
                f"Token {i} of the text, {surface!r}, was not found after character {at}.",
                "Leave text out, or give Token objects with start and end.",
            )
        _fill(spans, waiting, text, start)
        at = start + len(surface)
        spans.append((start, at))
    _fill(spans, waiting, text, len(text))
    return spans


def _skip(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip())


def _fill(spans: list[tuple[int, int]], waiting: list[int], text: str, end: int) -> None:
    """Give the text before ``end`` to a single waiting token; among several it cannot be divided."""
    if len(waiting) == 1:
        start = _skip(text, spans[waiting[0]][0])
        spans[waiting[0]] = (start, max(start, len(text[:end].rstrip())))
    waiting.clear()
