"""Sentences of a text, as cuts between code points."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from itertools import pairwise

from attn_widget.host.pattern import Pattern
from attn_widget.language.lines import MARKER, unit_starts

# Sentence ends that a Punkt model trained on English does not know; closing brackets and quotation
# marks stay with the sentence that they close.
_OTHER_ENDS = Pattern(r"[。！？｡؟۔।॥։።]+[\p{Pe}\p{Pf}\"']*")


_MARKER = Pattern(MARKER)

# Ends of sentences without nupunkt: a full stop, white space, and what looks like a beginning.
_PLAIN_ENDS = Pattern(r"[.!?…]+[\p{Pe}\p{Pf}\"']*\s+(?=[\p{Pi}\p{Ps}\"']*[\p{Lu}\p{Lt}\p{N}])")


# Words that nupunkt's model takes for abbreviations, such as that of a bankruptcy reporter or of Sunday: in lower case before
# a capital letter they end a sentence.
_WORDS = (
    "alike|applause|arcade|art|ashore|bail|barn|bat|bed|bee|black|bold|bombed|book|bull|bump|bus|call|can|cancer|"
    "car|cent|century|chaos|chase|cheerful|chest|chip|civilization|cliff|climb|closes|coal|code|cold|condo|"
    "consume|cow|crazy|den|depot|deserved|dig|disc|divide|drunk|dull|dusk|enter|fairs|faded|fish|fist|flag|flip|"
    "flourish|found|free|galaxies|hall|hand|hard|harp|hay|hens|hers|highs|holidays|horse|how|human|joke|knees|"
    "lab|lack|laughter|lazy|lead|leg|lids|limp|lock|low|mass|memo|mess|met|miss|month|nonsense|oils|ore|parade|"
    "pen|penny|pens|pet|pin|pop|pub|rash|raw|reports|rest|rites|roll|rounds|row|ruin|ruined|sand|sane|sat|"
    "scandal|sent|series|shade|shrubs|sick|sinks|sleep|so|south|splash|stake|stars|stats|stew|stock|story|sum|"
    "sun|swallowed|tables|tale|talent|tasks|tax|taxis|ten|thanks|thinner|threads|trench|untouched|vain|vase|"
    "victories|vodka|walk|wall|wash|wave|weave|west|wheat|wheel|wig|will|win|wings|woods|works|yard"
)
_WORD_ENDS = Pattern(rf"\s(?:{_WORDS})\.\s+(?=\p{{Lu}})")


def has_nupunkt() -> bool:
    """True if nupunkt can be imported: it has no release for Python 3.10, and imports lzma, which a browser's kernel lacks."""
    return all(find_spec(module) is not None for module in ("nupunkt", "_lzma"))


def sentence_starts(text: str) -> list[int]:
    """Starts of nupunkt's sentences, of those after an end mark of another script, and of those on a new line.

    Without nupunkt, a full stop before a capital letter ends a sentence. `unit_starts` gives the rule for line breaks. The
    number or letter of a list item belongs to the sentence after it.

    Returns: code points, ascending; not yet free of sentences of white space (see `tile`).

    References
    ----------
    Kiss and Strunk (2006), "Unsupervised Multilingual Sentence Boundary Detection".

    Examples
    --------
    >>> sentence_starts("The cat slept. It woke.")
    [0, 15]
    >>> sentence_starts("我喜欢猫。你呢？")
    [0, 5]
    >>> sentence_starts("It turned to the sun. On Sun. A. Smith came.")
    [0, 22]
    """
    starts: list[int] = []
    for begin, end in pairwise([*unit_starts(text), len(text)]):
        starts += [begin + start for start in _starts_of(text[begin:end])]
    return sorted(starts)


def _starts_of(unit: str) -> list[int]:
    """Starts of sentences in a text whose line breaks end none."""
    if has_nupunkt():
        from nupunkt import sent_spans

        starts = {0, *(start for start, _ in sent_spans(unit))}
        starts.update(end.end() for end in _WORD_ENDS.finditer(unit))
    else:
        starts = {0, *(end.end() for end in _PLAIN_ENDS.finditer(unit))}
    starts.update(
        end.end()
        for end in _OTHER_ENDS.finditer(unit)
        if end.end() < len(unit) and not _quotation_goes_on(end.group(), unit[end.end()])
    )
    cuts = sorted(starts)
    numbers = {after for before, after in pairwise(cuts) if _is_marker(unit[before:after])}
    return [cut for cut in cuts if cut not in numbers]


def _is_marker(part: str) -> bool:
    return _MARKER.fullmatch(part.strip()) is not None


def _quotation_goes_on(end: str, after: str) -> bool:
    """True if the sentence around a quotation continues, as before と in Japanese."""
    return end[-1] not in "。！？｡؟۔।॥։።" and after in "と、，,"


def tile(text: str, starts: Iterable[int]) -> list[tuple[int, int]]:
    """Contiguous sentences that cover the whole text, each with something to see in it.

    White space after a sentence is its own; before the first one, the first one's.

    ``starts``: where sentences begin. Returns: code points ``[start, end)``; empty for a text of white space.

    >>> tile(" One. Two. ", [0, 1, 6, 10])
    [(0, 6), (6, 11)]
    """
    cuts = sorted({0, len(text), *starts})
    tiles: list[tuple[int, int]] = []
    for start, end in pairwise(cuts):
        if tiles and not (text[start:end].strip() and text[slice(*tiles[-1])].strip()):
            tiles[-1] = (tiles[-1][0], end)
        else:
            tiles.append((start, end))
    return tiles if text.strip() else []
