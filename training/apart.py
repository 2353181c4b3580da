"""Text that evaluations use, so that no model is trained on it.

`prepare --apart` drops every paragraph that holds a whole evaluation text of 4 to 7 words, or 8 words in a row of a
longer one: prompts with each accepted answer, rated sentences, and what the tests' strings say. Proverbs are the exception:
a proverb cannot be known without having been read, so the prompts tell which of them the text holds.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PROMPTS = Path(__file__).with_name("prompts")
TESTS = Path(__file__).parent.parent / "tests"
RATED = ("amazon", "films", "tweets", "editorials")
SHORTEST, WINDOW = 4, 8  # words: of a text that is looked for, and of a longer one's stretches
KEPT = ("proverbs of the everyday text",)  # groups of prompts that the text may hold
WORD = re.compile(r"[a-z0-9]+")


def words_of(text: str) -> list[str]:
    """Lower-case words and numbers, apostrophes left out.

    >>> words_of("Don't, she said.")
    ['dont', 'she', 'said']
    """
    return WORD.findall(text.lower().replace("'", "").replace("’", ""))


class Apart:
    """Finds evaluation texts in paragraphs.

    Examples
    --------
    >>> apart = Apart(["The dog is hungry.", "Too short."])
    >>> [apart.holds(text) for text in ("He said the DOG is hungry, too!", "The dog is. Too short.")]
    [True, False]
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._runs: set[tuple[str, ...]] = set()
        for text in texts:
            words = words_of(text)
            if len(words) >= SHORTEST:
                length = min(len(words), WINDOW)
                starts = range(len(words) - length + 1)
                self._runs.update(tuple(words[i : i + length]) for i in starts)
        # a run is looked up only where its first words stand
        self._lengths: dict[tuple[str, ...], set[int]] = {}
        for run in self._runs:
            self._lengths.setdefault(run[:SHORTEST], set()).add(len(run))

    def holds(self, paragraph: str) -> bool:
        """True if an evaluation text, or a stretch of one, stands in ``paragraph``."""
        words = words_of(paragraph)
        for i, first in enumerate(zip(*(words[k:] for k in range(SHORTEST)), strict=False)):
            for length in self._lengths.get(first, ()):
                if tuple(words[i : i + length]) in self._runs:
                    return True
        return False


def prompt_texts(content: Any, kept: tuple[str, ...] = ()) -> Iterator[str]:
    """Every prompt in a file of ``prompts/``, with each answer in its place."""
    if isinstance(content, dict) and "text" in content:
        answers = [
            *content.get("accept", []),
            *(content[k] for k in ("good", "bad") if k in content),
        ]
        yield from (content["text"].replace("[MASK]", answer) for answer in answers)
        if "[MASK]" not in content["text"]:
            yield content["text"]
    elif isinstance(content, dict):
        for name, inner in content.items():
            if name not in kept:
                yield from prompt_texts(inner, kept)
    elif isinstance(content, list):
        for inner in content:
            yield from prompt_texts(inner, kept)


def strings_of(folder: Path) -> Iterator[str]:
    """The strings in the Python files of ``folder``, line by line."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from node.value.splitlines()


def evaluation_texts() -> Iterator[str]:
    """All texts of our evaluations; the rated sentences need the archive that the tasks read."""
    from attn_widget.features.tasks import rated_sentences

    for file in sorted(PROMPTS.glob("*.json")):
        yield from prompt_texts(json.loads(file.read_text(encoding="utf-8")), KEPT)
    yield from strings_of(TESTS)
    for name in RATED:
        yield from rated_sentences(name).texts
