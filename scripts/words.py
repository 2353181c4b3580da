"""Phrases that plain English does without: ``python -m scripts.words`` names each with its place.

Prose, docstrings, comments and texts on screen are read alike. A line that must keep one says ``words: ok``.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
READ = (".py", ".ts", ".tsx", ".md", ".mjs", ".js", ".css")
# Written by other means: the model's card, what the tests and the pictures show, the history.
NOT_READ = (
    "attn_widget/mini/",
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
    r"^ *(?:/\*\*|//|\"\"\"| #) *(?:Of|What)\b(?!.*\?)": 'begin with the subject: "Errors of ...", "Name of ..."',
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


def found() -> list[str]:
    """``file:line: phrase (what to say instead)``."""
    phrases = [(re.compile(pattern), instead) for pattern, instead in PHRASES.items()]
    places: list[str] = []
    for path in files():
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
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
