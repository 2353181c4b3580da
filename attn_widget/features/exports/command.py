"""`attn-widget --file texts.txt -o page.html`: one page of many texts, or of many pairs of them."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from attn_widget.command import Option
from attn_widget.errors import InputError

OF_ONE_TEXT = ("written", "generate", "windows")
OPTIONS = {
    "file": Option(
        "texts, one per line (- reads standard input)", {"metavar": "FILE"}, ("output",),
        ("pair", "masked", "against", "why", *OF_ONE_TEXT), "with texts",
    ),
    "pairs": Option(
        "pairs of texts to compare, one per line, separated by a tab", {"metavar": "FILE"}, ("output",),
        ("pair", "against", "why", "engine", "masked", *OF_ONE_TEXT), "with pairs of texts",
    ),
}  # fmt: skip


def write(options: argparse.Namespace, target: Path, run: dict[str, Any]) -> Path | None:
    """The page of many texts, where a file of them is given."""
    if options.pairs is None and options.file is None:
        return None
    from attn_widget.features.comparison.inputs import compare
    from attn_widget.features.exports.report import report

    if options.pairs is not None:
        pairs = [compare(*pair, **run) for pair in read_pairs(options.pairs)]
        return report(pairs, target, title=options.title)
    texts = read_lines(options.file)
    return report(texts, target, title=options.title, engine=options.engine, **run)


def read_lines(name: str) -> list[str]:
    """The lines of a UTF-8 file that are not blank, whatever the locale's encoding.

    A line ends where an editor ends it: U+2028 and form feeds stay in their text.
    """
    called = "standard input" if name == "-" else repr(name)
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        whole = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{called} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{called} is not UTF-8.", "Save it as UTF-8 text.") from error
    lines = [line.strip() for line in re.split(r"\r\n|\r|\n", whole) if line.strip()]
    if not lines:
        raise InputError(f"{called} holds no text.", "Give one text per line.")
    return lines


def read_pairs(name: str) -> list[tuple[str, str]]:
    """The two texts of each line of a file, with a tab between."""
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(read_lines(name), 1):
        texts = [text.strip() for text in line.split("\t")]
        if len(texts) != 2 or not all(texts):
            raise InputError(
                f"Line {number} of {name!r} that is not blank has {len(texts)} texts, expected 2.",
                "Give two texts per line, separated by a tab.",
            )
        pairs.append((texts[0], texts[1]))
    return pairs
