"""Every notebook runs top to bottom, with its solutions, and writes nothing to stderr."""

from __future__ import annotations

import ast
import re

import pytest

from scripts.site import cards
from scripts.tutorials import (
    HIDDEN,
    LIMIT_S,
    NOTEBOOKS,
    PICTURE,
    SOLUTION,
    is_bar,
    read,
    solutions,
    title_of,
    visible,
)
from tests.notebooks.conftest import Executed

NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
NEXT = re.compile(r"^\*\*Next\.\*\* .*\]\([\w-]+\.ipynb\)", re.MULTILINE)
MIN_EXERCISES = 2
PHONE = 40  # characters of code in a line, 390 px wide

QUICK = "quickstart"

every = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.quick] if name == QUICK else []) for name in NAMES],
)


def index() -> str:
    """The index of the tutorials."""
    return (NOTEBOOKS / "README.md").read_text(encoding="utf-8")


@pytest.mark.timeout(2 * LIMIT_S)
@every
def test_runs_top_to_bottom_and_its_solutions_after_it(name: str, executed: Executed) -> None:
    run = executed(name)
    cells = [*run.notebook.cells, *run.solutions]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    said = [output for output in outputs if output.get("name") == "stderr" and not is_bar(output)]
    assert said == []
    assert run.written == []


@every
def test_is_stored_without_outputs(name: str) -> None:
    for cell in read(name).cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


@every
def test_ends_in_exercises_with_hidden_solutions(name: str) -> None:
    notebook = read(name)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert HEADING.findall(text)[-1] == "Exercises"
    exercises = text.split("\n## Exercises")[1]
    hidden = SOLUTION.findall(exercises)
    assert len(hidden) == exercises.count("<details>") == text.count("<details>")
    assert len(hidden) >= MIN_EXERCISES
    assert {summary for summary, _ in hidden} == {"Solution"}
    assert len(solutions(notebook)) >= MIN_EXERCISES


@every
def test_one_cell_has_the_picture(name: str) -> None:
    tagged = [cell for cell in read(name).cells if PICTURE in cell.metadata.get("tags", [])]
    assert [cell.cell_type for cell in tagged] == ["code"]


@every
def test_begins_with_the_question_of_its_card_a_picture_and_a_number(name: str) -> None:
    title, picture, number = visible(read(name))[:3]
    card = next(one for one in cards.listed(index()) if one.name == name)
    question = " ".join(title.source.partition("**Question.** ")[2].split())
    assert card.question in question
    assert f"About {card.minutes} minutes" in question
    assert PICTURE in picture.metadata.get("tags", [])
    assert number.cell_type == "code"


@pytest.mark.timeout(2 * LIMIT_S)
@every
def test_its_picture_is_drawn_and_its_number_printed(name: str, executed: Executed) -> None:
    _, picture, number = visible(executed(name).notebook)[:3]
    kinds = {kind for output in picture.outputs for kind in output.get("data", {})}
    assert kinds & {"text/html", "image/png"}
    printed = "".join(output.text for output in number.outputs if output.get("name") == "stdout")
    assert re.search(r"\d", printed)
    assert max(len(line) for line in printed.splitlines()) <= PHONE, "a phone cuts longer lines"


@every
def test_ends_with_what_to_read_next(name: str) -> None:
    assert NEXT.search(read(name).cells[-1].source)


@every
def test_checks_stand_in_cells_that_no_page_shows(name: str) -> None:
    notebook = read(name)
    for cell in visible(notebook):
        if cell.cell_type == "code":
            tree = ast.parse(re.sub("^[%!].*$", "", cell.source, flags=re.MULTILINE))
            assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree)), cell.source
    for cell in notebook.cells:
        if HIDDEN in cell.metadata.get("tags", []):
            assert cell.metadata["jupyter"] == {"source_hidden": True}, "JupyterLab folds it"


@every
def test_stands_in_the_index(name: str) -> None:
    assert f"### [{title_of(read(name))}]({name}.ipynb)" in index()
    assert name in {card.name for card in cards.listed(index())}, "minutes and level, as the others"
