"""Writes js/src/features/engine/tables.ts: which characters the embedded tokenizer drops, isolates or maps in its own way.

``python -m scripts.engine_tables`` asks the tokenizer about every code point of Unicode. The page
lowercases and decomposes by itself (``toLowerCase``, ``normalize("NFD")``); characters for which this
machine's Node gives something else than the tokenizer stand in a table of exceptions.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

SURROGATES = range(0xD800, 0xE000)
CODE_POINTS = [c for c in range(0x110000) if c not in SURROGATES]
# As js/src/features/engine/tokenizer.ts does it with what is neither dropped nor white space.
MAPPED = """
const codes = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const map = (c) => [...String.fromCodePoint(c).normalize("NFD")].map((d) => d.toLowerCase()).join("");
console.log(JSON.stringify(codes.map(map)));
"""


def runs(codes: Iterable[int]) -> list[int]:
    """Sorted ``codes`` as gap, length, gap, length: each gap counts from the end of the last run.

    Examples
    --------
    >>> runs([3, 4, 5, 9])
    [3, 3, 3, 1]
    """
    lengths: list[int] = []
    end = start = 0
    last = -2
    for code in codes:
        if code != last + 1:
            if last >= 0:
                lengths += [start - end, last + 1 - start]
                end = last + 1
            start = code
        last = code
    return [*lengths, start - end, last + 1 - start] if last >= 0 else []


def tables(backend: Any) -> dict[str, Any]:
    """The tables of a BERT tokenizer of the `tokenizers` package."""
    normalized = {c: backend.normalizer.normalize_str(chr(c)) for c in CODE_POINTS}
    dropped = [c for c, text in normalized.items() if text == ""]
    space = [c for c, text in normalized.items() if text == " "]
    ideographs = [
        c for c, text in normalized.items() if len(text) > 2 and text[0] == text[-1] == " "
    ]
    alone = [
        c for c in CODE_POINTS if len(backend.pre_tokenizer.pre_tokenize_str(f"a{chr(c)}a")) == 3
    ]
    # A mark is dropped wherever a decomposition brings it in.
    rest = sorted(set(CODE_POINTS) - set(dropped) - set(space))
    done = subprocess.run(
        ["node", "-e", MAPPED], input=json.dumps(rest), capture_output=True, text=True, check=True
    )
    marks = set(map(chr, dropped))
    exceptions: dict[str, str] = {}
    for code, text in zip(rest, json.loads(done.stdout), strict=True):
        mine = "".join(character for character in text if character not in marks)
        theirs = normalized[code].strip(" ")
        if mine != theirs:
            exceptions[chr(code)] = theirs
    return {
        "DROPPED": runs(dropped),
        "SPACE": runs(space),
        "IDEOGRAPHS": runs(ideographs),
        "PUNCTUATION": runs(alone),
        "EXCEPTIONS": exceptions,
    }


def script(tables: dict[str, Any]) -> str:
    """The module of the page."""
    lines = [
        "/** Written by scripts/engine_tables.py from the Python tokenizer. Runs are gap, length, gap, length. */",
        "",
    ]
    for name, value in tables.items():
        if isinstance(value, list):
            # Base 36 without commas: a third of the bytes of an array.
            text = " ".join(np.base_repr(n, 36).lower() for n in value)
            lines.append(f'export const {name} =\n  "{text}";')
        else:
            entries = json.dumps([[ord(a), b] for a, b in value.items()])
            lines.append(
                f"export const {name}: readonly (readonly [number, string])[] = {entries};"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    from tokenizers import Tokenizer

    root = Path(__file__).parents[1]
    backend = Tokenizer.from_file(str(root / "attn_widget" / "mini" / "tokenizer.json"))
    target = root / "js" / "src" / "engine" / "tables.ts"
    target.write_text(script(tables(backend)), encoding="utf-8")


if __name__ == "__main__":
    main()
