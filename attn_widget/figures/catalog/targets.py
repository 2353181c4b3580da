"""Patterns that a head may follow, of the positions of tokens or of the relations between words."""

from __future__ import annotations

POSITIONAL = ("previous", "next", "first token", "separator", "punctuation", "same word")
# Pattern: (dependency labels, whether the query is the governor); labels of spaCy's English pipelines.
RELATIONS: dict[str, tuple[frozenset[str], bool]] = {
    "determiner to noun": (frozenset({"det"}), False),
    "verb to subject": (frozenset({"nsubj", "nsubjpass"}), True),
    "verb to object": (frozenset({"dobj"}), True),
    "subject to verb": (frozenset({"nsubj", "nsubjpass"}), False),
    "object to verb": (frozenset({"dobj"}), False),
}
