"""Tokens that came as strings: which are special, what text they make, where they lie in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import replace

from attn_widget.errors import InputError
from attn_widget.language.token_spelling import Piece, fold, spell
from attn_widget.model.tokens import Token

OPENING = frozenset(["[CLS]", "<s>", "<cls>", "<bos>", "<|endoftext|>", "<|startoftext|>"])
SEPARATING = frozenset(["[SEP]", "</s>", "<sep>", "<eos>"])
PADDING = frozenset(["[PAD]", "<pad>", "<|pad|>"])
UNREADABLE = frozenset(["[UNK]", "<unk>", "[MASK]", "<mask>"])  # stand for text they do not spell
# Control tokens of chats: <|im_start|>, <|eot_id|>, <start_of_turn>, DeepSeek's with wide bars; those named for a mask stand for text.
CONTROL = re.compile(r"<([|｜])(?!\w*(mask|unk)\w*\1)[^\s|｜<>]+\1>|<(start|end)_of_\w+>")
BREAK = "\n\n"  # where such a token stood
UNKNOWN_ID = -1  # of a token that came as a string


def locate_tokens(
    tokens: Sequence[str], text: str | None = None, text_pair: str | None = None
) -> tuple[tuple[Token, ...], str, str | None]:
    """Tokens with segments and offsets, and the texts that they lie in.

    ``tokens``, sequence of str, [n]: without padding. Control tokens of chats are special too. What follows the
    first separator between other tokens is the second segment. ``text``, ``text_pair``: where to find them; by
    default the texts that the tokens spell. ``tokens``: tuple of Token, [n]. Raises `InputError`: a token is not
    found where it should be.

    >>> tokens, text, pair = locate_tokens(["[CLS]", "The", "cat", "##s", ".", "[SEP]"])
    >>> text, [(token.surface, token.start) for token in tokens[1:-1]]
    ('The cats .', [('The', 0), ('cat', 4), ('s', 7), ('.', 9)])
    """
    special = {token for token in tokens if CONTROL.fullmatch(token)} | OPENING | SEPARATING
    segment, separated = 0, False
    placed: list[Token] = []
    for token in tokens:
        is_special = token in special
        if not is_special and separated:
            segment, separated = 1, False
        # As a tokenizer without segment ids has it, a special token counts to the text before it.
        placed.append(Token(token, UNKNOWN_ID, 0, 0, token, segment=segment, special=is_special))
        seen = any(not earlier.special for earlier in placed)
        separated = separated or (token in SEPARATING and seen)
    texts: list[str] = []
    for number, whole in enumerate((text, text_pair)[: segment + 1]):
        spelled = {
            name for name in special if (whole or "").count(name) >= max(tokens.count(name), 1)
        }
        members = [
            i
            for i, t in enumerate(placed)
            if t.segment == number and (not t.special or t.text in spelled)
        ]
        pieces = spell([placed[i].text for i in members])
        after_gap = {k for k, i in enumerate(members) if k and i > members[k - 1] + 1}
        spans, where = (
            _compose(pieces, after_gap) if whole is None else (_find(pieces, whole), whole)
        )
        texts.append(where)
        for i, (start, end) in zip(members, spans, strict=True):
            placed[i] = replace(placed[i], start=start, end=end, surface=where[start:end])
    return tuple(placed), texts[0], texts[1] if segment else None


def _compose(
    pieces: Sequence[Piece], after_gap: Collection[int]
) -> tuple[list[tuple[int, int]], str]:
    """The text that the pieces spell, with a space where one is marked, and a break before the tokens ``after_gap``."""
    text = ""
    spans: list[tuple[int, int]] = []
    for piece in pieces:
        if text and len(spans) in after_gap:
            text += BREAK
        elif piece.spaced and text:
            text += " "
        spans += [(len(text) + start, len(text) + end) for start, end in piece.members]
        text += piece.surface
    return spans, text


def _find(pieces: Sequence[Piece], text: str) -> list[tuple[int, int]]:
    """Start and end of each token in ``text``, one after the other with only white space between.

    Both are compared without what normalizers change (`fold`).
    """
    folded, of = fold(text)
    of.append(len(text))
    spans: list[tuple[int, int]] = []
    at = 0  # in ``folded``
    waiting: list[int] = []  # unknown or mask tokens: they get what lies before the next one found
    empty: list[int] = []  # tokens that spell nothing: they stand before the next one found
    for surface, _, members in pieces:
        after = of[at]
        while folded[at : at + 1] == " ":
            at += 1
        if surface in UNREADABLE and not text.startswith(surface, of[at]):
            waiting.append(len(spans))
            spans.append((of[at], of[at]))
            continue
        wanted, part_of = fold(surface)
        if not wanted.strip():  # a space alone, or what the normalizer drops
            empty += range(len(spans), len(spans) + len(members))
            spans += [(of[at], of[at])] * len(members)
            continue
        start = at if folded.startswith(wanted, at) else -1
        if waiting:
            exact = text.find(surface, of[at])
            start = folded.find(wanted, at) if exact < 0 else bisect_left(of, exact)
        if start < 0:
            raise InputError(
                f"Token {len(spans)} of the text, {surface!r}, was not found after character {after}.",
                "Leave text out, or give Token objects with start and end.",
            )
        _fill(spans, waiting, text, of[start])
        for k in empty:
            spans[k] = (of[start], of[start])
        empty.clear()
        for begin, end in members:
            touched = [start + k for k, i in enumerate(part_of) if begin <= i < end]
            spans.append(
                (of[touched[0]], of[touched[-1]] + 1) if touched else (of[start], of[start])
            )
        at = start + len(wanted)
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
