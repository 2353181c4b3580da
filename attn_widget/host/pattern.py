"""Patterns with Unicode's classes: the package `regex`, or `re` where a browser's kernel lacks it."""

from __future__ import annotations

import re
import sys
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any
from unicodedata import category

from attn_widget.host.installed import imported, require

_PIECE = re.compile(r"\\p\{(\w+)\}|\\.|[\[\]]", re.DOTALL)
_BEYOND = re.compile(r"\(\?\w*[Vw]\w*\)|\\p\{\w{3,}\}")  # set operations, word boundaries, scripts


def has_regex() -> bool:
    """True if `regex` is installed; it is not imported."""
    try:
        return imported("regex") is not None or find_spec("regex") is not None
    except ModuleNotFoundError:  # of an import hook that hides it
        return False


class Pattern:
    r"""A pattern that is compiled when it is first used.

    A picture needs none of them, nor the import of `regex`. Without that package `re` takes all patterns but those with scripts
    or operations on sets.

    Examples
    --------
    >>> Pattern(r"\p{Greek}+").findall("an α and ωmega")
    ['α', 'ω']
    """

    def __init__(self, source: str) -> None:
        self._source = source

    @cached_property
    def _compiled(self) -> Any:
        if not has_regex() and not _BEYOND.search(self._source):
            return re.compile(for_re(self._source))
        require("regex", "The script of a text")
        import regex

        return regex.compile(self._source)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


def for_re(source: str) -> str:
    r"""A pattern of `regex` for `re`: its general categories, as in ``\p{L}``, become ranges.

    Examples
    --------
    >>> import re
    >>> re.findall(for_re(r"[\p{Ps}\p{Pe}]|\p{Nd}+"), "(x ४२)")
    ['(', '४२', ')']
    """
    within = False

    def translated(piece: re.Match[str]) -> str:
        nonlocal within
        if piece[1]:
            found = ranges(piece[1])
            return found if within else f"[{found}]"
        if piece[0] in "[]":
            within = piece[0] == "["
        return piece[0]

    return _PIECE.sub(translated, source)


@cache
def ranges(*categories: str) -> str:
    r"""Code points of general categories, as ranges for a set of `re`; ``"L"`` stands for all that begin so."""
    spans = sorted(
        span
        for category, found in _spans().items()
        if category.startswith(categories)
        for span in found
    )
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in spans)


@cache
def _spans() -> dict[str, list[tuple[int, int]]]:
    spans: dict[str, list[tuple[int, int]]] = {}
    first, kind = 0, category("\0")
    for code in range(1, sys.maxunicode + 2):
        following = category(chr(code)) if code <= sys.maxunicode else ""
        if following != kind:
            spans.setdefault(kind, []).append((first, code - 1))
            first, kind = code, following
    return spans
