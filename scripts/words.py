"""Phrases that plain English does without: ``python -m scripts.words`` names each with its place.

Prose, docstrings, comments and texts on screen are read alike. A line that must keep one says ``words: ok``.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
READ = (".py", ".ts", ".tsx", ".md", ".mjs", ".js", ".css")
# Written by other means: the model's card, what the tests and the pictures show, the history.
NOT_READ = (
    "attn_widget/mini/",
    "js/src/catalog/function-words.ts",
    "tests/",
    "js/tests/",
    "scripts/gallery.py",
    "scripts/probe.py",
    "CHANGELOG.md",
)
PHRASES = {
    r"\b(?:some|no)body\b": "name the subject: the user, the caller, a screen reader",
    r"\b(?:run|job|layer|one) in hand\b": "the active or current one",
    r"\bbids\b": "tells",
    r"\breaders? who listens?\b": "screen readers",
    r"\bcould not be had\b": "is unavailable",
    r"\b(?:loaded|done|run) aside\b": "in the background",
    r"\bdrawn anew\b": "redrawn",
    r"\b(?:can|could) be had\b": "is available",
}
# In comments and docstrings alone, where these are no names and no texts on screen.
IN_COMMENTS = {
    r"^(?:Of|Where|Whether|What|How|Those|That|Beside)\b(?!.*\?)": (
        'begin with the subject: "True if ...", "Number of ...", "Largest error of ..."'
    ),
    r"\btold\b(?! apart)": "given, named, reported",
    r"\b(?:is|are|was|were|be) said\b": "stands, is shown, is printed",
    # The option `beside` and its value keep their names.
    r"(?<![`\"'])\b[Bb]eside\b(?![`\"',]| :)": "next to, against, side by side, besides",
    r"\b(?:aside|lit)\b": "in the background; highlighted",
    r"\banew\b": "again, re-",
    r"\btwins?\b": "copy, version, table for screen readers",
    r"\b(?:far|hard) off\b": "has a large error",
    r"\blet(?:s|ting)? go\b": "drop, release, free, revoke",
    r"\b(?:hears?|heard)\b": "gets, is called, is sent",
    r"\breturns (?:the|a) way\b": "returns a function that ...",
    r"\bgives? away\b": "exports, offers",
    r"\b(?:carpet|bones|gauge)\b": "the standard term",
}


def files() -> list[Path]:
    """Tracked files with prose in them."""
    known = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        ROOT / name
        for name in known.stdout.splitlines()
        if name.endswith(READ) and not name.startswith(NOT_READ) and name != "scripts/words.py"
    ]


def comments(path: Path, text: str) -> Iterator[tuple[int, str]]:
    r"""Line number and text of each line of a comment or docstring; lines that continue one are indented.

    Examples
    --------
    >>> list(comments(Path("a.py"), "'Mean.'\nn = 1  # rows\n# One line\n# and another.\n"))
    [(1, 'Mean.'), (2, 'rows'), (3, 'One line'), (4, ' and another.')]
    >>> list(comments(Path("a.ts"), "/**\n * Mean\n * of rows. */\nf(); // once\n"))
    [(1, ''), (2, 'Mean'), (3, ' of rows.'), (4, 'once')]
    >>> list(comments(Path("a.tsx"), "<p>{/* Mean\nof */}</p>\nn: 1, /** Rows. */\n"))
    [(1, 'Mean'), (2, ' of'), (3, 'Rows.')]
    """
    if path.suffix == ".py":
        yield from _in_python(text)
    elif path.suffix != ".md":
        yield from _in_script(text)


def _in_python(text: str) -> Iterator[tuple[int, str]]:
    begins = True  # a string that begins a statement is a docstring
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number = token.start[0]
        if token.type == tokenize.COMMENT:
            whole = not token.line[: token.start[1]].strip()
            yield number, " " * (whole and last == number - 1) + token.string.lstrip("# ")
            last = number if whole else 0
        elif token.type == tokenize.STRING and begins:
            lines = token.string.lstrip("rR").strip("\"'").splitlines()
            yield number, lines[0] if lines else ""
            yield from ((number + k, f" {line.strip()}") for k, line in enumerate(lines[1:], 1))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def _in_script(text: str) -> Iterator[tuple[int, str]]:
    inside = fresh = False  # in a block comment; no word of it yet
    last = 0
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        opening = None if inside else re.search(r"(?:^|[\s{(,;>])/\*", line)
        if inside or opening:
            fresh = fresh if inside else True
            part = stripped if opening is None else line[opening.start() :].lstrip(" {(,;>")
            word = re.sub(r"^/?\*+(?!/)|\*/.*$", "", part).strip()
            yield number, word if fresh else f" {word}"
            fresh = fresh and not word
            inside = "*/" not in part
        elif match := re.search(r"(?:^|\s)//\s(.*)", line):
            whole = stripped.startswith("//")
            yield number, " " * (whole and last == number - 1) + match[1]
            last = number if whole else 0


def found() -> list[str]:
    """``file:line: phrase (what to say instead)``."""
    phrases = [(re.compile(pattern), instead) for pattern, instead in PHRASES.items()]
    in_comments = [(re.compile(pattern), instead) for pattern, instead in IN_COMMENTS.items()]
    places: list[str] = []
    for path in files():
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        for number, line in comments(path, text):
            for pattern, instead in in_comments:
                if match := pattern.search(line):
                    where = f"{path.relative_to(ROOT)}:{number}"
                    places.append(f"{where}: {match.group()!r} ({instead})")
        for number, line in enumerate(text.splitlines(), 1):
            if "words: ok" in line:
                continue
            for pattern, instead in phrases:
                if match := pattern.search(line):
                    where = f"{path.relative_to(ROOT)}:{number}"
                    places.append(f"{where}: {match.group()!r} ({instead})")
    return places


if __name__ == "__main__":
    places = found()
    print("\n".join(places))
    sys.exit(bool(places))
