"""Line breaks: which of them end a sentence, and which only wrap a line."""

from __future__ import annotations

from itertools import pairwise
from unicodedata import east_asian_width

from attn_widget.host.pattern import Pattern

MIN_WIDTH = 40  # columns; shorter lines are items or verses, not wrapped text
BREAK = Pattern(r"\r\n|[\n\v\f\r\x85\u2028\u2029]")
# A number or a letter with a full stop or a bracket: "2.", "(b)", "iv)".
MARKER = r"\(?(?:\p{N}{1,3}|\p{L}|[ivxlcIVXLC]{1,5})[.)．、]"
ITEM = Pattern(rf"\s*(?:[-*+•◦▪‣·–—]\s|—|{MARKER}\s)")
HEADING = Pattern(r"\s*#{1,6}\s")
QUOTED = Pattern(r"\s*>")
RULE = Pattern(r"\s*([-=_*~#+])\1{2,}\s*")  # below a heading
GOES_ON = Pattern(r"\s*[\p{Ll}\p{Lo}]")
OPEN_END = Pattern(r".*[,;\-–(\[{/&+、，]\s*")

# A sentence that began in this line and does not end in it.
UNFINISHED = Pattern(r".*[.!?…][\p{Pe}\p{Pf}\"']*\s+\p{L}.*[^.!?…:\p{Pe}\p{Pf}\"'\s]\s*")


def unit_starts(text: str) -> list[int]:
    r"""Starts of lines that continue no sentence of the line before, and 0.

    A line break ends a sentence unless the text is plainly wrapped there: both lines are of one paragraph of
    at least 40 columns, the first word of the second would not have fitted into the first, and some line of the paragraph
    goes on in lower case (or in a script without cases), or the first line ends within a clause or a sentence that it began.
    A blank line, list items, headings, table rows, quotations and deeper indentation always begin a sentence.

    Examples
    --------
    >>> unit_starts("Methods\n\nWe trained it for 3 days.")
    [0, 9]
    >>> unit_starts("A wrapped text goes on in the line below, as its\nlines are of one length.")
    [0]
    """
    lines: list[str] = []
    begins = [0]
    for end in BREAK.finditer(text):
        lines.append(text[begins[-1] : end.start()])
        begins.append(end.end())
    lines.append(text[begins[-1] :])
    starts = [0]
    first = 0
    for k in range(1, len(lines) + 1):
        if k == len(lines) or not lines[k].strip():
            block = lines[first:k]
            starts += [begins[first + i] for i in ends_in(block)]
            first = k + 1
            if first < len(lines):
                starts.append(begins[first])
    return sorted(set(starts))


def ends_in(lines: list[str]) -> list[int]:
    """Places of the lines of a paragraph that begin a sentence, without the first."""
    # One long word, such as an address, says nothing of the width; Chinese text has no spaces.
    telling = [columns(line) for line in lines if len(line.split()) > 1 or _is_wide(line)]
    width = max(telling, default=0)
    full: set[int] = set()
    for k, (before, after) in enumerate(pairwise(lines), 1):
        if width >= MIN_WIDTH and _tight(before, after, width) and not _apart(before, after):
            full.add(k)
    wrapped = any(GOES_ON.match(lines[k]) for k in full)
    cut_off = {
        k for k in full if OPEN_END.fullmatch(lines[k - 1]) or UNFINISHED.fullmatch(lines[k - 1])
    }
    going_on = full if wrapped else cut_off
    return [k for k in range(1, len(lines)) if k not in going_on and not RULE.fullmatch(lines[k])]


def _is_wide(text: str) -> bool:
    return any(east_asian_width(character) in "WF" for character in text)


def columns(line: str) -> int:
    """Width in columns: East Asian characters take two."""
    return sum(2 if east_asian_width(character) in "WF" else 1 for character in line.rstrip())


def _tight(before: str, after: str, width: int) -> bool:
    """True if the first word of ``after`` would not have fitted into a line of ``width`` columns."""
    word = next(iter(after.split()), "")
    if _is_wide(word):
        word = word[:2]  # lines may be cut anywhere, but not before a full stop
    return columns(before) + 1 + columns(word) > width


def _apart(before: str, after: str) -> bool:
    """True if the second line begins something, whatever the width."""
    begun = any(kind.match(after) for kind in (ITEM, HEADING, QUOTED))
    row = any(line.count("|") >= 2 or "\t" in line.strip() for line in (before, after))
    deeper = _indent(after) > _indent(before) and not ITEM.match(before)
    return begun or row or deeper or bool(HEADING.match(before) or RULE.fullmatch(before))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
