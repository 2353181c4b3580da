"""Spelling of tokens that came as strings: without their tokenizer's marks, bytes decoded, normalized alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

SPACES = {"Ġ": " ", "▁": " ", "Ċ": "\n"}  # byte-level BPE, SentencePiece, byte-level line break
DROPPED = (
    "Mn",
    "Cc",
    "Cf",
)  # categories that normalizers drop: accents, control and invisible characters


class Piece(NamedTuple):
    """Spelling of one token, or of several that share characters (byte-level BPE)."""

    surface: str
    spaced: bool  # whether a space precedes it
    members: tuple[tuple[int, int], ...]  # characters of ``surface`` that each token is part of


def spell(tokens: Sequence[str]) -> list[Piece]:
    """Spelling of the tokens of one text, special ones left out.

    >>> [piece.surface for piece in spell(["walk", "##ing"])], spell(["##ing"])[0].spaced
    (['walk', 'ing'], False)
    >>> [piece.surface for piece in spell(["The", " cat", "s"])]
    ['The', 'cat', 's']
    >>> spell(["Ġcaf", "Ã", "©"])[1]
    Piece(surface='é', spaced=False, members=((0, 1), (0, 1)))
    """
    marked = any(token[:1] in SPACES for token in tokens)
    if _is_byte_level(tokens):
        return [*_decoded(tokens)]
    if not marked and _carry_spaces(tokens):
        return _stripped(tokens)
    return [_piece(token, marked=marked) for token in tokens]


def _carry_spaces(tokens: Sequence[str]) -> bool:
    """True if white space stands within the tokens (``" cat"``), as in those that were decoded one by one."""
    ahead = any(token.strip() and token[0].isspace() for token in tokens[1:])
    return ahead or any(token.strip() and token[-1].isspace() for token in tokens[:-1])


def _stripped(tokens: Sequence[str]) -> list[Piece]:
    pieces: list[Piece] = []
    spaced = False
    for token in tokens:
        surface = token.strip()
        spaced = spaced or token[:1].isspace()
        pieces.append(Piece(surface, spaced and bool(surface), ((0, len(surface)),)))
        spaced = token[-1:].isspace() or (spaced and not surface)
    return pieces


def _piece(token: str, *, marked: bool) -> Piece:
    """``marked``: the tokenizer marks spaces (``▁the``) instead of continuations (``##ing``)."""
    continues = not marked and token.startswith("##") and len(token) > 2
    surface = token.lstrip("".join(SPACES)) if marked else token[2:] if continues else token
    # XLM and older BPEs close a word with "</w>"; they are read as marking nothing.
    spaced = surface != token if marked else not continues
    return Piece(surface, spaced, ((0, len(surface)),))


@cache
def _bytes() -> dict[str, int]:
    """The byte that each character of byte-level BPE stands for (Radford et al. 2019)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    plain = {chr(byte): byte for byte in printable}
    return plain | {chr(256 + k): byte for k, byte in enumerate(others)}


def _is_byte_level(tokens: Sequence[str]) -> bool:
    """True if the tokens are bytes as characters: they say so by a space, or spell UTF-8 beyond ASCII."""
    bytes_of = _bytes()
    text = "".join(tokens)
    if any(character not in bytes_of for character in text):
        return False
    if any(token[0] in "ĠĊ" for token in tokens if token):
        return True
    if text.isascii():
        return False
    try:
        bytes(bytes_of[character] for character in text).decode()
    except UnicodeDecodeError:
        return False
    return True


def _decoded(tokens: Sequence[str]) -> Iterator[Piece]:
    """One piece for each run of tokens that ends with a whole character."""
    bytes_of = _bytes()
    run: list[bytes] = []
    for k, token in enumerate(tokens):
        run.append(bytes(bytes_of[character] for character in token))
        whole = b"".join(run)
        try:
            text = whole.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data" and k + 1 < len(tokens):
                continue
            text = whole.decode(errors="replace")
        surface = text.lstrip()
        lead, ends = len(text) - len(surface), [0]
        for part in run:
            ends.append(ends[-1] + len(part))
        at = [
            len(character.encode()) if character != "\ufffd" else 1 for character in text
        ]  # bytes of each character
        starts = [sum(at[:i]) for i in range(len(at) + 1)]
        members: list[tuple[int, int]] = []
        for first, last in pairwise(ends):
            touched = [i for i in range(len(text)) if starts[i] < last and starts[i + 1] > first]
            begin, end = (touched[0], touched[-1] + 1) if touched else (len(text), len(text))
            members.append((max(begin - lead, 0), max(end - lead, 0)))
        yield Piece(surface, lead > 0, tuple(members))
        run = []


def fold(text: str) -> tuple[str, list[int]]:
    """``text`` without case, accents and compatibility forms, and the character that each of its characters is of.

    Examples
    --------
    >>> fold("Caﬁ\u00e9")
    ('cafie', [0, 1, 2, 2, 3])
    """
    folded = [(character, i) for i, whole in enumerate(text) for character in _folded(whole)]
    return "".join(character for character, _ in folded), [i for _, i in folded]


@lru_cache(4096)
def _folded(character: str) -> str:
    if character.isspace():
        return " "
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(part for part in plain if unicodedata.category(part) not in DROPPED)
