"""WordPiece in Python alone, for an interpreter without `tokenizers`: Pyodide, in a browser.

Tokens, ids and offsets are those of `tokenizers` for the embedded model (``tests/unit/test_wordpiece.py``), at a hundredth of
its speed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

LONGEST_WORD = 100  # characters; a longer one is one unknown token
KEPT_CONTROLS = "\t\n\r"
IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)

Character = tuple[str, int]  # after normalization, and its place in the text
Piece = tuple[str, int, int]  # a token, with its first and last + 1 place


@dataclass
class Encoded:
    """One text, or a pair, with the attributes of an ``Encoding`` of `tokenizers` that are read."""

    ids: list[int] = field(default_factory=list[int])
    tokens: list[str] = field(default_factory=list[str])
    type_ids: list[int] = field(default_factory=list[int])
    sequence_ids: list[int | None] = field(default_factory=list[int | None])
    offsets: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    @property
    def attention_mask(self) -> list[int]:
        return [1] * len(self.ids)


class Added(NamedTuple):
    """As ``tokenizers.AddedToken``: all of this tokenizer's are special."""

    content: str
    special: bool = True


class WordPiece:
    """The part of ``tokenizers.Tokenizer`` that reading a text uses, for an uncased BERT.

    ``path``: ``tokenizer.json``.
    """

    padding: dict[str, Any] | None = None

    def __init__(self, path: Path) -> None:
        settings = json.loads(path.read_text(encoding="utf-8"))
        self._ids: dict[str, int] = settings["model"]["vocab"]
        self._names = {number: name for name, number in self._ids.items()}
        self._unknown: str = settings["model"]["unk_token"]
        self._path = path
        self._added = sorted(token["content"] for token in settings["added_tokens"])
        self._special = re.compile("(" + "|".join(map(re.escape, self._added)) + ")")
        self._limit: int | None = None

    @property
    def truncation(self) -> dict[str, Any] | None:
        limit = self._limit
        return None if limit is None else {"max_length": limit, "strategy": "longest_first"}

    def no_truncation(self) -> None:
        self._limit = None

    def enable_truncation(self, max_length: int, *, strategy: str) -> None:
        assert strategy == "longest_first"
        self._limit = max_length

    def get_vocab(self) -> dict[str, int]:
        return dict(self._ids)

    def token_to_id(self, token: str) -> int | None:
        return self._ids.get(token)

    def id_to_token(self, number: int) -> str | None:
        return self._names.get(number)

    def to_str(self) -> str:
        return self._path.read_text(encoding="utf-8")

    def get_added_tokens_decoder(self) -> dict[int, Added]:
        return {self._ids[name]: Added(name) for name in self._added}

    def encode(
        self, text: str, pair: str | None = None, *, add_special_tokens: bool = True
    ) -> Encoded:
        segments = [list(self._pieces(text)) for text in (text, pair) if text is not None]
        if self._limit is not None:
            room = self._limit - (1 + len(segments)) * add_special_tokens
            lengths = _longest_first([len(pieces) for pieces in segments], room)
            segments = [pieces[:n] for pieces, n in zip(segments, lengths, strict=True)]
        encoded = Encoded()
        if add_special_tokens:
            self._add(encoded, ("[CLS]", 0, 0), 0, None)
        for number, pieces in enumerate(segments):
            for piece in pieces:
                self._add(encoded, piece, number, number)
            if add_special_tokens:
                self._add(encoded, ("[SEP]", 0, 0), number, None)
        return encoded

    def _add(self, encoded: Encoded, piece: Piece, segment: int, sequence: int | None) -> None:
        name, start, end = piece
        encoded.ids.append(self._ids[name])
        encoded.tokens.append(name)
        encoded.type_ids.append(segment)
        encoded.sequence_ids.append(sequence)
        encoded.offsets.append((start, end))

    def _pieces(self, text: str) -> Iterator[Piece]:
        """Tokens of one text; special tokens that it spells out are one each."""
        place = 0
        for number, part in enumerate(self._special.split(text)):
            if number % 2:
                yield part, place, place + len(part)
            else:
                for word in _words(part, place):
                    yield from self._split(word)
            place += len(part)

    def _split(self, word: list[Character]) -> list[Piece]:
        """The longest pieces from the left; the whole word unknown where one is missing."""
        letters = "".join(letter for letter, _ in word)
        pieces: list[Piece] = []
        start = 0
        while start < len(word):
            ends = range(len(word), start, -1) if len(word) <= LONGEST_WORD else ()
            prefix = "##" if start else ""
            names = ((prefix + letters[start:end], end) for end in ends)
            found = next(((name, end) for name, end in names if name in self._ids), None)
            if found is None:
                return [(self._unknown, word[0][1], word[-1][1] + 1)]
            name, end = found
            pieces.append((name, word[start][1], word[end - 1][1] + 1))
            start = end
        return pieces


def _longest_first(lengths: list[int], room: int) -> list[int]:
    """Number of tokens of each segment that fit into ``room`` tokens, the longer one cut first."""
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    least = min(*lengths, room // 2)
    parts = [least, room - least]
    return parts if lengths[0] <= lengths[1] else parts[::-1]


def _words(text: str, place: int) -> Iterator[list[Character]]:
    """Words of normalized characters; punctuation and ideographs are one each."""
    word: list[Character] = []
    for at, character in enumerate(text, place):
        if _is_dropped(character):
            continue
        alone = _is_ideograph(character)
        if alone or character.isspace():
            if word:
                yield word
            word = []
        if character.isspace():
            continue
        for letter in _normalized(character):
            if _is_punctuation(letter):
                if word:
                    yield word
                yield [(letter, at)]
                word = []
            else:
                word.append((letter, at))
        if alone and word:
            yield word
            word = []
    if word:
        yield word


def _normalized(character: str) -> str:
    """Lower case without accents."""
    parts = unicodedata.normalize("NFD", character)
    plain = "".join(part for part in parts if unicodedata.category(part) != "Mn")
    return plain.lower()


def _is_dropped(character: str) -> bool:
    if character in KEPT_CONTROLS:
        return False
    return character == "\ufffd" or unicodedata.category(character)[0] == "C"


def _is_ideograph(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in IDEOGRAPHS)


def _is_punctuation(character: str) -> bool:
    ascii_mark = character.isascii() and character.isprintable() and not character.isalnum()
    return (ascii_mark and character != " ") or unicodedata.category(character)[0] == "P"
