"""Specializations of heads: the texts of all seven and of the patterns (definitions, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attn_widget.figures.catalog.references import (
    CLARK,
    KOVALEVA,
    OLSSON,
    RAFFEL,
    VOITA,
    WANG,
    XIAO,
    Reference,
)


@dataclass(frozen=True)
class SpecializationMetric:
    """A figure of a head that says where it looks."""

    key: str  # key, name: in files, and on the screen
    name: str
    short: str  # column heading and filter word
    meaning: str  # its meaning in a few words; next to its name on the radar
    formula: str  # formula, spoken: in TeX, and for screen readers
    spoken: str
    symbols: str  # symbols, high: what the letters stand for; what a high figure means
    high: str
    chance: str  # what uniform attention has, in symbols
    references: Sequence[Reference]


def _share(
    key: str, name: str, short: str, meaning: str, keys: str, high: str, source: Reference
) -> SpecializationMetric:
    return SpecializationMetric(
        key=key,
        name=name,
        short=short,
        meaning=meaning,
        formula=r"\frac{\sum\limits_{i,j \in P} A_{ij}}{\sum\limits_{i,j} A_{ij}}",
        spoken="the sum of the weights on the keys in P, over the sum of all weights of the matrix",
        symbols=f"P: tokens {keys}. Special tokens are never in P, but their weights count in the denominator.",
        high=high,
        chance="|P| / n",
        references=[source],
    )


def _neighbor(
    key: str, name: str, short: str, meaning: str, sign: str, side: str
) -> SpecializationMetric:
    return SpecializationMetric(
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
    SpecializationMetric(
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
    SpecializationMetric(
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
    SpecializationMetric(
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
    SpecializationMetric(
        key="duplicate",
        name="Duplicate token",
        short="Duplicate",
        meaning="the same token before",
        formula=r"\operatorname*{mean}_i \sum\limits_{j < i, t_j = t_i} A_{ij}",
        spoken="the mean, over queries with an equal earlier token, of the weight on all of these",
        symbols="t: the tokens. Over the queries with an equal earlier token.",
        high="repeated tokens look back at their earlier occurrences.",
        chance="equal earlier tokens / n",
        references=[WANG],
    ),
    SpecializationMetric(
        key="induction",
        name="Induction",
        short="Induction",
        meaning="what followed the same token",
        formula=r"\operatorname*{mean}_i \sum\limits_{j \le i, t_{j-1} = t_i} A_{ij}",
        spoken="the mean, over queries with an equal earlier token, of the weight on the tokens that followed these",
        symbols="t: the tokens. Over the queries with an equal earlier token; on this text, not on repeated random tokens.",
        high="repeated tokens look at what came next the last time, which predicts that it comes again.",
        chance="such tokens / n",
        references=[OLSSON],
    ),
    SpecializationMetric(
        key="rest",
        name="Rest",
        short="Rest",
        meaning="on no token",
        formula=r"1 - \operatorname*{mean}_i \sum\limits_j A_{ij}",
        spoken="one minus the mean row sum",
        symbols="Weight that a learned sink takes, which is no token.",
        high="queries put most of their attention on the sink: they find nothing to look at.",
        chance="0",
        references=[XIAO],
    ),
)

#: Of cross-attention, which has neither specializations nor patterns.
ALIGNMENT = (
    SpecializationMetric(
        key="monotony",
        name="Monotony",
        short="Monotony",
        meaning="through the source in order",
        formula=r"\operatorname{Spearman}\left(\sum\limits_j j A_{ij}, i\right)",
        spoken="Spearman’s correlation of the expected source place with the place of the target token",
        symbols="i: target tokens; j: source tokens. N/A for fewer than three target tokens.",
        high="the head goes through the source from left to right as the target is written.",
        chance="N/A",
        references=[RAFFEL],
    ),
    SpecializationMetric(
        key="expected_place",
        name="Expected source place",
        short="Place",
        meaning="where in the source",
        formula=r"\operatorname*{mean}_i \sum\limits_j j A_{ij}",
        spoken="the mean, over target tokens, of the sum over source tokens of their place times their weight",
        symbols="i: target tokens; j: source tokens, from 0.",
        high="target tokens look at the end of the source, often its end token.",
        chance="(m − 1) / 2",
        references=[RAFFEL],
    ),
)

#: What `cls` is called where token 0 is no [CLS]: in a decoder, queries that find nothing look at it.
FIRST_TOKEN = SpecializationMetric(
    key="cls",
    name="First token",
    short="First",
    meaning="the first token",
    formula=r"\operatorname*{mean}_{i > 0} A_{i,0}",
    spoken="the mean, over all queries but the first, of the weight on token 0",
    symbols="Token 0 is the one key that every query may look at.",
    high="queries rest on the first token, often because they find nothing else: an attention sink.",
    chance="1 / m",
    references=[XIAO],
)
