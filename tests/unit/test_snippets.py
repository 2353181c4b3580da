"""Snippets of the README, the guides and the model card: each runs as it stands, or its first line says what it needs."""

from __future__ import annotations

import ast
import builtins
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attn_widget.__main__ import main
from scripts.site.documents import documents
from scripts.site.places import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
CARD = "attn_widget/mini/README.md"  # its paths are those of a checkout
# The pages of the site; the gallery runs the code that it shows, tutorials run in tests/notebooks.
PAGES = (*documents(), *(f"site/{path.name}" for path in SETTINGS.glob("*.md")))
FENCE = re.compile(r"^( *)(`{3,})(\w*)\n(.*?)^\1\2$", re.MULTILINE | re.DOTALL)
NEEDS = "# needs "
TEXTS = "The cat sat on the mat.\nThe dog lay on the rug.\n"
PAIRS = "The cats sat.\tThe cat sat.\n"


class Snippet(NamedTuple):
    line: int
    language: str
    code: str

    @property
    def needs(self) -> bool:
        return self.code.startswith(NEEDS)


def snippets(page: str) -> Iterator[Snippet]:
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        indent, _, language, code = found.groups()
        lines = [line.removeprefix(indent) for line in code.splitlines(keepends=True)]
        yield Snippet(text[: found.start()].count("\n") + 2, language, "".join(lines))


def python(page: str) -> list[Snippet]:
    # Sessions (>>>) are doctests: tests/unit/test_extending.py.
    return [s for s in snippets(page) if s.language == "python" and not s.code.startswith(">>>")]


def commands(page: str) -> list[list[str]]:
    """Arguments of every call of attn-widget."""
    shown = [s for s in snippets(page) if s.language == "sh" and not s.needs]
    lines = [line for s in shown for line in s.code.splitlines()]
    found = [shlex.split(line, comments=True) for line in lines]
    called = [words[1:] for words in found if words[:1] == ["attn-widget"]]
    return called + [words[3:] for words in found if words[:3] == ["python", "-m", "attn_widget"]]


def unknown_names(code: str, known: set[str]) -> set[str]:
    """Names that are read and neither known nor bound anywhere in the code."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {
        (alias.asname or alias.name).split(".")[0]
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in names} - bound - known - {*dir(builtins)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "texts.txt").write_text(TEXTS)
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if python(page)])
def test_python_runs_from_the_top_of_the_page(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page == CARD:
        monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "__snippet__"}
    needing: set[str] = set()
    for snippet in python(page):
        where = f"{page}:{snippet.line}"
        missing = unknown_names(snippet.code, {*names, *needing})
        assert not missing, f"{where} uses {missing}, which the page does not define"
        if snippet.needs:
            needing |= {
                node.id for node in ast.walk(ast.parse(snippet.code)) if isinstance(node, ast.Name)
            }
        else:
            exec(compile(snippet.code, where, "exec"), names)


def test_commands_write_what_they_say(folder: Path) -> None:
    tried: set[tuple[str, ...]] = set()
    for words in (words for page in PAGES for words in commands(page)):
        options = tuple(word for word in words if word.startswith("-"))
        if options in tried:  # the same with another text
            continue
        tried.add(options)
        assert main([*words]) == 0, words
        if "-o" in words:
            assert (folder / words[words.index("-o") + 1]).stat().st_size > 100_000, words
    assert len(tried) > 5
