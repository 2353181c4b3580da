"""Targets as they are written on a command line: ``[MASK]=are,is``."""

from __future__ import annotations

from attn_widget.analysis import Analysis
from attn_widget.checks import short_repr
from attn_widget.errors import InputError
from attn_widget.features.why.targets import Target

EXAMPLES = '"[MASK]=are,is", "cat=dog" (cat is masked), "6=are", "class=positive" or "next"'


def target_written(analysis: Analysis, written: str) -> Target:
    """``PLACE=WORD[,OTHER]``, ``class=LABEL[,OTHER]`` or ``next`` as a target.

    The place is a token of the text (its first occurrence; a word is masked) or a position.

    >>> from attn_widget import analyze
    >>> a = analyze("The keys [MASK] here.", tagger=None, progress=False)
    >>> print(target_written(a, "[MASK]=are,is"), "|", target_written(a, "keys=key"))
    logit of 'are' - logit of 'is' at position 3 | logit of 'key' at position 2 (masked)
    """
    if written.strip() == "next":
        return Target(next_sentence=True)
    place, equals, words = (part.strip() for part in written.rpartition("="))
    names = [word.strip() for word in words.split(",")]
    if not (place and equals and 1 <= len(names) <= 2 and all(names)):
        raise InputError(f"{short_repr(written)} is not a target.", f"For example {EXAMPLES}.")
    name, against = names[0], names[1] if len(names) == 2 else None
    if place == "class":
        return Target(label=name, against=against)
    position = _position(analysis, place)
    run = analysis.run
    mask = None if run is None else run.encoder.mask_token_id
    masked = mask is not None and analysis.tokens[position].id != mask
    return Target(position, name, against, masked=masked)


def _position(analysis: Analysis, place: str) -> int:
    tokens = analysis.trace.tokens
    for same in (str.__eq__, lambda a, b: a.lower() == b.lower()):
        for i, token in enumerate(tokens):
            own = token.special and token.start == token.end  # added by the tokenizer
            if not own and (same(token.text, place) or same(token.surface.strip(), place)):
                return i
    if place.isdecimal() and int(place) < len(tokens):
        return int(place)
    raise InputError(
        f"{short_repr(place)} is not a token of the text.",
        f"Tokens: {', '.join(token.text for token in tokens[:12])}{', ...' if len(tokens) > 12 else ''}.",
    )
