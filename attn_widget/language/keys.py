"""Key sets of the specialization metrics: which tokens are function words, content words ..."""

from __future__ import annotations

import unicodedata

import numpy as np
from numpy.typing import NDArray

from attn_widget.language.language import Language

SYNTAX = frozenset(["DET", "ADP", "AUX", "CCONJ", "SCONJ", "PART", "PRON"])
SEMANTICS = frozenset(["NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM"])
BACKTICK = "`"  # a symbol to Unicode (Sk); in texts like those of SST-2 it opens a quotation that '' closes


def is_punctuation(surface: str) -> bool:
    """True if a token's characters, without white space, are punctuation only: Unicode P*, and backticks.

    >>> is_punctuation("?!"), is_punctuation("—"), is_punctuation("$"), is_punctuation("it's")
    (True, True, False, False)
    >>> is_punctuation("``"), is_punctuation("''")
    (True, True)
    """
    visible = "".join(surface.split())
    return bool(visible) and all(
        mark == BACKTICK or unicodedata.category(mark)[0] == "P" for mark in visible
    )


def key_sets(language: Language) -> tuple[dict[str, NDArray[np.bool_]], dict[str, str]]:
    """The key positions ``P`` of four specialization metrics (docs/definitions.md, section 3).

    ``sets``, dict of str to bool [n]: ``syntax``, ``semantics``, ``punctuation``, ``entities``: True at the keys of
    the set. An empty set is left out: its share would be a 0 that says nothing of the head. ``reasons``: for each
    one left out, why it is N/A.

    >>> from attn_widget.language import annotate
    >>> from attn_widget.model.tokens import Token
    >>> tokens = [Token("hi", 1, 0, 2, "hi"), Token("!", 2, 2, 3, "!")]
    >>> sets, reasons = key_sets(annotate(tokens, "hi!", tagger=None))
    >>> sets["punctuation"].tolist(), reasons["syntax"]
    ([False, True], 'No tagger was asked for (tagger=None).')
    """
    tokens = language.tokens
    members = {
        "syntax": [token.pos in SYNTAX for token in tokens],
        "semantics": [token.pos in SEMANTICS for token in tokens],
        "punctuation": [not token.special and is_punctuation(token.surface) for token in tokens],
        "entities": [token.entity is not None for token in tokens],
    }
    empty = {
        "syntax": language.no_tags or "The text has no function word.",
        "semantics": language.no_tags or "The text has no content word.",
        "punctuation": "The text has no punctuation.",
        "entities": language.no_entities or "The text has no named entity.",
    }
    sets = {key: np.array(member) for key, member in members.items() if any(member)}
    return sets, {key: reason for key, reason in empty.items() if key not in sets}
