"""Where a head looks: the texts of seven specializations and two positional patterns (definitions, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attn_widget.figures.catalog.references import CLARK, KOVALEVA, VOITA, Reference


@dataclass(frozen=True)
class Aim:
    """A figure of a head that says where it looks.

    Attributes
    ----------
    key, name : str
        In files, and on the screen.
    short : str
        Column heading and filter word.
    meaning : str
        Its meaning in a few words; next to its name on the radar.
    formula, spoken : str
        In TeX, and for readers who hear it.
    symbols, high : str
        What the letters stand for; what a high figure means.
    chance : str
        What uniform attention has, in symbols.
    references : sequence of Reference
    """

    key: str
    name: str
    short: str
    meaning: str
    formula: str
    spoken: str
    symbols: str
    high: str
    chance: str
    references: Sequence[Reference]


def _share(
    key: str, name: str, short: str, meaning: str, keys: str, high: str, source: Reference
) -> Aim:
    return Aim(
        key=key,
        name=name,
        short=short,
        meaning=meaning,
        formula=r"\frac{\sum\limits_{i,j \in P} A_{ij}}{\sum\limits_{i,j} A_{ij}}",
        spoken="the sum of the weights on the keys in P, over the sum of all weights of the matrix",
        symbols=f"P: tokens {keys}. Special tokens are in no P, and in the sum below.",
        high=high,
        chance="|P| / n",
        references=[source],
    )


def _neighbor(key: str, name: str, short: str, meaning: str, sign: str, side: str) -> Aim:
    return Aim(
        key=key,
        name=name,
        short=short,
        meaning=meaning,
        formula=rf"\operatorname*{{mean}}_i A_{{i, i {sign} 1}}",
        spoken=f"the mean, over queries that have one, of the weight on the token {side}",
        symbols=f"Over the n − 1 queries that have a token {side} them, special tokens among them.",
        high=f"each token looks one {'back' if sign == '-' else 'on'}.",
        chance="1 / n",
        references=[CLARK],
    )


SPECIALIZATIONS = (
    _share(
        "syntax",
        "Syntax",
        "Syntax",
        "function words",
        "of words tagged DET, ADP, AUX, CCONJ, SCONJ, PART or PRON",
        "attention goes to the words that hold the sentence together.",
        VOITA,
    ),
    _share(
        "semantics",
        "Semantics",
        "Semantics",
        "content words",
        "of words tagged NOUN, PROPN, VERB, ADJ, ADV or NUM",
        "attention goes to the words that carry the content.",
        VOITA,
    ),
    Aim(
        key="cls",
        name="CLS",
        short="CLS",
        meaning="the first token",
        formula=r"\frac{1}{n} \sum_i A_{i,0}",
        spoken="the mean, over queries, of the weight on token 0",
        symbols="Token 0 stands for the whole sequence: [CLS], <s> and the like.",
        high="queries rest on the token that sums the sequence up, often because they find nothing else.",
        chance="1 / n",
        references=[CLARK, KOVALEVA],
    ),
    _share(
        "punctuation",
        "Punctuation",
        "Punct.",
        "commas, full stops …",
        "of punctuation only (Unicode categories P, and backticks)",
        "attention goes to the marks between the words.",
        CLARK,
    ),
    _share(
        "entities",
        "Entities",
        "Entities",
        "named entities",
        "inside a named entity",
        "attention goes to names of people, places, dates and the like.",
        VOITA,
    ),
    Aim(
        key="long_range",
        name="Long range",
        short="Far (5+)",
        meaning="5+ tokens away",
        formula=r"\operatorname*{mean}_{|i-j| \ge 5} A_{ij}",
        spoken="the mean of the weights of all pairs five or more tokens apart",
        symbols="A mean over pairs, not a share: its chance level falls with the length of the text.",
        high="queries look far beyond their neighbors.",
        chance="1 / n",
        references=[KOVALEVA],
    ),
    Aim(
        key="self",
        name="Self",
        short="Self",
        meaning="the token itself",
        formula=r"\frac{1}{n} \sum_i A_{i,i}",
        spoken="the mean, over queries, of the weight on the query itself",
        symbols="The diagonal of the matrix.",
        high="tokens look at themselves: the head passes them on.",
        chance="1 / n",
        references=[CLARK, KOVALEVA],
    ),
)

PATTERNS = (
    _neighbor("previous", "Previous token", "Previous", "one token back", "-", "before"),
    _neighbor("next", "Next token", "Next", "one token on", "+", "after"),
)
